"""Measures how well a model does on the texts of this memory, by questions whose answers are known (recall.pairs)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from engram_py.database.store import Store
from engram_py.vectors import pairs, table
from engram_py.vectors.model import VectorModel
from engram_py.vectors.values import UNMEASURED_TRUST, Trust

if TYPE_CHECKING:
    from engram_py.vectors.arrays import Vectors

# A project is measured by itself from this size on, and again when it has doubled.
FEWEST_ROWS = 32
_READ = 512
_TEXTS_AT_ONCE = 16


class TrustTest:
    """Asks for the rest of passages by one of their sentences, for each project and script."""

    def __init__(self, store: Store, model: VectorModel) -> None:
        self._store = store
        self._model = model

    def measure(self, embedder_id: int, *, stopped: Callable[[], bool]) -> None:
        """Measure what was never measured, or has doubled since. Raises EmbedderError when the model fails."""
        known = table.measured(self._store, embedder_id)
        sizes = {"": table.count_live(self._store)} | table.projects(self._store, fewest=FEWEST_ROWS)
        for project, rows in sizes.items():
            if stopped():
                return
            if rows and rows >= 2 * known.get(project, 0):
                found = self._of(project, rows)
                with self._store.transaction():
                    table.put_trust(self._store, embedder_id, project, rows=rows, found=found)

    def _of(self, project: str, rows: int) -> list[Trust]:
        by_script: dict[str, list[tuple[str, str]]] = {"": []}
        for content in table.contents(self._store, project, rows=rows, limit=_READ):
            found = pairs.pair(content)
            if found is None:
                continue
            for name in {"", pairs.script(found[0])}:
                by_script.setdefault(name, []).append(found)
        whole = Trust(project, "", UNMEASURED_TRUST, 0)
        asked = {name: _some(all_of_it) for name, all_of_it in by_script.items() if len(all_of_it) >= pairs.FEWEST}
        tested = [self._tested(project, name, some) for name, some in asked.items()]
        return tested if any(one.script == "" for one in tested) else [whole, *tested]

    def _tested(self, project: str, script: str, asked: Sequence[tuple[str, str]]) -> Trust:
        questions = self._vectors([sentence for sentence, _ in asked])
        answers = self._vectors([rest for _, rest in asked])
        similar = questions @ answers.T
        ranks = [1 + int((row > row[place]).sum()) for place, row in enumerate(similar)]
        return Trust(project, script, round(pairs.trust(ranks), 4), len(ranks))

    def _vectors(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        starts = range(0, len(texts), _TEXTS_AT_ONCE)
        return np.concatenate([self._model.passages(texts[start : start + _TEXTS_AT_ONCE]) for start in starts])


def _some(all_of_it: Sequence[tuple[str, str]]) -> Sequence[tuple[str, str]]:
    """As many as a test asks, evenly from all."""
    return all_of_it[:: -(-len(all_of_it) // pairs.MOST)]


def trust_in(found: Sequence[Trust], project: str, script: str) -> float:
    """The trust that fits best: of this project and script, of the script, of the project, of all."""
    measured = {(one.project, one.script): one.trust for one in found if one.asked >= pairs.FEWEST}
    for key in ((project, script), ("", script), (project, ""), ("", "")):
        if key in measured:
            return measured[key]
    return UNMEASURED_TRUST
