"""The relevance gate: whether a prompt deserves memory unasked, and which kind. A pure function of words.

Most prompts deserve none. The order is Osaurus' (spec/seed-capabilities.md O20 to O26, G9, G10), with the ways
somebody asks a colleague about code put in: why something was chosen, how it was fixed, where the work stopped,
symbols and paths that this memory knows, and at last an order to change what is there and a report of what goes wrong.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal

from engram_py.context.gate.people import said_by
from engram_py.context.gate.work import orders_in, work
from engram_py.recall.query.days import Days, days_in
from engram_py.recall.score.topics import is_form
from engram_py.text import cues
from engram_py.text.prompt_text import UNSPACED_FROM, PromptText, listed, plain

SectionName = Literal["identity", "transcript", "episodes", "memories"]

LEAST_CHARS = 3
LEAST_NAME_CHARS = 4
MOST_MENTIONS = 8
_MOST_MENTION_CHARS = 120
_NOUN_WORDS = 2
_LEAST_FORM = 8

_QUOTE = "`"
_AROUND = "()[]{}<>\"',;:!?.*`"


@dataclass(frozen=True, slots=True)
class Cue:
    """One reason to look into the memory: ``section`` says where, ``rest`` what is left of the prompt to look for.

    ``heard`` is what fired. ``days`` restricts to the days the prompt named; ``names`` are the things
    this memory knows that the prompt names.
    """

    section: SectionName
    kind: str
    heard: str
    rest: str
    days: Days | None = None
    names: tuple[str, ...] = ()


def gate(prompt: str, known: Collection[str], *, today: date) -> tuple[Cue, ...]:
    """The cues of a prompt, the one that decides first; none for a prompt that asks nothing of a memory.

    ``known`` are names this memory knows, spelt by ``name_key``; ``today`` is the reader's own day.
    """
    if len(prompt[: LEAST_CHARS * 100].strip()) < LEAST_CHARS:
        return ()
    heard = PromptText(prompt)
    names = _names(heard, known)
    days = days_in(heard, today)
    if days is not None and not days.past and "?" not in prompt and not heard.first(listed(cues.OF_THE_PAST)):
        days = None
    found = [cue for cue in (_identity(heard), _literal(heard), _somebody(heard), *_episodes(heard, days)) if cue]
    if names:
        found.append(Cue("memories", "name", ", ".join(names), "", names=names))
    found += [cue for cue in (_recall(heard), _possessive(heard)) if cue]
    rest = without_fillers(heard.rest) if found else ""
    found = [replace(cue, rest=cue.rest or rest, days=days) for cue in found]
    given = _work(heard)
    if given is None:
        return tuple(found)
    # The day on which something broke is not that of what is known of it, and a name is one word of several.
    asked = [cue for cue in found if cue.kind not in ("time", "name")]
    parts = (
        [part for one in orders_in(heard.text) if (part := _work(PromptText(one)))] if given.kind != "report" else []
    )
    parts = [part for part in parts if part.kind == "order"]  # of a part one word is too little
    named = [cue for cue in found if cue.kind == "name"] or _formed(heard, known)
    return (*asked, given, *parts, *named)


def _formed(heard: PromptText, known: Collection[str]) -> list[Cue]:
    """The known names of which an order has another form: ``autoscale`` where the memory goes by ``autoscaling``."""
    words = [word for word in set(heard.words) if len(word) >= _LEAST_FORM]
    long = [name for name in known if len(name) >= _LEAST_FORM and " " not in name] if words else []
    names = tuple(sorted(name for name in long if any(is_form(word, name) for word in words)))
    return [Cue("memories", "name", ", ".join(names), without_fillers(heard.rest), names=names)] if names else []


def _work(heard: PromptText) -> Cue | None:
    given = work(heard)  # which cuts what a report says of itself
    return Cue("memories", *given, without_fillers(heard.rest)) if given else None


def without_fillers(text: str) -> str:
    """What is asked about, without what is done with it: "choose uv" is about uv."""
    fillers = listed(cues.FILLERS)
    words = [word for word in text.split() if plain(word.strip(_AROUND)) not in fillers]
    return " ".join(words) or text


def name_key(name: str) -> str:
    """How a name is compared: its words in lower case and without accents, so ``Rate-Limit`` is ``rate limit``."""
    return " ".join(PromptText(name).words)


def mentions(prompt: str) -> tuple[str, ...]:
    """The symbols and paths a prompt names, as it spells them: in backticks, or by their shape."""
    return _mentions(PromptText(prompt))


def _mentions(heard: PromptText) -> tuple[str, ...]:
    quoted = heard.text.split(_QUOTE)[1::2] if _QUOTE in heard.text else []
    shaped = (token.strip(_AROUND) for token in heard.text.split() if is_code(token))
    found = dict.fromkeys(name.strip() for name in (*quoted, *shaped))
    return tuple(name for name in found if 0 < len(name) <= _MOST_MENTION_CHARS)[:MOST_MENTIONS]


def is_code(token: str) -> bool:
    """A path, a call, or a name of several parts; not an address."""
    if len(token) > _MOST_MENTION_CHARS or "://" in token:
        return False
    name = token.strip(_AROUND)
    if "_" in name or "/" in name or "." in name:
        return any(map(str.isalpha, name)) and name[-1] != "/"
    return "()" in token or not (name.islower() or name.isupper() or name[1:].islower() or name.isdigit())


def _names(heard: PromptText, known: Collection[str]) -> tuple[str, ...]:
    """The known names in the prompt, long enough to be told from a word by chance; their plurals as well."""
    explicit = {name_key(name) for name in _mentions(heard)} if known else set()
    return tuple(sorted(name for name in known if name in explicit or (_telling(name) and heard.names(name))))


def _telling(name: str) -> bool:
    return len(name) >= (LEAST_NAME_CHARS if name[0] < UNSPACED_FROM else 2)


def _identity(heard: PromptText) -> Cue | None:
    phrase = heard.first(listed(cues.IDENTITY))
    return Cue("identity", "identity", phrase, "") if phrase else None


def _literal(heard: PromptText) -> Cue | None:
    phrase = heard.first(listed(cues.LITERAL))
    if phrase is None:
        exactly, speaking = (listed(part) for part in cues.LITERAL_TOGETHER)
        phrase = heard.first(exactly)
        spoken = heard.first(speaking)
        if phrase is None or spoken is None:
            return None
        heard.cut(spoken)
    heard.cut(phrase)
    return Cue("transcript", "literal", phrase, "")


def _somebody(heard: PromptText) -> Cue | None:
    """What a person decided or said; the name is looked for as well, since others decide too."""
    words = said_by(heard)
    return Cue("memories", "reason", words, "") if words else None


def _episodes(heard: PromptText, days: Days | None) -> list[Cue]:
    """What is asked of the project's past: the reason or the cure of something, then the sessions themselves."""
    found = []
    for section, kind, phrases in _PAST:
        phrase = heard.first(listed(phrases))
        if phrase is not None:
            heard.cut(phrase)
            found.append(Cue(section, kind, phrase, ""))
        if kind == "resume" and not found and " ".join(heard.words) in listed(cues.GO_ON):
            found.append(Cue("episodes", kind, " ".join(heard.words), ""))
        if kind == "resume" and days is not None:
            found.append(Cue("episodes", "time", days.words, ""))
    return found


_PAST: tuple[tuple[SectionName, str, str], ...] = (
    ("memories", "reason", cues.REASON),
    ("episodes", "resume", cues.RESUME),
    ("episodes", "prior", cues.PRIOR),
    ("episodes", "vague", cues.VAGUE),
)


def _recall(heard: PromptText) -> Cue | None:
    phrase = heard.first(listed(cues.RECALL))
    if phrase is None:
        return None
    heard.cut(phrase)
    return Cue("memories", "recall", phrase, "")


def _possessive(heard: PromptText) -> Cue | None:
    """ "my editor", "our deploy script": the thing alone is looked for, whatever is to be done with it."""
    owners = listed(cues.POSSESSIVE)
    for at, word in enumerate(heard.words[:-1]):
        if word in owners:
            noun = " ".join(heard.words[at + 1 : at + 1 + _NOUN_WORDS])
            return Cue("memories", "possessive", f"{word} {noun}", noun)
    return None
