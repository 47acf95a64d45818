"""The words of the state of vectors."""

from __future__ import annotations

from datetime import datetime

from engram_py.interfaces.wording.phrases import Words, amount
from engram_py.recall.vectors.values import Embedded, TurnedOff, VectorState

_OFF = "Vectors are off; searches use only words."


def _state(value: VectorState, now: datetime) -> str:
    if not value.embedder:
        kept = f"\n{_megabytes(value.bytes)} of vectors are kept" if value.bytes else ""
        lane = " multilingual" if value.fitting == "multilingual" else ""
        return f"{_OFF}{kept}\n→ run `engram vectors on{lane}`"
    left = value.lacking
    lines = [f"{value.embedder}: {value.done:,} of {value.observations:,} observations have vectors"]
    lines += [f"and {value.documents_done:,} of {value.documents:,} document passages"] if value.documents else []
    costs = [f"{_megabytes(value.model_bytes)} for the model"] if value.model_bytes else []
    costs += [f"{_megabytes(value.bytes)} in the database"] if value.bytes else []
    costs += [f"{value.question_ms:.0f} ms per search"] if value.question_ms else []
    if costs:
        lines.append("costs " + ", ".join(costs))
    if value.runtime:
        lines.append(f"runs on {value.runtime}")
    if value.process:
        lines.append(f"process {value.process} holds the model for all")
    if value.host:
        lines.append(f"texts are sent to {value.host}")
    lines += [f"kept vectors: {name}" for name in value.others]
    if value.problem:
        lines.append(f"problem: {value.problem}\n→ {value.hint}")
    elif value.misfits:
        lines.append("most of the latest prompts are not in English\n→ run `engram vectors on multilingual`")
    elif left:
        lines.append(f"→ run `engram vectors on` for the {left:,} left; a running server computes them by itself")
    return "\n".join(lines)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size >= 50_000 else f"{size:,} bytes"


def _embedded(value: Embedded, now: datetime) -> str:
    what = f"{amount(value.observations, 'observation')}, {amount(value.passages, 'passage')}"
    what += f", {amount(value.documents, 'document passage')}" if value.documents else ""
    return f"Computed vectors of {what}, in {value.seconds:.1f} s\n{_state(value.state, now)}"


def _turned_off(value: TurnedOff, now: datetime) -> str:
    if value.deleted:
        return f"Vectors are off; those of {amount(value.deleted, 'observation')} and the models are deleted"
    kept = f" The vectors of {amount(value.kept, 'observation')} are kept." if value.kept else ""
    return f"Vectors are off; searches use only words.{kept}"


WORDS: Words = {
    VectorState: _state,
    Embedded: _embedded,
    TurnedOff: _turned_off,
}
