"""The assembler: four orderings of the same providers, each within a budget."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Generic, TypeVar

from engram_py.base.dataclass import replace
from engram_py.base.errors import InvalidArgumentError
from engram_py.base.reasons import Told, reason
from engram_py.base.settings import BY_NAME, DEFAULTS
from engram_py.base.text.normalize import normalized
from engram_py.guidance.context.prompt import QueryOrder
from engram_py.guidance.context.prompt_gate import LookedUp
from engram_py.guidance.context.providers import Providers
from engram_py.guidance.context.values import MODES, Context, Item, Mode, OwnFile, Section
from engram_py.guidance.context.visibility import Ask, Build, VisibilityFilter
from engram_py.memory.anchors.anchors import Anchors
from engram_py.memory.observations import visible
from engram_py.memory.observations.arguments import clamp, clean_scope
from engram_py.memory.observations.usage import Usage
from engram_py.memory.observations.values import Observation
from engram_py.memory.projects import table as project_table
from engram_py.memory.projects.projects import Core
from engram_py.memory.sessions.values import SessionLine

if TYPE_CHECKING:
    from engram_py.recall.documents.values import Overview
    from engram_py.recall.search import Search


T = TypeVar("T")

KEPT_FOR = timedelta(seconds=10)
MOST_KEPT = 32


class Cache(Generic[T]):
    """A few values, each true at one state of the memory and for ten seconds; of a clock that jumps, no longer."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, tuple[Hashable, datetime, T]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, *, state: Hashable, now: datetime) -> T | None:
        """Return the value kept under ``key``, unless the memory is in another state or too much time has passed."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is None or kept[0] != state or not timedelta() <= now - kept[1] < KEPT_FOR:
                self._kept.pop(key, None)
                return None
            return kept[2]

    def keep(self, key: Hashable, value: T, *, state: Hashable, now: datetime) -> None:
        with self._lock:
            self._kept[key] = (state, now, value)
            self._kept.move_to_end(key)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)


# 1,500 tokens at four characters each: what a session start may cost (DESIGN.md, shared/spec/field.md C12).
DEFAULT_BYTES: int = DEFAULTS["context_tokens"] * 4
MOST_BYTES = 65_536
LEAST_BYTES = 600

# (default, least, most) tokens of each mode (spec/seed-capabilities.md 2.6 and 2.11).
TOKENS: dict[Mode, tuple[int, int, int]] = {
    "session": (DEFAULT_BYTES // 4, LEAST_BYTES // 4, MOST_BYTES // 4),
    "query": (DEFAULTS["memory_budget_tokens"], *BY_NAME["memory_budget_tokens"].range),
    "cascade": (2_000, 100, 16_384),
    "full": (DEFAULTS["full_budget_tokens"], *BY_NAME["full_budget_tokens"].range),
}
SAME_PROMPT_CHARS = 120
MOST_QUERY_CHARS = 8_000

_MOST_APART: dict[Mode, int] = {"query": 3, "cascade": 5}  # of what nobody checked, told behind everything else
_NOTHING_SAID: tuple[Told, ...] = ()
_LINE_BYTES = 60  # what stands around a title and a piece of text, about
_TITLE_CHARS, _TEXT_CHARS = 200, 300


class Contexts:
    """Assembles what earlier sessions left for this one.

    ``searches`` gives the search where an ordering needs it. ``overview`` says what the documents of a project answer.
    ``read_shared`` reads what others committed, for a project without memory, and tells whether anything came.
    ``files`` gives the person's own files in the vault of a project, each with its path.
    """

    def __init__(
        self,
        core: Core,
        searches: Callable[[], Search],
        *,
        usage: Usage,
        anchors: Anchors,
        overview: Callable[[str], Overview | None] | None = None,
        read_shared: Callable[[], bool] | None = None,
        files: Callable[[str], Iterable[tuple[str, str]]] = lambda project: (),
    ) -> None:
        self._store, self._journal, self._projects = core.store, core.journal, core.projects
        self._usage = usage
        self._zone = core.settings.zone
        self._gate, self._start = core.settings.gate, core.settings.start_mode
        self._tokens: dict[Mode, int] = {
            "query": core.settings.memory_budget_tokens,
            "full": core.settings.full_budget_tokens,
        }
        self._read_shared = read_shared
        self._files = files
        self._overview = overview
        self._vetting = VisibilityFilter(core.store, core.journal, anchors)
        self._providers = Providers(core.store, searches, self._vetting)
        self._query = QueryOrder(self._providers)
        self._answers = Cache[Context]()

    def assemble(
        self,
        project: str | None = None,
        *,
        scope: str | None = None,
        max_bytes: int | None = None,
        compact: bool = False,
        session_id: str | None = None,
        query: str | None = None,
        mode: str | None = None,
        budget_tokens: int | None = None,
        unasked: bool = False,
        all_projects: bool = False,
        looked_up: LookedUp | None = None,
    ) -> Context:
        """Return the sections of the memory in the order of ``mode``; rendering keeps them within the budget.

        ``session`` (the default without a query, unless ``start_mode`` says full) is a session's start, ``query`` what
        a prompt deserves unasked, ``cascade`` what is known about the query, ``full`` everything that fits. The budget
        is ``budget_tokens`` of four bytes or ``max_bytes``, whichever is smaller. ``unasked`` leaves out what only
        somebody who asks should see. The same question within ten seconds is answered from memory, unless anything was
        written.

        Raises InvalidArgumentError for an unknown mode or scope, and for a mode that needs a query without one.
        """
        ask, warnings = self._ask(
            project, scope, max_bytes, compact, session_id, query, mode, budget_tokens, all_projects
        )
        ask = replace(ask, looked_up=looked_up)
        key = self._key(ask, unasked=unasked)
        state = visible.written(self._store)  # counting what was shown does not change it
        context = self._answers.get(key, state=state, now=ask.now)
        if context is None:
            context = self._assembled(ask, (*warnings, *ask.place.warnings), unasked=unasked)
            if self._has_read_shared(ask):
                return self.assemble(
                    project, scope=scope, max_bytes=max_bytes, compact=compact, session_id=session_id, query=query,
                    mode=mode, budget_tokens=budget_tokens, unasked=unasked, all_projects=all_projects,
                )  # fmt: skip
            self._usage.surfaced(_shown(context))
            self._answers.keep(key, context, state=state, now=ask.now)
        return context

    def _key(self, ask: Ask, *, unasked: bool) -> Hashable:
        place = ask.place
        seen = (place.project, place.reads, place.source, place.commit, place.branch)
        return (
            ask.mode,
            seen,
            ask.query[:SAME_PROMPT_CHARS],
            ask.max_bytes,
            ask.scope,
            ask.compact,
            unasked,
        )

    def _has_read_shared(self, ask: Ask) -> bool:
        """Return whether others' commits brought the first memories of the project in which a session starts."""
        if ask.mode != "session" or not ask.place.project or self._read_shared is None:
            return False
        return not project_table.count_observations(self._store, ask.place.project) and self._read_shared()

    def _ask(
        self,
        project: str | None,
        scope: str | None,
        max_bytes: int | None,
        compact: bool,
        session_id: str | None,
        query: str | None,
        mode: str | None,
        budget_tokens: int | None,
        all_projects: bool,
    ) -> tuple[Ask, tuple[Told, ...]]:
        wanted = clean_scope(scope)
        text = (query or "")[:MOST_QUERY_CHARS].replace("\0", " ").encode("utf-8", "replace").decode().strip()
        chosen = _mode(mode or ("" if text else self._start), text)
        place = self._projects.for_read(project, session_id=session_id, all_projects=all_projects)
        if place.source == "none":  # a search may look everywhere; the memory of every project is nobody's context
            place = replace(place, reads=())
        limit, said = self._budget(chosen, max_bytes, budget_tokens)
        if text and chosen in ("session", "full"):
            said = (*said, reason("no_query_in_mode", mode=chosen))
        if chosen == "query" and self._gate == "llm":
            said = (*said, reason("gate_without_model"))
        ask = Ask(
            mode=chosen,
            place=place,
            max_bytes=limit,
            now=self._journal.moment(),
            zone=self._zone,
            project=project,
            session_id=session_id,
            scope=wanted,
            compact=compact,
            query=text,
        )
        return ask, said

    def _budget(self, mode: Mode, max_bytes: int | None, tokens: int | None) -> tuple[int, tuple[Told, ...]]:
        """Return the bytes an answer may have, and what was moved into range."""
        if mode == "session" and max_bytes is None and tokens is None:
            max_bytes = self._projects.preferences().context_tokens * 4
        default, least, most = TOKENS[mode]
        default = self._tokens.get(mode, default)
        held, said = most, _NOTHING_SAID
        if tokens is not None or max_bytes is None:
            held, said = clamp("budget_tokens", default if tokens is None else tokens, least, most)
        if max_bytes is None:
            return held * 4, said
        size, also_said = clamp("max_bytes", max_bytes, least * 4, most * 4)
        return min(size, held * 4), (*said, *also_said)

    def _assembled(self, ask: Ask, warnings: tuple[Told, ...], *, unasked: bool) -> Context:
        build = Build(ask, unasked=unasked or ask.mode == "query")
        unmerged: tuple[str, ...] = ()
        memories, section, cue = 0, None, None
        match ask.mode:
            case "session":
                from engram_py.guidance.context.session import session_sections

                sections = session_sections(self._store, self._providers, build)
                memories = visible.count_visible(self._store, ask.reads)
            case "query":
                sections, section, cue = self._query.sections(build, mode=self._gate)
                if build.findings.unmerged and not unasked and not any(one.items for one in sections[1:]):
                    unmerged = self._unmerged(ask)
            case "cascade" | "full":
                sections = self._read_on_purpose(build)
        if ask.mode != "session":
            most = _MOST_APART.get(ask.mode, len(build.findings.unchecked))
            apart = tuple(build.findings.told_apart(most))
            sections = (*sections, Section("unchecked", apart)) if apart else sections
        sections = _told_once(sections)
        new = ask.mode == "session" and bool(ask.place.project) and not any(one.items for one in sections)
        near = _within_budget(sections, max_bytes=ask.max_bytes, compact=ask.compact)
        self._vetting.look_at_files([item for item in near if isinstance(item, Observation)], build.findings)
        return Context(
            project=ask.place.project,
            project_source=ask.place.source,
            sections=sections,
            max_bytes=ask.max_bytes,
            mode=ask.mode,
            memories=memories,
            compact=ask.compact,
            remarks=build.findings.remarks,
            section=section,
            cue=cue,
            withheld=len(build.findings.withheld),
            unmerged=unmerged,
            today="" if ask.mode == "session" else ask.today.isoformat(),
            zone=ask.zone,
            warnings=warnings,
            documents=self._overview(ask.place.project) if self._overview and new else None,
        )

    def _read_on_purpose(self, build: Build) -> tuple[Section, ...]:
        from engram_py.guidance.context.prompt import cascade_sections, full_sections

        if build.ask.mode == "cascade":
            return cascade_sections(self._providers, build)
        files = (OwnFile(path, text) for path, text in self._files(build.ask.place.project))
        return (*full_sections(self._store, self._providers, build), Section("files", tuple(files)))

    def _unmerged(self, ask: Ask) -> tuple[str, ...]:
        """Return the branches of the memories that the prompt would get if they were merged."""
        build = Build(ask, unasked=True, unmerged=True)
        sections, _, _ = self._query.sections(build, mode=self._gate)
        rows = [item for section in sections[1:] for item in section.items if isinstance(item, Observation)]
        branches = build.findings.remarks.branches
        return tuple(branches[row.id] for row in rows if branches.get(row.id))


def _mode(mode: str | None, query: str) -> Mode:
    wanted = (mode or "").strip().lower() or ("query" if query else "session")
    for known in MODES:
        if wanted == known:
            if known in ("query", "cascade") and not query:
                raise InvalidArgumentError("query", query, expected=f"a text in mode {known}")
            return known
    raise InvalidArgumentError("mode", mode, expected=f"one of {', '.join(MODES)}")


def _told_once(sections: tuple[Section, ...]) -> tuple[Section, ...]:
    """Leave out the observations whose title and text another one has that stands before them."""
    told: set[tuple[str, str]] = set()

    def is_new(item: Item) -> bool:
        if not isinstance(item, Observation):
            return True
        text = (normalized(item.title), normalized(item.content))
        known = text in told
        told.add(text)
        return not known

    return tuple(replace(section, items=tuple(filter(is_new, section.items))) for section in sections)


def _within_budget(sections: tuple[Section, ...], *, max_bytes: int, compact: bool) -> list[Item]:
    """Return the items that the budget has room for, about; rendering counts to the byte."""
    room = max_bytes
    kept: list[Item] = []
    for section in sections:
        most = _TEXT_CHARS * max(1, section.lines)
        for item in section.items:
            text = item.summary or "" if isinstance(item, SessionLine) else item.content
            title = item.title if isinstance(item, Observation) else ""
            room -= _LINE_BYTES + len(title[:_TITLE_CHARS].encode())
            room -= 0 if compact and isinstance(item, Observation) else len(text[:most].encode())
            if room < 0:
                return kept
            kept.append(item)
    return kept


def _shown(context: Context) -> list[int]:
    """Return the observations that a reader is shown; of a session, the one that holds its summary."""
    items = _within_budget(context.sections, max_bytes=context.max_bytes, compact=context.compact)
    summaries = context.remarks.summaries
    rows = [item.id for item in items if isinstance(item, Observation)]
    return [*rows, *(summaries[item.id] for item in items if isinstance(item, SessionLine) and item.id in summaries)]
