"""Whether a fact is worth keeping: what is passing or vague is not, nor what is said already; a new value replaces.

The patterns are data: ``fact_rules.json``, and a file of the same shape that ``ENGRAM_FACT_RULES`` names. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from engram_py.base.dataclass import dataclass
from engram_py.base.errors import InvalidArgumentError
from engram_py.base.files import expanded
from engram_py.base.lazy import regex
from engram_py.base.text.words import ENGLISH
from engram_py.memory.observations.values import Observation

_OURS = Path(__file__).with_name("fact_rules.json")
_WORD = regex(r"\w+")
# The value of an anchor is the words that follow it: up to a small word or a mark that ends a clause.
_VALUE_WORD = regex(r"[^\s,;!?()]+")


@dataclass(frozen=True, slots=True)
class Rules:
    """``transient`` are phrases of what passes or is unsure; ``anchors`` are by group the phrases before a value that a
    later fact replaces. ``same`` is the share of common words (Jaccard) from which two facts say the same,
    ``same_derived`` that from which a derived one is not kept beside another."""

    transient: tuple[str, ...]
    anchors: Mapping[str, tuple[str, ...]]
    least_chars: int
    same: float
    same_derived: float


@dataclass(frozen=True, slots=True)
class Judgment:
    """The judgment of a fact beside the known ones: ``refused`` is the reason against it, ``same`` the one that
    says it already and how alike they are, ``replaced`` those it replaces, each with the phrase that both have."""

    refused: str = ""
    same: Observation | None = None
    alike: float = 0.0
    replaced: tuple[tuple[Observation, str], ...] = ()


def judged(text: str, known: Sequence[Observation], rules: Rules) -> Judgment:
    """Judge a fact beside the active facts of its entity, by Martian's rules (M12 to M17).

    Another value replaces however alike the sentences are: "its version is 3.1" and "3.2" share most words.
    """
    if refused := refusal(text, rules):
        return Judgment(refused)
    values = values_of(text, rules)
    replaced = []
    for one in known:
        others = values_of(one.content, rules)
        phrase = next((values[group][0] for group in values if differs(values[group], others.get(group))), "")
        if phrase:
            replaced.append((one, phrase))
    if replaced:
        return Judgment(replaced=tuple(replaced))
    best = max(((likeness(text, one.content), one) for one in known), key=lambda pair: pair[0], default=None)
    return Judgment(same=best[1], alike=best[0]) if best and best[0] >= rules.same else Judgment()


def has_anchor(text: str, rules: Rules) -> bool:
    """Return whether a fact has a value that a later one may replace."""
    return bool(values_of(text, rules))


def refusal(text: str, rules: Rules) -> str:
    """Return why a text is no fact, or nothing."""
    line = " ".join(text.split())
    if len(line) < rules.least_chars:
        return f"it has {len(line)} characters; a fact has at least {rules.least_chars}"
    passing = next((phrase for phrase in rules.transient if _place(phrase, line) is not None), "")
    return f'"{passing}" sounds temporary or unsure' if passing else ""


def likeness(one: str, other: str) -> float:
    """Return the share of their words that two texts have in common (Jaccard), 0..1."""
    first, second = (set(_WORD.findall(text.lower())) for text in (one, other))
    return len(first & second) / len(first | second) if first | second else 1.0


@lru_cache(maxsize=4)
def rules_of(extra: str = "") -> Rules:
    """Return our rules joined with those of the file ``extra``. Raises InvalidArgumentError where it is unreadable."""
    ours, theirs = _read(_OURS), _read(expanded(extra)) if extra else {}
    anchors: dict[str, tuple[str, ...]] = {}
    for group, phrases in (*ours["anchors"].items(), *theirs.get("anchors", {}).items()):
        anchors[group] = (*anchors.get(group, ()), *_phrases(phrases, extra))
    return Rules(
        (*_phrases(ours["transient"], extra), *_phrases(theirs.get("transient", ()), extra)),
        anchors,
        int(ours["least_chars"]),
        float(ours["same"]),
        float(ours["same_derived"]),
    )


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as exc:
        raise InvalidArgumentError("ENGRAM_FACT_RULES", str(path), expected=f"a readable JSON file ({exc})") from exc
    if not isinstance(found, dict) or not isinstance(found.get("anchors", {}), dict):
        raise InvalidArgumentError("ENGRAM_FACT_RULES", str(path), expected='an object with "anchors" and "transient"')
    return found


def _phrases(values: Any, source: str) -> Iterable[str]:
    if isinstance(values, str) or not all(isinstance(one, str) for one in values):
        raise InvalidArgumentError("ENGRAM_FACT_RULES", source, expected="lists of phrases")
    return (" ".join(one.lower().split()) for one in values if one.strip())


def _place(phrase: str, text: str) -> int | None:
    """Return where a phrase ends in a text, as whole words; None where it does not stand."""
    found = re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", text, re.IGNORECASE)
    return found.end() if found else None


def values_of(text: str, rules: Rules) -> dict[str, tuple[str, frozenset[str]]]:
    """Return by anchor group the phrase that stands in a text, and the words of the value after it."""
    line = " ".join(text.split())
    found = {}
    for group, phrases in rules.anchors.items():
        for phrase in phrases:
            end = _place(phrase, line)
            if end is not None:
                found[group] = (phrase, value_of(line[end:]))
                break
    return found


def value_of(rest: str) -> frozenset[str]:
    words: list[str] = []
    for match in _VALUE_WORD.finditer(rest):
        word = match[0].strip("\"'`“”.:").lower()
        if word in ENGLISH and words:
            break
        words += [word] if word and word not in ENGLISH else []
        if match[0].endswith((".", ":")) or rest[match.end() : match.end() + 1] in tuple(",;!?("):
            break
    return frozenset(words)


def differs(one: tuple[str, frozenset[str]], other: tuple[str, frozenset[str]] | None) -> bool:
    """Return whether neither value only says more than the other: "Acme" and "Acme Corp" may be the same."""
    return other is not None and bool(one[1] and other[1]) and not (one[1] <= other[1] or other[1] <= one[1])
