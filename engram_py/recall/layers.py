"""Search one layer of the memory, or all: memories, episodes, turns, prompts, documents, entities."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from engram_py.dataclass import dataclass
from engram_py.errors import EmptyQueryError, InvalidArgumentError
from engram_py.observations.arguments import clamp
from engram_py.recall import said
from engram_py.recall.query.parse import parse_query
from engram_py.recall.said import SaidResults, Source, Window
from engram_py.recall.values import DocumentResults, Results

if TYPE_CHECKING:
    from engram_py.database.store import Store
    from engram_py.recall.search import Search

MOST = 20
ALL = "all"
EPISODE, ENTITY = "session_summary", "entity"
_LIMIT = 10
_DATES = ("since:", "until:")


@dataclass(frozen=True, slots=True)
class Layered:
    """The results of each layer, by its name."""

    query: str
    layers: dict[str, Results | SaidResults | DocumentResults]
    warnings: tuple[str, ...] = ()


LayerResults = Results | SaidResults | DocumentResults


class Layers:
    """Searches the layers: memories by ``app.search``, documents by the function that ``documents`` gives."""

    def __init__(
        self,
        store: Store,
        searches: Callable[[], Search],
        memories: Callable[..., Results],
        documents: Callable[[], Callable[..., DocumentResults]],
    ) -> None:
        self._documents = documents
        self._store = store
        self._searches = searches
        self._memories = memories

    def search(self, query: str, layer: str | None = None, **wanted: Any) -> LayerResults | Layered:
        """Return what a layer has about ``query``, best first. ``wanted`` are the arguments of ``app.search``.

        Arguments that do not apply to a layer are left out, with a note. Raises InvalidArgumentError: there is no such
        layer; and what ``app.search`` raises.
        """
        name = layer_named(layer)
        if name != ALL:
            return self._layer(name, query, wanted)
        return Layered(query[:200], {one: self._layer(one, query, wanted) for one in LAYERS})

    def _layer(self, name: str, query: str, wanted: dict[str, Any]) -> LayerResults:
        if name == "documents":
            asked = {name: wanted.get(name) for name in ("project", "session_id")}
            limit, everywhere = wanted.get("limit") or _LIMIT, bool(wanted.get("all_projects"))
            return self._documents()(query, limit=limit, all_projects=everywhere, **asked)
        if name in _SOURCES:
            return self._said(_SOURCES[name], query, wanted)
        return self._memories(query, **wanted | _TYPES.get(name, {}))

    def _said(self, source: Source, query: str, wanted: dict[str, Any]) -> SaidResults:
        parsed = parse_query(query, filters=True)
        if not (parsed.words or parsed.phrases):
            raise EmptyQueryError(query)
        limit, notes = clamp("limit", wanted.get("limit") or _LIMIT, 1, MOST)
        scope, scope_notes = self._searches().resolve_scope(
            parsed, wanted.get("project"), bool(wanted.get("all_projects")), session_id=wanted.get("session_id")
        )
        since, until = (None if scope.values[name] is None else str(scope.values[name]) for name in ("since", "until"))
        window = Window(scope.projects, since, until)
        names = ("type", "scope", "explain", "as_of")
        idle = [name for name in names if wanted.get(name)] + [one for one in scope.said if not one.startswith(_DATES)]
        if idle:
            notes = (*notes, f"{', '.join(idle)}: says nothing of {source.name}; left out")
        found = said.find(self._store, source, parsed, window, limit=limit)
        kept = None if found else said.count(self._store, source, Window(scope.projects))
        warnings = (*notes, *scope.notes, *scope_notes)
        return SaidResults(parsed.text[:200], source.name, tuple(found), scope.projects, kept, warnings)


LAYERS = ("memories", "episodes", "turns", "prompts", "documents", "entities")
_TYPES = {"episodes": {"type": EPISODE}, "entities": {"type": ENTITY}}
_SOURCES = {"turns": said.TURNS, "prompts": said.PROMPTS}
# The names Osaurus has for them.
ALIASES = {"pinned": "memories", "transcript": "turns"}


def layer_named(layer: str | None) -> str:
    """Return the layer a name means; memories where none is given. Raises InvalidArgumentError."""
    given = (layer or "").strip().lower()
    name = ALIASES.get(given, given) or "memories"
    if name != ALL and name not in LAYERS:
        raise InvalidArgumentError("in", layer, expected=f"one of {', '.join([*LAYERS, ALL])}")
    return name
