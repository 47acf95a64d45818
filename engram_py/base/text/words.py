"""Split a text into words: segments of a script, derived terms, stop words, forms; say how alike two texts are, and
which known words a misspelt or shortened one may mean.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

from engram_py.base.files import lines_of
from engram_py.base.lazy import regex
from engram_py.base.text.normalize import folded


def read_lines(name: str) -> list[str]:
    """Return the lines of a list without its comments."""
    text = Path(__file__).with_name("words").joinpath(f"{name}.txt").read_text(encoding="utf-8")
    return [line for line in lines_of(text) if not line.startswith("#")]


def read_words(name: str) -> frozenset[str]:
    return frozenset(" ".join(read_lines(name)).split())


# Han, kana, Hangul, bopomofo, and the South-East Asian scripts that write no spaces.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_FIRST_UNSPACED = "\u0e00"
# From the first mark on up to the scripts above.
_MARKS_FROM, _MARKS_TO = 0x0300, 0x0E00
_JOINERS = "\u200c\u200d"  # within a word, between two of its letters

WORD = regex(r"[^\W_]+")
_COMPOUND = regex(r"\w+(?:-\w+)*")


def segments(text: str) -> list[str]:
    """Return the runs of letters and digits in ``text``; a run of an unspaced script ends where another begins."""
    return _pattern(text).findall(text)


def _pattern(text: str) -> re.Pattern[str]:
    if text.isascii():
        return WORD
    if holds_unspaced(text):
        return _unspaced_patterns()[0]
    return _marked_pattern() if max(text) >= chr(_MARKS_FROM) else WORD


def narrow(text: str) -> str:
    """Return a text with the letters, digits and marks that keyboards of East Asia write wide, or Japanese ones half as
    wide, as they are written elsewhere."""
    return text if text.isascii() else _widths().sub(lambda run: unicodedata.normalize("NFKC", run[0]), text)


@cache
def _widths() -> re.Pattern[str]:
    return re.compile("[\u3000\uff01-\uffee]+")


def is_folded(word: str) -> bool:
    """Return whether the tokenizer of the index writes a word as ``folded`` does."""
    if word.isascii() or _marked_latin().fullmatch(word):
        return True
    small = word.lower()
    return folded(word) == small and (small == word or not any(map(_is_young_capital, word)))


def _is_young_capital(letter: str) -> bool:
    """Return whether a letter got its small one after Unicode 3.2: that of the tokenizer (6.1) may not know it."""
    return letter != letter.lower() and unicodedata.ucd_3_2_0.category(letter) != unicodedata.category(letter)


@cache
def _marked_latin() -> re.Pattern[str]:
    # Letters of which the tokenizer takes the marks off. It knows no strokes, no ligatures, and not each pair of marks
    # (each letter of Python 3.11's tables was asked).
    return re.compile(
        "[A-Za-z0-9\u00c0-\u00c5\u00c7-\u00cf\u00d1-\u00d6\u00d9-\u00dd\u00e0-\u00e5\u00e7-\u00ef\u00f1-\u00f6"
        "\u00f9-\u00fd\u00ff-\u010f\u0112-\u0125\u0128-\u0130\u0134-\u0137\u0139-\u013e\u0143-\u0148\u014c-\u0151"
        "\u0154-\u0165\u0168-\u017e\u01a0-\u01a1\u01af-\u01b0\u01cd-\u01dc\u01de-\u01df\u01e6-\u01ed\u01f0"
        "\u01f4-\u01f5\u01f8-\u01fb\u0200-\u021b\u021e-\u021f\u0226-\u0233\u1e00-\u1e99\u1ea0-\u1ef9]*"
    )


def compounds(text: str) -> list[str]:
    """Return the runs that ``_`` and ``-`` hold together as well: ``rate-limit``, ``user_id``."""
    return (_unspaced_patterns()[1] if holds_unspaced(text) else _COMPOUND).findall(text)


def is_unspaced(segment: str) -> bool:
    """Return whether a segment is of a script that writes no spaces."""
    return segment[:1] >= _FIRST_UNSPACED and _unspaced_patterns()[2].match(segment) is not None


def holds_unspaced(text: str) -> bool:
    """Return whether some of a text is of a script that writes no spaces."""
    return not text.isascii() and max(text) >= _FIRST_UNSPACED


@cache
def _unspaced_patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    # Compiled on first need: sets of this many characters take milliseconds each, and most texts hold none.
    return (
        re.compile(f"[{_UNSPACED}]+|" + _marked(f"[^\\W_{_UNSPACED}]")),
        re.compile(f"[\\w{_UNSPACED}]+(?:-[\\w{_UNSPACED}]+)*"),
        re.compile(f"[{_UNSPACED}]"),
    )


@cache
def _marked_pattern() -> re.Pattern[str]:
    return re.compile(_marked(r"[^\W_]"))


def _marked(letter: str) -> str:
    """Return a pattern of a word: letters, each with its marks."""
    marks = "".join(
        chr(code) for code in range(_MARKS_FROM, _MARKS_TO) if unicodedata.category(chr(code)) in ("Mn", "Mc")
    )
    return f"{letter}(?:{letter}|[{marks}]|[{_JOINERS}](?={letter}))*"


_CAMEL = regex(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+|[^\WA-Za-z0-9_]+")
# The compounds of a text of ASCII, and nothing for a plain word: most are, and an import reads millions.
_NOT_PLAIN = regex(r"\b(?:[a-z0-9]+|[A-Z][0-9]*[a-z][a-z0-9]*)\b(?!-\w)|(\w+(?:-\w+)*)", re.ASCII)

MAX_COMPOUND_PARTS = 4


def derived_terms(*texts: str) -> str:
    """Return the terms to index beside ``texts``, blank-separated, in the order they occur."""
    return " ".join(term for text in texts for term in _terms(text))


def _terms(text: str) -> Iterator[str]:
    # A Mac writes Korean as loose letters and Japanese voicing as marks of their own.
    text = unicodedata.normalize("NFC", text)
    yield from _marked_beside_unspaced(text)
    yield from folded_words(text)
    for compound in filter(None, _NOT_PLAIN.findall(text)) if text.isascii() else compounds(text):
        if compound.isascii() and compound[1:].islower() and compound.isalnum():
            continue  # a plain word, as most are
        parts = segments(compound)
        for part in parts:
            yield from segment_terms(part)
        if len(parts) == 1:
            continue
        spaced = [part.lower() for part in parts if not is_unspaced(part)]
        if len(spaced) == len(parts) <= MAX_COMPOUND_PARTS:
            yield "".join(spaced)  # rate_limit and rate-limit are found by ratelimit, rateLimit
        else:
            yield from spaced


def _marked_beside_unspaced(text: str) -> Iterator[str]:
    """Yield words with marks of their own, which are no token where a script without blanks follows."""
    if holds_unspaced(text):
        words = (word for word in segments(text) if not (word.isascii() or is_unspaced(word)))
        yield from (word.lower() for word in words if any(unicodedata.category(one)[0] == "M" for one in word))


def folded_words(text: str) -> list[str]:
    """Return, without marks and narrow, the words that the tokenizer of the index writes otherwise."""
    if text.isascii():
        return []
    words = [word for word in segments(text) if not (is_folded(word) or is_unspaced(word))]
    return [part for word in words for part in segments(folded(word))]


def segment_terms(segment: str) -> list[str]:
    """Return the derived terms of one run of letters and digits; nothing for a plain word."""
    if is_unspaced(segment):
        return pairs(segment)
    parts = camel_parts(narrow(segment))
    return [part.lower() for part in parts] if len(parts) > 1 else []


def pairs(run: str) -> list[str]:
    """Return overlapping pairs of letters, without vowel signs and middle dots; a single letter stands for itself."""
    letters = "".join(filter(str.isalnum, folded(run)))
    return [letters[i : i + 2] for i in range(len(letters) - 1)] or [letters] * bool(letters)


def camel_parts(word: str) -> list[str]:
    """``getHTTPResponse2`` → get, HTTP, Response, 2; a word of one case is itself."""
    if word[1:].islower() or word.islower() or word.isdigit() or (word.isupper() and word.isalpha()):
        return [word]
    return _CAMEL.findall(word)


ENGLISH = read_words("english")
FOREIGN = read_words("foreign") - ENGLISH
STOP_WORDS = ENGLISH | FOREIGN
_AMONG_FOREIGN = read_words("foreign_among_others") - ENGLISH
_EITHER = read_words("english_among_foreign")
# Typed as operators more often than as names.
_OPERATORS = ("AND", "OR", "NOT")


def stop_words_of(words: Sequence[str]) -> Collection[str]:
    """Return the lower-case words of a question, given as it was typed, that say nothing about its subject.

    A foreign word counts where the question is in a foreign language: two of them, and more than English ones. Else
    `nas`, `war` and `come` are names and words. In capitals among others, a word is a name: `IT`, `WHO`.
    """
    mixed = any(not word.isupper() for word in words)
    names = {word.lower() for word in words if mixed and len(word) > 1 and word.isupper() and word not in _OPERATORS}
    plain = {word.lower() for word in words} - names
    foreign, english = plain & (FOREIGN | _AMONG_FOREIGN), plain & ENGLISH
    ascii_too = is_foreign(words)
    return english | {word for word in foreign if ascii_too or not word.isascii()}


def is_foreign(words: Sequence[str]) -> bool:
    """Return whether a question is in one of the languages known here other than English."""
    plain = {word.lower() for word in words}
    foreign = len(plain & FOREIGN)
    foreign += len(plain & _AMONG_FOREIGN) if foreign else 0
    return foreign > max(1, len((plain & ENGLISH) - _EITHER))


def forms(word: str) -> tuple[str, ...]:
    """Return the other forms and names of a lower-case word, none for most."""
    return _others(word, "forms", "abbreviations", "either")


def synonyms(word: str) -> tuple[str, ...]:
    """Return what others may call the same thing, nothing for most words."""
    return _others(word, "synonyms")


def _others(word: str, *lists: str) -> tuple[str, ...]:
    groups = _groups(*lists)
    known = f" {word} " in groups
    # choosing, builds, removed: Porter folds them into the base; of several bases the first in the lists counts.
    bases = [word] if known else sorted(_bases(word, groups), key=lambda base: groups.index(f" {base} "))[:1]
    found = [line for base in bases for line in groups.split("\n") if f" {base} " in line]
    return tuple(dict.fromkeys(other for line in found for other in line.split() if other != word))


def _bases(word: str, groups: str) -> list[str]:
    """Return the forms in the lists that ``word`` is with ``s``, ``ing`` or ``ed``: *use* for *using*."""
    found = [word[:-1]] if word.endswith("s") else []
    for ending in ("ing", "ed"):
        if word.endswith(ending):
            stem = word.removesuffix(ending)
            found += [f"{stem}e"] if stem.endswith("e") else [stem, f"{stem}e"]
    return [base for base in found if f" {base} " in groups]


@cache
def _groups(*lists: str) -> str:
    """Return the groups of words that mean the same, one to a line: to look up few words costs less than a table."""
    groups = [group for name in lists for line in read_lines(name) for group in line.split("|")]
    return "\n".join(f" {' '.join(group.split())} " for group in groups)


_READ_CHARS = 500
_WORD_CHARS = 8


def shingles(text: str) -> frozenset[str]:
    """Return the lower-case words of the beginning of a text, long ones by their first 8 characters.

    Cutting folds the endings of most words (Osaurus; spec/seed-capabilities.md G11). A script that writes no spaces is
    taken in pairs of characters.
    """
    text = text[:_READ_CHARS]
    if text.isascii():
        return frozenset({word[:_WORD_CHARS] for word in segments(text.lower())})
    found: set[str] = set()
    for word in segments(text):
        if is_unspaced(word):
            found.update(word[at : at + 2] for at in range(max(1, len(word) - 1)))
        else:
            found.add(word.lower()[:_WORD_CHARS])
    return frozenset(found)


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of all their words that both hold, 0..1; two empty texts are the same text."""
    shared = len(one & other)
    union = len(one) + len(other) - shared
    return shared / union if union else 1.0


def alike(one: frozenset[str], other: frozenset[str], share: float) -> bool:
    """Return whether their ``jaccard`` is at least ``share``; sets of very different sizes are not compared."""
    fewer, more = sorted((len(one), len(other)))
    return fewer >= share * more and jaccard(one, other) >= share


# One slip in a short word, two in a long one; shorter words resemble too many (Damerau 1964: four of five
# misspellings are one slip).
SHORTEST_MISSPELT = 4
TWO_SLIPS_FROM = 8
MOST_MEANT = 3
PREFIX_LONGER_BY = 10  # `futter` may mean `Futterautomaten`
STEM_FROM = 5  # `musicians` may mean `music`
_SHORT = 5


def slips_allowed(word: str) -> int:
    """Return how many slips a word may have; none with a digit: pasted logs are full of addresses."""
    if len(word) < SHORTEST_MISSPELT or any(letter.isdigit() for letter in word):
        return 0
    return 1 if len(word) < TWO_SLIPS_FROM else 2


def may_resemble(word: str) -> bool:
    """Return whether another word may be meant: one a slip away, or of a name with a digit one that goes on
    (`argon2id`)."""
    return slips_allowed(word) > 0 or (len(word) >= SHORTEST_MISSPELT and word[0].isalpha())


def meant(word: str, known: Iterable[tuple[str, int]], *, most: int = MOST_MEANT) -> tuple[str, ...]:
    """Return the known terms (given with their rows) that begin with ``word``, then those a slip or two away."""
    if not may_resemble(word):
        return ()
    allowed = slips_allowed(word)
    marked = []
    for term, rows in known:
        if _goes_on(word, term) or (len(term) >= STEM_FROM and _goes_on(term, word)):
            marked.append((0, -rows, term))
        elif allowed and (slips := distance(word, term, allowed)) <= allowed:
            marked.append((slips, -rows, term))
    return tuple(term for _, _, term in sorted(marked)[:most])


def _goes_on(word: str, longer: str) -> bool:
    """Return whether a word is the beginning of another; a number that goes on in digits is another number."""
    if not longer.startswith(word):
        return False
    return not word[-1].isdigit() or not longer[len(word) : len(word) + 1].isdigit()


def may_be(typed: str, stem: str, term: str) -> bool:
    """Return whether a word as it was typed may be a known term of the index, and not only their stems.

    Porter makes `appl` of `apple` and `redi` of `redis`, which `application` and `redirect` begin with. In a word of up
    to five letters another letter is another word (`helm`, `held`); a slip leaves one out, adds one or swaps two.
    """
    core = typed[:-1] if typed.endswith("s") and len(typed) > _SHORT else typed
    long = len(stem) > _SHORT and typed.startswith(stem)  # `Mitglied` of `Mitglieder` begins `Mitgliedskarten`
    if term.startswith((core, stem) if long else core) or (len(term) >= STEM_FROM and typed.startswith(term)):
        return True
    if any(_slipped(typed, spelling, typed) for spelling in _spellings(term)):
        return True
    cut = typed.startswith(stem) and not typed.endswith("y")  # of `sentry` more than an ending is gone
    swapped = sorted(stem) == sorted(term)  # `laek` of `laeks`; a letter more or less makes `red` of `redi`
    return cut and (swapped or len(stem) >= _SHORT) and _slipped(stem, term, typed)


def nearest_spelling(typed: str, term: str) -> str:
    """Return how a term of the index is written, as near to what was typed as possible."""
    return min(_spellings(term), key=lambda one: distance(typed, one, len(typed)))


def _spellings(term: str) -> tuple[str, ...]:
    """Return the ways to write a term: Porter cuts the last `e` of a longer word, and writes a last `y` as `i`."""
    if term.endswith("i"):
        return (f"{term[:-1]}y", term)
    return (term, f"{term}e") if len(term) >= SHORTEST_MISSPELT else (term,)


def _slipped(one: str, other: str, typed: str) -> bool:
    allowed = slips_allowed(typed)
    changed = len(one) == len(other) and sorted(one) != sorted(other)
    return distance(one, other, allowed) <= allowed and not (changed and len(typed) <= _SHORT)


def distance(one: str, other: str, most: int) -> int:
    """Return the slips between two words (optimal string alignment), at most ``most + 1``."""
    # Each slip takes at most one letter away and brings one: cheap to see, and true of nearly all pairs.
    if abs(len(one) - len(other)) > most or len(set(one) ^ set(other)) > 2 * most:
        return most + 1
    before: list[int] = []
    above = list(range(len(other) + 1))
    for i, letter in enumerate(one, start=1):
        row = [i]
        for j, facing in enumerate(other, start=1):
            best = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (letter != facing))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == facing:
                best = min(best, before[j - 2] + 1)
            row.append(best)
        if min(row) > most:
            return most + 1
        before, above = above, row
    return min(above[-1], most + 1)
