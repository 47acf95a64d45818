"""Orders and reports told by the verbs of four languages, also where one word names the thing: "fix the build"."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise

from engram_py.context.gate.verbs import HALVES, LANGUAGES, LOOKS, NOTHING, TEXTS, Language
from engram_py.text import cues
from engram_py.text.prompt_text import PromptText, listed, plain
from engram_py.text.stopwords import STOP_WORDS

_NAMED_WITHIN, _SAID_WITHIN, _VERB_WITHIN, _TEXT_WITHIN = 14, 8, 12, 4
_MOST_POLITE = 8
# Without an article it takes so many words to be sure that they name something here.
_BARE = 3
_LEAST_STEM, _MOST_VERB = 3, 24


def task(heard: PromptText) -> tuple[str, str] | None:
    """The kind of work and the word it was heard by; None of every other prompt.

    The kind is ``thing`` where one word is left to look for, else ``order`` or ``report``. All other words are cut.
    """
    if not heard.words:
        return None
    for language in LANGUAGES:
        polite = listed(language.polite)
        begins = next((at for at, word in enumerate(heard.words[:_MOST_POLITE]) if word not in polite), 0)
        found = _is_wrong(heard, language, begins) or _ordered(heard, language, begins)
        if found is not None:
            kind, verb, things = found
            keep = set(things)
            for at in range(len(heard.words)):
                if at not in keep:
                    heard.cut_words(at, at + 1)
            return "thing" if len({heard.words[at] for at in things}) == 1 else kind, verb
    return None


def _is_wrong(heard: PromptText, language: Language, begins: int) -> tuple[str, str, list[int]] | None:
    """ "can you see why the build is red", "the build is red": what is wrong is not looked for."""
    words = heard.words
    for why in listed(language.why):
        at = heard.find(why)
        if at is not None and all(_leads(word, language) for word in words[:at]):
            return _wrong_within(heard, language, at + len(why.split()), _NAMED_WITHIN)
    begins = 0 if words[0] in listed(language.the) else begins
    return _wrong_within(heard, language, begins, _SAID_WITHIN) if words[begins] in listed(language.the) else None


def _wrong_within(heard: PromptText, language: Language, begins: int, within: int) -> tuple[str, str, list[int]] | None:
    places = range(begins, min(begins + within, len(heard.words)))
    wrong = next((at for at in places if heard.words[at] in listed(language.wrong)), None)
    things = _things(heard, [at for at in places if heard.words[at] not in listed(language.wrong)])
    return ("report", heard.words[wrong], things) if wrong is not None and things else None


def _leads(word: str, language: Language) -> bool:
    return (
        word in listed(language.polite)
        or word in listed(LOOKS)
        or word in _nothing()
        or _is_verb(word, language, language.changes)
    )


def _ordered(heard: PromptText, language: Language, begins: int) -> tuple[str, str, list[int]] | None:
    for verbs in (language.changes, language.makes):
        verb = _verb_at(heard.words, begins, language, verbs)
        if verb is None:
            continue
        start, stop = verb
        # The verb of a German request stands behind what it is done to.
        places = [
            at for at in range(begins, begins + _NAMED_WITHIN) if not start <= at < stop and at < len(heard.words)
        ]
        if any(heard.words[at] in listed(TEXTS) for at in places[:_TEXT_WITHIN]):
            return None
        the = next((at for at in places if heard.words[at] in listed(language.the)), None)
        if verbs == language.makes and the is not None:
            places = [at for at in places if at > the]
        things = _things(heard, places)
        if things and (the is not None or (verbs == language.changes and len(things) >= _BARE)):
            return "order", heard.words[start], things
    return None


def _verb_at(words: Sequence[str], begins: int, language: Language, verbs: str) -> tuple[int, int] | None:
    """From where to where the verb stands: first, or after a polite word or an article as an infinitive."""
    phrases = listed(verbs)
    for count in (3, 2):
        if " ".join(words[begins : begins + count]) in phrases:
            return begins, begins + count
    if begins < len(words) and _is_verb(words[begins], language, verbs):
        return begins, begins + 1
    if language.particles and (begins or words[0] in listed(language.the)):
        for at in range(begins, min(begins + _VERB_WITHIN, len(words))):
            if words[at].endswith("n") and _is_verb(words[at], language, verbs):
                return at, at + 1
    return None


def _is_verb(word: str, language: Language, verbs: str) -> bool:
    if len(word) > _MOST_VERB:
        return False
    stems, endings = listed(verbs), _parts(language.endings)
    parts = (one for one in listed(language.particles) if word.startswith(one))
    return any(
        bare[:cut] in stems and bare[cut:] in endings
        for bare in (word, *(word.removeprefix(one).removeprefix("zu") for one in parts))
        for cut in range(_LEAST_STEM, len(bare) + 1)
    )


@cache
def _parts(text: str) -> frozenset[str]:
    return frozenset(map(plain, text.split("|")))


@cache
def _nothing() -> frozenset[str]:
    """The words that name no thing, in all the languages; names are short, and two letters may be one."""
    lists = (NOTHING, TEXTS, cues.EVERYWHERE, cues.FILLERS, cues.POLITE, *(one.polite for one in LANGUAGES))
    more = (listed(text) for text in (*lists, *(one.the for one in LANGUAGES), *(one.particles for one in LANGUAGES)))
    return frozenset((*map(plain, STOP_WORDS), *(word for words in more for word in words)))


def _things(heard: PromptText, places: Sequence[int]) -> list[int]:
    """Where the words stand that name something; without them, two halves that name it together.

    ``CI`` is a name, although ``ci`` is a word of Italian."""
    words = heard.words
    things = [at for at in places if len(words[at]) > 1 and words[at] not in listed(NOTHING)]
    things = [at for at in things if heard.is_capitals(at) or (words[at].isalpha() and words[at] not in _nothing())]
    if things:
        return things
    halves = [at for at in places if words[at] in listed(HALVES)]
    near = [(one, two) for one, two in pairwise(halves) if two - one <= 2]
    return list(near[0]) if near and words[near[0][0]] != words[near[0][1]] else []
