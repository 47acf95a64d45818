"""The files observations are about: recorded when they are saved, compared with the working tree when they are
read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from engram_py.anchors import table
from engram_py.anchors.places import Here
from engram_py.anchors.states import local_states, never_was
from engram_py.anchors.values import MOST_ANCHORS, NOT_HERE_YET, ONLY_ON, Anchor, AnchorState, Visibility
from engram_py.anchors.worktree import Unread, place_file, slashed
from engram_py.database.journal import Journal
from engram_py.database.store import Store
from engram_py.git.answers import GitAnswers
from engram_py.git.program import TIMEOUT_SECONDS, Deadline
from engram_py.observations.values import Observation, Outcome
from engram_py.projects.projects import Projects

# Imported where they are needed: most searches show nothing that changed, most saves name no file.
if TYPE_CHECKING:
    from engram_py.anchors.record import Observed
    from engram_py.anchors.report_values import Checked, StaleLine

_UNJUDGED = Visibility("unknown")


class Anchors:
    """What became of the code that observations are about, as seen from the working directory.

    Nothing here fails for what a repository or a file is like: what cannot be told is ``unknown``, with the reason.
    """

    def __init__(self, store: Store, journal: Journal, projects: Projects) -> None:
        self._store = store
        self._journal = journal
        self._projects = projects
        self._answers = GitAnswers(store, journal)

    def states(
        self, rows: Sequence[Observation], *, patience: float = TIMEOUT_SECONDS
    ) -> dict[int, tuple[AnchorState, ...]]:
        """The state of every anchor of the rows that have any, by the row's id.

        Rows of another project than that of the repository here are ``unknown``, and so is what is not here of a row
        that was made on a branch which is not merged. ``patience`` is how long git may
        take, in seconds, where something changed; without it (0) what git said before is used, and nobody is named.
        """
        anchors = table.of_observations(self._store, [row.id for row in rows])
        if not anchors:
            return {}
        here = self._here()
        found: dict[int, tuple[AnchorState, ...]] = {}
        mine: list[Anchor] = []
        for row in rows:
            if row.id in anchors:
                found[row.id] = local_states(anchors[row.id], here.tree_of(row.project))
                if here.tree_of(row.project):
                    mine += anchors[row.id]
        if (
            here.repository is None
            or here.tree is None
            or not any(state.stale for states in found.values() for state in states)
        ):
            return found
        from engram_py.anchors.settle import settle

        asking = Deadline(patience)
        found |= settle(mine, found, here.repository, here.tree, self._answers, asking)
        stale = [row for row in rows if any(state.stale for state in found.get(row.id, ()))]
        branched = [row for row in stale if row.git_branch not in (None, here.repository.branch)]
        seen = self._visibility(branched, asking)
        why = {row: f"{ONLY_ON}{where.label}" for row, where in seen.items() if where.elsewhere and where.branch}
        why |= {row: NOT_HERE_YET for row, where in seen.items() if where.reason == NOT_HERE_YET}
        return found | {row: never_was(reason, found[row]) for row, reason in why.items()}

    def observe(self, files: Sequence[str], content: str) -> Observed | None:
        """Read the files that are listed and those the content's Where line names. To be called before the
        transaction that ``record``s it: no other process should wait while files are read."""
        if not files and "where" not in content.lower():
            return None
        from engram_py.anchors.record import observe

        return observe(files, content, self._here())

    def record(self, row: int, project: str, observed: Observed | None, outcome: Outcome) -> tuple[str, ...]:
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
        from engram_py.anchors.record import NOTHING, renewed

        here = self._here()
        self._write(row, renewed(observed or NOTHING, old, project, here))
        if fresh and here.repository is not None and here.repository_of(project) is None:
            notes = (*notes, f"files were kept by name: this is not the repository of {project}")
        return notes

    def confirmed(self, row: Observation) -> list[dict[str, Any]]:
        """The anchors of an observation that somebody says still holds, as its files are now; for ``rewrite``."""
        anchors = table.of_observations(self._store, [row.id]).get(row.id, ())
        if not anchors:
            return []
        from engram_py.anchors.record import present

        return list(present(anchors, self.states([row])[row.id], self._here()))

    def rewrite(self, row: int, anchors: Sequence[dict[str, Any]]) -> None:
        """Replace an observation's anchors by what ``confirmed`` answered. Call inside a transaction."""
        if anchors or table.of_observations(self._store, [row]):
            self._write(row, anchors)

    def _write(self, row: int, anchors: Sequence[dict[str, Any]]) -> None:
        now = self._journal.now()
        table.replace(self._store, row, [one | {"recorded_at": now} for one in anchors[:MOST_ANCHORS]])

    def visibility(self, rows: Sequence[Observation], *, patience: float = TIMEOUT_SECONDS) -> dict[int, Visibility]:
        """Whether each row's commit is in the history of HEAD, by the row's id; ``patience`` as in ``states``."""
        return self._visibility(rows, Deadline(patience))

    def _visibility(self, rows: Sequence[Observation], asking: Deadline) -> dict[int, Visibility]:
        found = {row.id: _UNJUDGED for row in rows}
        candidates = [row for row in rows if row.git_commit and row.scope == "project"]
        if not candidates:
            return found
        here = self._here()
        judged = [row for row in candidates if here.repository_of(row.project)]
        repository = here.repository
        if repository is None or not judged:
            return found
        from engram_py.anchors.visibility import (
            NOT_COMMITTED,
            ancestry_of,
            commits_to_ask,
            held_by,
            judge,
            never_here,
            of_deleted,
            of_thrown_away,
        )
        from engram_py.git.history import branch_exists

        held = held_by(judged, repository)
        known = ancestry_of(repository, commits_to_ask(held.values(), repository), self._answers, asking)
        known[NOT_COMMITTED] = "other"
        is_branch = cache(lambda branch: branch_exists(repository, branch))
        foreign = [row.id for row in judged if known.get(held[row.id]) in ("other", "missing")]
        anchors = table.of_observations(self._store, foreign) if foreign else {}
        for row in judged:
            states = local_states(anchors.get(row.id, ()), here.tree)
            found[row.id] = judge(row, held[row.id], repository, known, states, is_branch)
        deleted = {
            row.id: row.git_branch for row in judged if row.git_branch and found[row.id] == of_deleted(row.git_branch)
        }
        about = {one: anchors[one] for one in deleted if one in anchors}
        if about and here.tree is not None:
            away = never_here(about, repository, here.tree, self._answers, asking)
            found |= {one: of_thrown_away(deleted[one], repository) for one in away}
        return found

    def of_file(
        self,
        path: str,
        *,
        limit: int = 100,
        projects: Sequence[str] | None = None,
        patience: float = TIMEOUT_SECONDS,
    ) -> list[int]:
        """Ids of the live observations anchored to ``path``: relative to the repository, a part of it from a slash
        on (``auth.py``), absolute, or a folder ending in ``/``. Exact paths first, then the newest, then those of what
        got this name since; ``patience`` as in ``states``.

        ``projects`` are those to look into, all when it is None.
        """
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
        found = find(self._store, wanted, projects=projects, limit=limit)
        here = self._here()
        if here.repository is None:
            return found
        from engram_py.anchors.git_search import trace
        from engram_py.anchors.moves import moved_below, moved_to

        states = partial(self.states, patience=patience)
        traces = partial(trace, here.repository, answers=self._answers, patience=Deadline(patience))
        follow = moved_below if folder else moved_to
        moved = follow(self._store, wanted, here, states, traces, projects=projects, limit=limit)
        return [*dict.fromkeys([*found, *moved])][:limit]

    def check(self, project: str | None = None) -> Checked:
        """Compare everything a project's observations are about with the working tree."""
        from engram_py.anchors.check import CHECK_SECONDS, check

        place = self._projects.for_read(project)
        return check(self._store, place, self._here(), partial(self.states, patience=CHECK_SECONDS))

    def stale(
        self, projects: Sequence[str] | None, *, without: Sequence[int] = (), limit: int
    ) -> tuple[StaleLine, ...]:
        """Observations whose files changed under them, the newest first: of the project of the repository here, where
        that is one of ``projects``."""
        from engram_py.anchors.check import stale_lines

        return stale_lines(self._store, projects, self._here(), self.states, without=without, limit=limit)

    def _here(self) -> Here:
        return Here(self._store, self._journal, self._projects)
