"""Read the digest that a program or a model answered: JSON, alone, in a fence or amid prose. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from engram_py.distill.values import Candidate, Digest, DistillerFailed
from engram_py.files import lines_of
from engram_py.lazy import regex

MOST_BYTES = 1 << 20
MOST_ITEMS = 20
ITEM_CHARS = 500
SUMMARY_CHARS = 2_000
_MOST_TRIES = 50
_FENCE = regex(r"```[a-zA-Z]*\s*\n(.*?)```", re.DOTALL)
# Other words for the same, as distillers of other programs answer.
_NAMES = {
    "summary": ("summary", "episode", "episode_summary"),
    "goal": ("goal",),
    "done": ("done", "accomplished"),
    "decisions": ("decisions",),
    "next_steps": ("next_steps", "action_items", "open"),
    "topics": ("topics",),
    "entities": ("entities",),
    "facts": ("facts", "pinned", "pinned_candidates", "candidates"),
    "identity": ("identity", "identity_facts"),
}
_FACT_NAMES = {"entity": ("entity", "subject", "about"), "text": ("fact", "text", "content")}
# Programs such as `claude -p --output-format json` wrap the text of the answer and say what it took.
_WRAPPED = ("result", "response", "content", "text", "message")


def digest_in(answer: str) -> Digest | None:
    """Return the digest of an answer; None where it says by ``null`` or ``{}`` that nothing is notable.

    Raises DistillerFailed: there is no JSON object in it, or one without a summary.
    """
    value = _object(answer)
    if value is None:
        raise DistillerFailed("no_json")
    usage = _usage(value)
    for name in _WRAPPED:
        inner = value.get(name)
        if not _has_summary(value) and isinstance(inner, str):
            value = _object(inner) if inner.strip() not in ("null", "") else {}
            break
    if value is None:
        raise DistillerFailed("no_json")
    if not value or value.get("summary", "") is None:
        return None
    if not _has_summary(value):
        raise DistillerFailed("no_summary")
    names = ("done", "decisions", "next_steps", "topics", "entities", "identity")
    lists = {name: _items(_first(value, name)) for name in names}
    return Digest(
        summary=_text(_first(value, "summary"), SUMMARY_CHARS),
        goal=_text(_first(value, "goal"), ITEM_CHARS),
        facts=_facts(_first(value, "facts")),
        salience=_share(value.get("salience"), 0.5),
        tokens=usage[0],
        cost=usage[1],
        **lists,
    )


def _object(text: str) -> dict[str, Any] | None:
    """Return the first JSON object in a text that is one, holds one in a fence, or holds one amid prose."""
    for candidate in _candidates(text[:MOST_BYTES]):
        try:
            value = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if value is None:
            return {}
        if isinstance(value, dict):
            return value
    return _embedded(text[:MOST_BYTES])


def _candidates(text: str) -> Iterator[str]:
    yield text.strip()
    yield from _FENCE.findall(text)


def _embedded(text: str) -> dict[str, Any] | None:
    decoder = json.JSONDecoder()
    at = text.find("{")
    for _ in range(_MOST_TRIES):
        if at < 0:
            return None
        try:
            value, _ = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict) and value:
            return value
        at = text.find("{", at + 1)
    return None


def _first(value: Mapping[str, Any], name: str) -> Any:
    return next((value[one] for one in _NAMES[name] if value.get(one) not in (None, "", [])), None)


def _has_summary(value: Mapping[str, Any]) -> bool:
    return bool(_text(_first(value, "summary"), SUMMARY_CHARS))


def _items(given: Any) -> tuple[str, ...]:
    """Return a list of texts, whatever it was: a text of several lines, objects with a text in them."""
    if isinstance(given, str):
        given = [line.strip().removeprefix("-").strip() for line in lines_of(given)]
    if not isinstance(given, list):
        return ()
    texts = (_text(_inner(item), ITEM_CHARS) for item in given[:MOST_ITEMS])
    return tuple(text for text in texts if text)


def _facts(given: Any) -> tuple[Candidate, ...]:
    """Return the facts that name what they are about; others are no use."""
    found = []
    for item in given[:MOST_ITEMS] if isinstance(given, list) else ():
        if isinstance(item, dict):
            entity, text = (
                _text(next((item[one] for one in names if item.get(one)), ""), ITEM_CHARS)
                for names in _FACT_NAMES.values()
            )
            if entity and text:
                found.append(Candidate(entity, text, _share(item.get("salience"), 0.6)))
    return tuple(found)


def _inner(item: Any) -> Any:
    if isinstance(item, dict):
        return next((one for one in item.values() if isinstance(one, str)), "")
    return item


def _text(given: Any, limit: int) -> str:
    if not isinstance(given, str | int | float) or isinstance(given, bool):
        return ""
    text = " ".join(str(given).replace("\0", " ").split())
    return text.encode("utf-8", "replace").decode()[:limit]


def _usage(value: Mapping[str, Any]) -> tuple[int, float]:
    """Return the tokens and the cost in dollars that an answer names, in the words of several programs."""
    usage = value.get("usage")
    counts: Mapping[str, Any] = usage if isinstance(usage, dict) else {}
    total = _number(value.get("tokens", counts.get("total_tokens")), 0)
    if not total:
        names = ("input_tokens", "output_tokens", "prompt_tokens", "completion_tokens",
                 "cache_creation_input_tokens", "cache_read_input_tokens")  # fmt: skip
        total = sum(_number(counts.get(name), 0) for name in names)
    cost = _number(value.get("cost", value.get("cost_usd", value.get("total_cost_usd"))), 0)
    return int(min(max(total, 0), 10**9)), min(max(cost, 0.0), 10**6)


def _share(given: Any, otherwise: float) -> float:
    return min(1.0, max(0.0, _number(given, otherwise)))


def _number(given: Any, otherwise: float) -> float:
    """Return a number, also one that came as a text."""
    if isinstance(given, bool) or not isinstance(given, int | float | str):
        return otherwise
    try:
        number = float(given)
    except (ValueError, OverflowError):
        return otherwise
    return number if abs(number) < 1e15 else otherwise  # neither NaN nor infinite
