"""The doctor's finding about vectors: whether the embedder answers, and who hears what is saved."""

from __future__ import annotations

from engram_py.upkeep.values import Check
from engram_py.vectors.vectors import Vectors


def examined(vectors: Vectors) -> Check:
    if not vectors.enabled:
        return Check("vectors", "ok", "no embedder is set; searches go by words")
    state = vectors.state(ask=True)
    evidence = {"embedder": state.embedder, "done": state.done, "observations": state.observations}
    if state.problem is not None:
        message = f"searches go by words alone: {state.problem}"
        return Check("vectors", "warning", message, evidence, state.hint)
    message = f"{state.done:,} of {state.observations:,} observations have vectors from {state.embedder}"
    if state.host and not vectors.private:
        step = "use https://, or a model on this machine"
        return Check("vectors", "warning", f"{message}; texts go unencrypted to {state.host}", evidence, step)
    return Check("vectors", "ok", message + (f"; texts go to {state.host}" if state.host else ""), evidence)
