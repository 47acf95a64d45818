"""What the words of a prompt led to, and what of it the work most likely needs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from engram_py.context.prompt_kinds import plain_words
from engram_py.database.store import Store
from engram_py.dataclass import dataclass
from engram_py.recall.query.parse import parse_query
from engram_py.recall.retrieval import Retrieved, retrieve
from engram_py.recall.scope_filter import ScopeFilter
from engram_py.recall.score.bm25 import Scored
from engram_py.recall.score.probability import threshold
from engram_py.recall.values import Near

_MODEL = "unasked"


@dataclass(frozen=True, slots=True)
class LookedUp:
    """What a prompt's words led to, judged as what nobody asked for; ``found`` is None where no word asks."""

    found: Retrieved | None = None

    def likely(self) -> list[Scored]:
        """Return what is likely enough to be needed, the likeliest first."""
        if self.found is None:
            return []
        return [one for probability, one in self.found.judged(_MODEL) if probability >= threshold(_MODEL)]

    def nearest(self) -> Sequence[Near]:
        """Return what comes nearest to being given, best first."""
        return self.found.nearest(_MODEL) if self.found is not None else ()


def look_up(store: Store, prompt: str, projects: tuple[str, ...] | None, today: date) -> LookedUp:
    """Return what the memory has for a prompt, whose words are never read as a query language."""
    query = parse_query(plain_words(prompt))
    if not query.asks:
        return LookedUp()
    return LookedUp(retrieve(store, query, ScopeFilter.of_projects(projects), limit=1, least=0.0, today=today))
