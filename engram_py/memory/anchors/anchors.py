"""The files observations are about: recorded when they are saved, compared with the working tree when they are
read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from engram_py.base.git.answers import GitAnswers
from engram_py.base.git.program import TIMEOUT_SECONDS, Deadline
from engram_py.base.reasons import Told, reason
from engram_py.memory.anchors import table
from engram_py.memory.anchors.values import MOST_ANCHORS, Checked, FileTexts, StaleLine, Visibility
from engram_py.memory.observations.values import AnchorState, Observation, Outcome
from engram_py.memory.projects.projects import Core

# Imported where they are needed: most searches show nothing that changed, most saves name no file.
if TYPE_CHECKING:
    from engram_py.memory.anchors.record import ObservedFiles
    from engram_py.memory.anchors.worktree import CurrentRepository

_MOST_CHECKED = 10_000  # observations of one check
_CHECK_SECONDS = 30.0  # for git, when somebody asked for a check and waits for it
_MOST_REVIEWED = 2_000  # of a list of what is due, which somebody waits for


class Anchors:
    """Checks the files that observations are about, as seen from the working directory.

    Nothing here fails for what a repository or a file is like: what cannot be told is ``unknown``, with the reason.
    """

    def __init__(self, core: Core) -> None:
        self._store, self._journal, self._projects = core.store, core.journal, core.projects
        self._answers = GitAnswers(core.store, core.journal)

    def states(
        self, rows: Sequence[Observation], *, git_seconds: float = TIMEOUT_SECONDS
    ) -> dict[int, tuple[AnchorState, ...]]:
        """Return the state of every anchor of the rows that have any, by the row's id.

        Rows of another project than that of the repository here are ``unknown``, and so is what is not here of a row
        that was made on a branch which is not merged. ``git_seconds`` is how long git may
        take, in seconds, where something changed; without it (0) what git said before is used, and nobody is named.
        """
        return self._states(rows, Deadline(git_seconds))

    def texts(self, row: Observation, states: Sequence[AnchorState]) -> tuple[FileTexts, ...]:
        """Return both texts of each file that is stale in ``states``, which are those of ``row``."""
        anchors = table.of_observations(self._store, [row.id]).get(row.id, ())
        here, deadline = self._here(), Deadline()
        repository, tree = here.repository_of(row.project), here.tree_of(row.project)
        if repository is None or tree is None or len(anchors) != len(states):
            return ()
        from engram_py.memory.anchors.moved_files import texts_of

        pairs = zip(anchors, states, strict=True)
        return tuple(texts_of(anchor, state, repository, tree, deadline) for anchor, state in pairs if state.stale)

    def _states(
        self, rows: Sequence[Observation], deadline: Deadline, here: CurrentRepository | None = None
    ) -> dict[int, tuple[AnchorState, ...]]:
        anchors = table.of_observations(self._store, [row.id for row in rows])
        if not anchors:
            return {}
        from engram_py.memory.anchors.states import local_states, refined_states, unmerged_states

        here = here or self._here()
        rows = [row for row in rows if row.id in anchors]
        states = {row.id: local_states(anchors[row.id], here.tree_of(row.project)) for row in rows}
        repository, tree = here.repository, here.tree
        if repository is None or tree is None or not any(state.stale for some in states.values() for state in some):
            return states
        mine = {row.id: anchors[row.id] for row in rows if here.tree_of(row.project)}
        states |= refined_states(mine, states, repository, tree, self._answers, deadline)
        stale = [row for row in rows if any(state.stale for state in states[row.id])]
        branched = [row for row in stale if row.git_branch not in (None, repository.branch)]
        for row, where in self._visibility(branched, deadline, here).items():
            if where.elsewhere and where.branch:
                states[row] = unmerged_states(reason("only_on_branch", branch=where.label), states[row])
            elif where.reason == "not_in_history":
                states[row] = unmerged_states(reason("not_in_history"), states[row])
        return states

    def observe(self, files: Sequence[str], content: str) -> ObservedFiles | None:
        """Read the files that are listed and those the content's Where line names. To be called before the
        transaction that ``record``s it: no other process should wait while files are read."""
        if not files and "where" not in content.lower():
            return None
        from engram_py.memory.anchors.record import observe

        return observe(files, content, self._here())

    def record(self, row: int, project: str, observed: ObservedFiles | None, outcome: Outcome) -> tuple[Told, ...]:
        """Tie an observation to what was observed when its text was written. Call inside a transaction.

        A text that was rewritten is about the files it names now: those of its Where line replace the earlier ones,
        listed ones stay, as they are now, unless others were listed. A repeated text without files changes nothing.
        The answer is what to tell whoever saved it.
        """
        notes = observed.notes if observed is not None else ()
        fresh = observed is not None and bool(observed.anchors)
        look = outcome == "updated" or (outcome == "duplicate" and fresh)
        old = table.of_observations(self._store, [row]).get(row, ()) if look else ()
        if not fresh and not old:
            return notes
        from engram_py.memory.anchors.record import NOTHING, renewed

        here = self._here()
        self._write(row, renewed(observed or NOTHING, old, project, here))
        if fresh and here.repository is not None and here.repository_of(project) is None:
            notes = (*notes, reason("other_repository", project=project))
        return notes

    def confirmed(self, row: Observation) -> list[dict[str, Any]]:
        """Return the anchors of an observation that still holds, as its files are now, for ``rewrite``."""
        anchors = table.of_observations(self._store, [row.id]).get(row.id, ())
        if not anchors:
            return []
        from engram_py.memory.anchors.record import present

        return list(present(anchors, self.states([row])[row.id], self._here()))

    def rewrite(self, row: int, anchors: Sequence[dict[str, Any]]) -> None:
        """Replace an observation's anchors by what ``confirmed`` answered. Call inside a transaction."""
        if anchors or table.of_observations(self._store, [row]):
            self._write(row, anchors)

    def _write(self, row: int, anchors: Sequence[dict[str, Any]]) -> None:
        now = self._journal.now()
        table.replace(self._store, row, [anchor | {"recorded_at": now} for anchor in anchors[:MOST_ANCHORS]])

    def visibility(self, rows: Sequence[Observation], *, git_seconds: float = TIMEOUT_SECONDS) -> dict[int, Visibility]:
        """Return whether each row's commit is in the history of HEAD, by the row's id."""
        return self._visibility(rows, Deadline(git_seconds))

    def _visibility(
        self, rows: Sequence[Observation], deadline: Deadline, here: CurrentRepository | None = None
    ) -> dict[int, Visibility]:
        if not any(row.git_commit and row.scope == "project" for row in rows):
            return {row.id: Visibility("unknown") for row in rows}
        from engram_py.memory.anchors.visibility import visibility_of

        return visibility_of(rows, here or self._here(), self._store, self._answers, deadline)

    def of_file(
        self,
        path: str,
        *,
        limit: int = 100,
        projects: Sequence[str] | None = None,
        deadline: Deadline | None = None,
    ) -> list[int]:
        """Return the ids of the live observations anchored to ``path``: relative to the repository, a part of it from a
        slash on (``auth.py``), absolute, or a folder ending in ``/``. Exact paths first, then the newest, then those of
        what got this name since, as far as git tells before the ``deadline``.

        ``projects`` are those to look into, all when it is None.
        """
        from engram_py.memory.anchors.worktree import Unread, place_file, slashed

        wanted = slashed(path)
        if not wanted or limit < 1:
            return []
        if PurePath(path).is_absolute():
            here = self._here()
            placed = place_file(path, here.directory, here.repository) if here.repository else Unread("no repository")
            if isinstance(placed, Unread):
                return []
            wanted = placed.path
        folder = wanted.endswith("/")
        find = table.of_folder if folder else table.of_file
        ids = find(self._store, wanted, projects=projects, limit=limit)
        here = self._here()
        if here.repository is None:
            return ids
        from engram_py.memory.anchors.moved_files import Moves
        from engram_py.memory.anchors.trace import trace

        deadline = deadline or Deadline()
        states = partial(self._states, deadline=deadline)
        traces = partial(trace, here.repository, answers=self._answers, deadline=deadline)
        moves = Moves(self._store, here, states, traces, projects=projects, limit=limit)
        moved = moves.into_folder(wanted) if folder else moves.into_file(wanted)
        return [*dict.fromkeys([*ids, *moved])][:limit]

    def check(self, project: str | None = None) -> Checked:
        """Compare everything a project's observations are about with the working tree."""
        place, here = self._projects.for_read(project), self._here()
        rows = table.anchored(self._store, place.project, limit=_MOST_CHECKED + 1)
        warnings = list(place.warnings)
        if len(rows) > _MOST_CHECKED:
            rows = rows[:_MOST_CHECKED]
            warnings.append(reason("newest_checked", limit=_MOST_CHECKED))
        if rows and here.repository_of(place.project) is None:
            warnings.append(reason("repository_not_here", project=place.project))
        by_id = self._states(rows, Deadline(_CHECK_SECONDS), here)
        every = [state for states in by_id.values() for state in states]
        return Checked(
            project=place.project,
            observations=len(by_id),
            anchors=len(every),
            states=dict(sorted(Counter("elsewhere" if state.elsewhere else state.state for state in every).items())),
            stale=_stale_lines(rows, by_id, lambda state: state.stale),
            warnings=tuple(warnings),
            elsewhere=_stale_lines(rows, by_id, lambda state: state.elsewhere),
        )

    def stale(
        self, projects: Sequence[str] | None, *, without: Sequence[int] = (), limit: int
    ) -> tuple[StaleLine, ...]:
        """Return the observations whose files changed under them, the newest first: of the project of the repository
        here, where that is one of ``projects``."""
        if limit < 1:
            return ()
        here = self._here()
        names = [name for name in sorted(here.names) if projects is None or name in projects]
        rows = [row for name in names for row in table.anchored(self._store, name, limit=_MOST_REVIEWED)]
        rows = [row for row in rows if row.id not in without]
        return _stale_lines(rows, self._states(rows, Deadline(), here), lambda state: state.stale)[:limit]

    def _here(self) -> CurrentRepository:
        from engram_py.memory.anchors.worktree import CurrentRepository

        return CurrentRepository(self._store, self._journal, self._projects)


def _stale_lines(
    rows: Sequence[Observation],
    states: Mapping[int, Sequence[AnchorState]],
    wanted: Callable[[AnchorState], bool],
) -> tuple[StaleLine, ...]:
    lines = []
    for row in rows:
        if some := tuple(filter(wanted, states.get(row.id, ()))):
            lines.append(StaleLine(row.id, row.title, row.type, row.project, row.review_after, row.updated_at, some))
    return tuple(lines)
