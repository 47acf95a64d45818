"""The words of vectors: how far they are, and what a pass computed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from engram_py.vectors.values import Cleared, Embedded, Trust, VectorState

_UNSET = (
    "No embedder is set; searches go by words alone.\n"
    "→ set ENGRAM_EMBEDDER, for example to model2vec:minishlab/potion-base-8M or "
    "openai:http://127.0.0.1:11434/v1#nomic-embed-text, then run `engram embed --now`"
)


def _state(value: VectorState, now: datetime) -> str:
    if not value.embedder:
        left = f"{value.bytes:,} bytes of vectors are kept; `engram embed --clear` deletes them"
        return f"{_UNSET}\n{left}" if value.bytes else _UNSET
    lines = [f"{value.embedder}: {value.done:,} of {value.observations:,} observations have vectors"]
    if value.dimension:
        lines.append(f"{value.dimension} dimensions, {value.bytes:,} bytes in the database")
    if value.host:
        lines.append(f"texts are sent to {value.host}")
    lines += [f"trust {_whose(one)}: {one.trust:.2f} (of {one.asked} questions made of the memory itself)"
              for one in value.trust if one.asked]  # fmt: skip
    lines += [f"also kept: {name}" for name in value.others]
    if value.problem:
        lines.append(f"problem: {value.problem}\n→ {value.hint}")
    elif value.done < value.observations:
        lines.append("→ run `engram embed --now`; a running server computes them by itself")
    return "\n".join(lines)


def _whose(one: Trust) -> str:
    return " ".join(part for part in (f"in {one.project}" if one.project else "overall", one.script) if part)


def _embedded(value: Embedded, now: datetime) -> str:
    head = (
        f"Computed vectors of {value.observations:,} observation(s), {value.passages:,} passage(s), "
        f"in {value.seconds:.1f} s"
    )
    notes = [f"note: {warning}" for warning in value.warnings]
    return "\n".join([head, _state(value.state, now), *notes])


def _cleared(value: Cleared, now: datetime) -> str:
    return f"Deleted the vectors of {value.observations:,} observation(s)"


WORDS: dict[type, Callable[[Any, datetime], str]] = {VectorState: _state, Embedded: _embedded, Cleared: _cleared}
