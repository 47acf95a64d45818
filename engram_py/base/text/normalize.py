"""One form for text: as it arrives (which may be stored, how much of it, its hash, its topic key), and as it leaves."""

from __future__ import annotations

import re
import unicodedata

from engram_py.base.dataclass import dataclass
from engram_py.base.errors import InvalidTextError, InvalidTopicKeyError
from engram_py.base.lazy import regex

TRUNCATION_MARKER = "... [truncated]"
TOPIC_KEY_LIMIT_CHARS = 120

_JOINER = "\u200d"
_LONGEST_CLUSTER = 16  # code points to step back at most; a family emoji has seven


@dataclass(frozen=True, slots=True)
class Truncation:
    """A text that fits, and how much of it there was, in bytes of UTF-8."""

    text: str
    original_bytes: int
    stored_bytes: int

    @property
    def truncated(self) -> bool:
        return self.stored_bytes != self.original_bytes


def truncate_utf8(text: str, limit_bytes: int, marker: str = TRUNCATION_MARKER) -> Truncation:
    """Return ``text`` cut so that it and ``marker`` fit into ``limit_bytes``; unchanged when it fits.

    A letter stays with its accents and an emoji with its parts. A limit too small for the marker goes without it.
    """
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= limit_bytes:
        return Truncation(text, len(data), len(data))
    room = limit_bytes - len(marker.encode("utf-8", "surrogatepass"))
    if room < 0:
        room, marker = max(limit_bytes, 0), ""
    while room and data[room] & 0xC0 == 0x80:
        room -= 1
    length = len(data[:room].decode("utf-8", "surrogatepass"))
    kept = text[: _cluster_start(text, length)] + marker
    return Truncation(kept, len(data), len(kept.encode("utf-8", "surrogatepass")))


def _cluster_start(text: str, cut: int) -> int:
    """Return the nearest place at or before ``cut`` that splits nothing that a reader sees as one character."""
    if cut >= len(text):
        return cut
    for place in range(cut, max(0, cut - _LONGEST_CLUSTER) - 1, -1):
        if not place or not _continues(text, place):
            return place
    return cut


def _continues(text: str, place: int) -> bool:
    char, before = text[place], text[place - 1]
    if _JOINER in (before, char) or unicodedata.category(char).startswith("M"):
        return True
    if _is_flag_half(char) and _is_flag_half(before):
        run = place
        while run > max(0, place - _LONGEST_CLUSTER) and _is_flag_half(text[run - 1]):
            run -= 1
        return (place - run) % 2 == 1
    return "\U0001f3fb" <= char <= "\U0001f3ff"  # skin tones


def _is_flag_half(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def check_text(field: str, text: str) -> None:
    """Refuse NUL bytes and halves of surrogate pairs. Raises InvalidTextError."""
    if "\x00" in text:
        raise InvalidTextError(field, "a NUL byte")
    if text.isascii():
        return
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as exc:
        raise InvalidTextError(field, "a lone surrogate") from exc


def normalized(text: str) -> str:
    """Return the form that texts share which differ only in case, white space or composition of accents."""
    return " ".join(unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).lower()).split())


def content_hash(text: str) -> str:
    """Return a hash that is the same for texts of one normalized form."""
    import hashlib

    return hashlib.sha256(normalized(text).encode("utf-8", "surrogatepass")).hexdigest()


def normalize_topic_key(raw: str) -> str:
    """Return a topic in lower case, with ``-`` for white space and single ``/``, at most 120 characters.

    Raises InvalidTopicKeyError when no letter or digit remains.
    """
    key = unicodedata.normalize("NFC", unicodedata.normalize("NFC", raw).lower())
    key = re.sub(r"/+", "/", re.sub(r"\s+", "-", key.strip())).strip("/-")
    key = key[:TOPIC_KEY_LIMIT_CHARS].strip("/-")
    if not any(map(str.isalnum, key)):
        raise InvalidTopicKeyError(raw)
    return key


def dashed(text: str) -> str:
    """Return a name in lower case with dashes for what is neither letter nor digit."""
    return "-".join(re.findall(r"[^\W_]+", unicodedata.normalize("NFC", text).lower()))


def folded(text: str) -> str:
    """Return a text in the letters by which the index and a query agree on a word: small, narrow, without marks.

    ``Βάση`` is ``βαση``, ``Straße`` is ``strasse``, ``ё`` is ``е``, ``ＡＰＩ`` is ``api``, ``ışık`` is ``isik``. Marks
    that are a part of a letter, as the vowels of Hindi and Thai are, stay.
    """
    text = text.lower()
    if text.isascii() or not _BEYOND_PROSE.search(text):
        return text
    for letter in {*text}:
        if letter > "\x7f" and (bare := _FOLDED[letter]) != letter:
            text = text.replace(letter, bare)
    return unicodedata.normalize("NFC", text)


_BEYOND_PROSE = regex("[^\x00-\x7f\u2010-\u2027]")  # dashes, quotation marks and dots are the rest of most texts
_WITHOUT_DECOMPOSITION = {"ı": "i", "æ": "ae", "œ": "oe"}


class _Folded(dict[str, str]):
    """Each letter in its folded form, found when it is first met."""

    def __missing__(self, letter: str) -> str:
        parts = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", letter).casefold())
        letters = (part for part in parts if not _is_mark(part))
        bare = "".join(_WITHOUT_DECOMPOSITION.get(part) or _without_stroke(part) for part in letters)
        # Of a vowel of Thai that is written in two parts, the first is a mark as well.
        whole = unicodedata.normalize("NFC", letter if _is_compound(letter, bare) else bare)
        self[letter] = whole
        return whole


_FOLDED = _Folded()


def _is_mark(char: str) -> bool:
    """Return whether a mark may be left out: an accent, a point of Hebrew or Arabic; no vowel, virama or voicing."""
    kind = unicodedata.combining(char)
    return 10 <= kind <= 36 or kind >= 200


def _without_stroke(char: str) -> str:
    """Return the Latin letter that ``ø``, ``ł`` and ``đ`` are with a stroke, which has no decomposition."""
    base, found, _ = unicodedata.name(char, "").partition(" WITH ")
    is_letter = found and base.startswith("LATIN SMALL LETTER ") and len(base) == len("LATIN SMALL LETTER A")
    return base[-1].lower() if is_letter else char


def _is_compound(letter: str, bare: str) -> bool:
    decomposed = unicodedata.decomposition(letter)
    return decomposed.startswith("<compat>") and any(unicodedata.category(part)[0] == "M" for part in bare)


def plain_lines(text: str) -> str:
    """Return a text with one kind of line break, as Markdown counts lines."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")


# As git and its like write them, with or without the third text.
_CONFLICT = regex(r"^<{7} .*\n(?:.*\n)*?={7}\n(?:.*\n)*?>{7} ", re.MULTILINE)


def has_conflict(text: str) -> bool:
    """Return whether a merge left a text with both sides in it, for a person to choose from."""
    text = plain_lines(text)
    return "\n>>>>>>> " in text and _CONFLICT.search(text) is not None


# --- text as it may leave a door: nothing in it moves a terminal or hides from a reader -------------------------------

# Terminal sequences, whole: CSI (``ESC [ … letter``), strings up to their end (OSC, DCS, APC, PM, SOS), two bytes.
_SEQUENCE = regex(r"""(?x)
\x1b\[[0-?]*[ -/]*[@-~]
|\x9b[0-?]*[ -/]*[@-~]
|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?
|\x1b[ -/]*[0-~]
""")
_PLAIN_CONTROLS = dict.fromkeys([*range(9), 11, 12, *range(14, 32), *range(127, 160)])
_LINE_ENDS = regex(r"\r(?!\n)|\x85|\u2028|\u2029")


def visible(text: str) -> str:
    """Return text without terminal sequences, control characters but line ends and tabs, and format characters.

    Format characters are Unicode's category Cf (joiners, direction marks, tags, the soft hyphen) and the variation
    selectors beyond the first sixteen: a reader does not see them, and a model reads them. Other line ends become
    ``\\n``; ``\\r\\n`` stays.
    """
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    if not text.isprintable():
        text = _LINE_ENDS.sub("\n", _SEQUENCE.sub("", text)).translate(_PLAIN_CONTROLS)
    if text.isascii():
        return text
    return "".join(char for char in text if char.isprintable() or not _is_hidden(char)).translate(_SELECTORS)


_SELECTORS = dict.fromkeys(range(0xE0100, 0xE01F0))


def _is_hidden(char: str) -> bool:
    return unicodedata.category(char) in ("Cf", "Cs")
