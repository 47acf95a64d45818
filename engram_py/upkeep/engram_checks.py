"""The doctor's checks under Engram's names, for scripts that were written for Engram."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from engram_py.database import health
from engram_py.database.store import Row, Store
from engram_py.projects.identities import Identities
from engram_py.projects.locate import locate
from engram_py.sync.autosync.table import TARGET
from engram_py.times import to_text
from engram_py.upkeep.values import Check, CheckResult

# Checks of ours that are the same thing.
SAME = {"sqlite_lock_contention": "write_lock", "orphaned_observation_session": "orphans"}

_LIVE_DAYS, _STALE_DAYS = 7, 30
_SHOWN = 20
_FROM_GIT = ("git_binding", "git_remote", "git_root")

# name → (query for the rows that are wrong, the answer without any, what is wrong, the next step, the result)
_RULES: dict[str, tuple[str, str, str, str, CheckResult]] = {
    "manual_session_name_project_mismatch": (
        health.MISNAMED_MANUAL_SESSIONS,
        "every session manual-save-NAME is in project NAME",
        "sessions manual-save-NAME are in another project than NAME",
        "`engram get` shows a row's project; `engram projects merge OLD --into NEW` joins two",
        "warning",
    ),
    "invalid_session_identity": (
        health.BLANK_SESSIONS,
        "every session has a name",
        "a session's name is blank",
        "report it; `engram export` keeps its rows",
        "error",
    ),
    "unowned_session_project": (
        health.UNOWNED_SESSIONS,
        "every session has a project",
        "sessions have no project",
        "start them again in the folder of their project",
        "warning",
    ),
    "sync_mutation_required_fields": (
        health.INCOMPLETE_OBSERVATIONS,
        "every observation has what a server asks for",
        "observations lack a title, content, type or session, so a server refuses them",
        "`engram update ID --title …` fills in what is missing",
        "error",
    ),
    "sync_target_closed_space": (
        health.FOREIGN_TARGETS,
        "the state of sync is that of the one server there is",
        "there is state of a server that nothing syncs with",
        "`engram sync --status` shows what is in use",
        "error",
    ),
}


class EngramChecks:
    """Engram's checks of sessions and sync, on this memory's rows."""

    def __init__(self, store: Store, identities: Identities, now: Callable[[], datetime]) -> None:
        self._store = store
        self._identities = identities
        self._now = now

    @property
    def checks(self) -> dict[str, Callable[[], Check]]:
        """Every check by its name."""
        rules: dict[str, Callable[[], Check]] = {name: partial(self._found, name) for name in _RULES}
        first, *_ = rules
        return {
            "session_project_directory_mismatch": self._directories,
            first: rules[first],
            "ambiguous_active_runtime_sessions": self._several_active,
            "stale_open_sessions": self._stale,
            **rules,
        }

    def _found(self, name: str) -> Check:
        sql, fine, wrong, step, result = _RULES[name]
        return _check(name, self._store.rows(sql, known=TARGET), fine, wrong, step=step, result=result)

    def _directories(self) -> Check:
        """Find sessions that an agent started in a repository of another project, the latest 200 places."""
        rows = self._store.rows(health.SESSION_PLACES)
        found = [row for row in rows if self._project_of(row["directory"]) not in (None, row["project"])]
        return _check(
            "session_project_directory_mismatch",
            found,
            f"the sessions of {len(rows)} folder(s) are in the folder's own project",
            f"{len(found)} folder(s) had sessions of another project than their repository's",
            step="`engram projects merge OLD --into NEW` joins two names of one project",
        )

    def _project_of(self, directory: str) -> str | None:
        path = Path(directory)
        if not path.is_absolute() or not path.is_dir():
            return None
        location = locate(path)
        return self._identities.owner(location) if location.source in _FROM_GIT else None

    def _several_active(self) -> Check:
        """Always ok: a save without a session goes to its own process's."""
        rows = self._store.rows(health.SEVERAL_OPEN_SESSIONS, since=self._days_ago(_LIVE_DAYS))
        said = f"{len(rows)} folder(s) have several open sessions; no save depends on it"
        return Check("ambiguous_active_runtime_sessions", "ok", said, _evidence(rows))

    def _stale(self) -> Check:
        """Always ok: a session that is used again is simply open."""
        rows = self._store.rows(health.STALE_OPEN_SESSIONS, before=self._days_ago(_STALE_DAYS))
        said = f"{len(rows)} open session(s) were last used over {_STALE_DAYS} days ago; that harms nothing"
        evidence = _evidence(rows) | {"stale_count": len(rows), "threshold_days": _STALE_DAYS}
        return Check("stale_open_sessions", "ok", said, evidence)

    def _days_ago(self, days: int) -> str:
        return to_text(self._now() - timedelta(days=days))


def _check(name: str, rows: list[Row], fine: str, wrong: str, *, step: str, result: CheckResult = "warning") -> Check:
    return (
        Check(name, result, f"{len(rows)} found: {wrong}", _evidence(rows), step) if rows else Check(name, "ok", fine)
    )


def _evidence(rows: list[Row]) -> dict[str, object]:
    return {"found": [dict(row) for row in rows[:_SHOWN]]}
