"""The doctor: check the database, name the next step, and with ``fix`` repair what is derived."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from engram_py.base.clock import dated, due_before
from engram_py.base.database import backup, filesystem, health, mutation_queue
from engram_py.base.database.backup import FOLDER, Backups
from engram_py.base.database.compaction import log_bytes
from engram_py.base.database.errors import InvalidBackupError, StoreDamagedError, StoreForeignError, StoreTooNewError
from engram_py.base.database.store import Store
from engram_py.base.dataclass import replace
from engram_py.base.errors import InvalidArgumentError, StoreError
from engram_py.base.reasons import amount
from engram_py.base.times import passed, to_text
from engram_py.memory.projects.locate import locate
from engram_py.memory.projects.projects import Core, Identities
from engram_py.memory.writing.trust import arrivals
from engram_py.recall.vectors.vectors import Vectors
from engram_py.sharing.sync.autosync.table import TARGET, is_used
from engram_py.upkeep.distill.table import failures
from engram_py.upkeep.encryption import encryption_check
from engram_py.upkeep.hook_log import command_check, hooks_check
from engram_py.upkeep.reindex import reindex_notes
from engram_py.upkeep.values import Check, CheckResult, Report, check_of, evidence_of

# Checks of ours that are the same thing.
SAME = {"sqlite_lock_contention": "write_lock", "orphaned_observation_session": "orphans"}

_LIVE_DAYS, _STALE_DAYS = 7, 30
_FROM_GIT = ("git_binding", "git_remote", "git_root")

# name → (query for the rows that are wrong, the answer without any, what is wrong, the next step, the result)
_RULES: dict[str, tuple[str, str, str, str, CheckResult]] = {
    "manual_session_name_project_mismatch": (
        health.MISNAMED_MANUAL_SESSIONS,
        "every session of manual saves is in its project",
        "sessions of manual saves are in another project than their name says",
        "`engram get` shows a row's project; `engram projects merge OLD --into NEW` joins two",
        "warning",
    ),
    "invalid_session_identity": (
        health.BLANK_SESSIONS,
        "every session has a name",
        "a session's name is blank",
        "report it; `engram export` saves its memories",
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
        "every observation has the fields that a server needs",
        "observations lack a title, content, type or session, so a server refuses them",
        "`engram update ID --title …` fills in what is missing",
        "error",
    ),
    "sync_target_closed_space": (
        health.FOREIGN_TARGETS,
        "all state of sync is of the current server",
        "sync state of an old server remains",
        "`engram cloud status` shows the current server",
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
        """The checks by name."""
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
        return check_of(name, self._store.rows(sql, known=TARGET), fine, wrong, step=step, result=result)

    def _directories(self) -> Check:
        """Find sessions that an agent started in a repository of another project, the latest 200 places."""
        rows = self._store.rows(health.SESSION_PLACES)
        foreign = [row for row in rows if self._project_of(row["directory"]) not in (None, row["project"])]
        return check_of(
            "session_project_directory_mismatch",
            foreign,
            f"the sessions of {amount(len(rows), 'folder')} are in the folder's own project",
            f"{amount(len(foreign), 'folder')} had sessions of another project than their repository's",
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
        message = f"folders with several open sessions: {len(rows)}; this does no harm"
        return Check("ambiguous_active_runtime_sessions", "ok", message, evidence_of(rows))

    def _stale(self) -> Check:
        """Always ok: a session that is used again is simply open."""
        rows = self._store.rows(health.STALE_OPEN_SESSIONS, before=self._days_ago(_STALE_DAYS))
        message = f"{amount(len(rows), 'open session')} last used over {_STALE_DAYS} days ago; this does no harm"
        evidence = evidence_of(rows) | {"stale_count": len(rows), "threshold_days": _STALE_DAYS}
        return Check("stale_open_sessions", "ok", message, evidence)

    def _days_ago(self, days: int) -> str:
        return to_text(self._now() - timedelta(days=days))


LOW_DISK_BYTES = 100 * 1024 * 1024
NO_DISK_BYTES = 10 * 1024 * 1024
LARGE_WAL_BYTES = 64 * 1024 * 1024
_SYNC_QUIET_SECONDS = 86_400.0

_WAITING = """
select count(*), max(clock) from sync_apply_deferred where reason_code = 'dated_ahead' and clock >= :due
"""
_DATED_AHEAD = """
select sum(rows), max(latest), max(ids) from (
    select count(*) as rows, max(clock) as latest, substr(group_concat(id), 1, 100) as ids
    from observations where clock >= :due
    union all select count(*), max(clock), null from sessions where clock >= :due
    union all select count(*), max(clock), null from user_prompts where clock >= :due
    union all select count(*), max(clock), null from memory_relations where clock >= :due
)
"""


_FIX = "run `engram doctor --fix`"


class Doctor:
    """Checks the database. Reads only, unless asked to fix."""

    def __init__(self, core: Core, backups: Backups, vectors: Vectors) -> None:
        self._store, self._journal, self._settings = core.store, core.journal, core.settings
        self._backups = backups
        self._vectors = vectors
        self._identities = Identities(core.store, core.journal)
        self._engram = EngramChecks(core.store, self._identities, core.journal.moment)

    @property
    def _checks(self) -> dict[str, Callable[[], Check]]:
        return {
            "integrity": self._integrity,
            "texts": self._texts,
            "schema": self._schema,
            "search_index": self._search_index,
            "orphans": self._orphans,
            "projects": self._projects,
            "counts": self._counts,
            "permissions": self._permissions,
            "encryption": lambda: encryption_check(self._store.path.parent),
            "free_disk": self._free_disk,
            "write_lock": self._write_lock,
            "sync_queue": self._sync_queue,
            "clock": self._clock_check,
            "vectors": self._vectors_check,
            "command": command_check,
            "hooks": lambda: hooks_check(self._store, self._journal.moment()),
            "sync": self._sync,
            "distilling": self._distilling,
            "trust": self._trust,
            "set_aside": self._set_aside,
            "http": self._http,
        }

    def check_ids(self, *, engram: bool = False) -> tuple[str, ...]:
        """Return the names of the checks; ``engram``: and those of Engram's."""
        return (*self._checks, *self._engram.checks, *SAME) if engram else tuple(self._checks)

    def examine(self, *, check: str | None = None, fix: bool = False, engram: bool = False) -> Report:
        """Run all checks, or one. ``fix`` backs the file up, repairs what is derived, and checks again.

        Each check of Engram's can be asked for by its name; ``engram``: all of them are in the report as well.

        Raises InvalidArgumentError for a check that does not exist.
        """
        if check is not None and check not in self.check_ids(engram=True):
            raise InvalidArgumentError("check", check, expected=f"one of {', '.join(self._checks)}")
        wanted = [check] if check else self.check_ids(engram=engram)
        checks = [self._run(name) for name in wanted]
        broken = [check for check in checks if check.fixable and check.result != "ok"]
        backup = None
        if fix and broken:
            backup = self._backups.create(label="before-fix").path
            self._repair({SAME.get(check.check_id, check.check_id) for check in broken})
            repaired = {check.check_id: replace(self._run(check.check_id), fixed=True) for check in broken}
            checks = [repaired.get(check.check_id, check) for check in checks]
        results = {check.result for check in checks}
        status: CheckResult = "error" if "error" in results else "warning" if "warning" in results else "ok"
        return Report(status, str(self._store.path), tuple(checks), backup)

    def _run(self, name: str) -> Check:
        try:
            if name in SAME:
                return replace(self._checks[SAME[name]](), check_id=name)
            return (self._checks | self._engram.checks)[name]()
        except StoreError as exc:  # damaged, locked or full: a finding, and no reason to leave out the others
            return Check(name, "error", exc.message, {"error_code": exc.code}, exc.hint)

    def _repair(self, broken: set[str]) -> None:
        if "texts" in broken:
            health.mend_texts(self._store)
        if {"search_index", "schema", "texts"} & broken:
            health.rebuild_indexes(self._store)
        with self._store.transaction():
            if "orphans" in broken:
                self._adopt_orphans()
            if "projects" in broken:
                for row in self._store.rows(health.UNLISTED_PROJECTS):
                    self._identities.create(row[0])
            if "counts" in broken:
                mutation_queue.count_again(self._store)
        if "permissions" in broken:
            for path in self._private_paths():
                filesystem.tighten(path)

    def _adopt_orphans(self) -> None:
        now = self._journal.now()
        for row in self._store.rows(health.ORPHANED_OBSERVATIONS):
            if self._store.row("select 1 from sessions where id = :id", id=row["session_id"]) is None:
                clock = self._journal.stamp()
                values = {"id": row["session_id"], "project": row["project"], "directory": "(recovered)"}
                self._store.insert("sessions", values | {"started_at": now, "updated_at": now, "clock": clock})
                self._journal.changed("session", row["session_id"], project=row["project"], clock=clock)
        states = [(row, "orphaned") for row in self._store.rows(health.LOOSE_RELATIONS)]
        for row in self._store.rows(health.WHOLE_AGAIN_RELATIONS):
            states.append((row, "pending" if row["relation"] == "pending" else "judged"))
        for row, state in states:
            clock = self._journal.stamp()
            values = {"judgment_status": state, "updated_at": now, "clock": clock}
            self._store.update("memory_relations", {"id": row["id"]}, values)
            self._journal.changed("relation", row["sync_id"], project=row["project"], clock=clock)

    # --- the checks --------------------------------------------------------------------------------------

    def _integrity(self) -> Check:
        problems = health.integrity(self._store)
        if not problems:
            return Check("integrity", "ok", "the file is intact")
        step = "run `engram restore BACKUP` with an earlier backup; it keeps the damaged file"
        return Check(
            "integrity", "error", f"{amount(len(problems), 'problem')}: {problems[0]}", {"problems": problems}, step
        )

    def _texts(self) -> Check:
        names = [text.name for text in health.invalid_texts(self._store)]
        step = f"{_FIX}; it puts \N{REPLACEMENT CHARACTER} for each damaged byte; a backup may be intact"
        message = f"{amount(len(names), 'text')} not in UTF-8: {', '.join(names[:5])}"
        return _mendable("texts", "error", names[:20], "every text can be read", message, step)

    def _schema(self) -> Check:
        missing = health.missing_triggers(self._store)
        message = f"missing triggers: {', '.join(missing)}; searches miss new memories"
        step = f"{_FIX}; it recreates them and rebuilds the index"
        return _mendable("schema", "error", missing, "every trigger is there", message, step, named="missing")

    def _search_index(self) -> Check:
        step = f"{_FIX}; it rebuilds the index"
        damage = health.index_damage(self._store)
        if damage:
            return Check("search_index", "error", "; ".join(damage), {"damage": damage}, step, fixable=True)
        drift = health.index_drift(self._store)
        if not any(missing or extra for missing, extra in drift.values()):
            if notes := reindex_notes(self._store):
                return Check("search_index", "warning", "; ".join(notes), {}, "run `engram reindex`")
            return Check("search_index", "ok", "the search index is complete")
        parts = [
            f"{name}: missing" if missing < 0 else f"{name}: {amount(missing, 'row')} missing, {extra} too many"
            for name, (missing, extra) in drift.items()
        ]
        return Check("search_index", "error", "; ".join(parts), {"drift": drift}, step, fixable=True)

    def _orphans(self) -> Check:
        observations = self._store.rows(health.ORPHANED_OBSERVATIONS)
        relations = self._store.rows(health.LOOSE_RELATIONS)
        whole = self._store.rows(health.WHOLE_AGAIN_RELATIONS)
        orphaned = self._store.rows(health.ORPHANED_RELATIONS)
        by_kind = {
            ("observation", "without a session"): observations,
            ("relation", "without one of its memories"): relations,
            ("relation", "marked as orphaned, though both memories are here"): whole,
            ("orphaned relation", "to a memory that never arrived"): orphaned,
        }
        message = ", ".join(f"{amount(len(rows), thing)} {what}" for (thing, what), rows in by_kind.items() if rows)
        if not message:
            return Check("orphans", "ok", "no row lacks its session or its memories")
        evidence = {"observations": [row["id"] for row in observations[:20]], "relations": len(relations)}
        evidence |= {"whole_again": len(whole), "orphaned": [row["sync_id"] for row in orphaned[:20]]}
        fixable = bool(observations or relations or whole)
        mending = f"{_FIX}; it recreates sessions and updates relations"
        again = "import their source again (`engram import --from engram`, `engram sync --import`)"
        steps = [mending] * fixable + [again] * bool(orphaned)
        return Check("orphans", "warning", message, evidence, "\n".join(steps), fixable=fixable)

    def _projects(self) -> Check:
        unlisted = [row[0] for row in self._store.rows(health.UNLISTED_PROJECTS)]
        message = f"not in the list of projects: {', '.join(unlisted[:5])}"
        return _mendable("projects", "warning", unlisted, "every row's project is listed", message, _FIX)

    def _counts(self) -> Check:
        wrong = mutation_queue.wrong_counts(self._store)
        message = f"a stored count is wrong: {', '.join(wrong[:5])}"
        return _mendable("counts", "warning", wrong[:20], "every stored count is right", message, _FIX)

    def _permissions(self) -> Check:
        if os.name != "posix":
            return Check("permissions", "ok", "not checked on this platform")
        modes = {str(path): path.stat().st_mode & 0o777 for path in self._private_paths()}
        loose = {path: oct(mode) for path, mode in modes.items() if mode & 0o077}
        if not loose:
            return Check("permissions", "ok", "readable by you alone")
        message = f"other users may read {', '.join(loose)}"
        return Check("permissions", "warning", message, loose, _FIX, fixable=True)

    def _private_paths(self) -> list[Path]:
        return [self._store.path.parent, *filesystem.database_files(self._store.path)]

    def _free_disk(self) -> Check:
        free = shutil.disk_usage(self._store.path.parent).free
        evidence = {"free_bytes": free}
        size = f"{free / 1024 / 1024:,.0f} MB free"
        if free < NO_DISK_BYTES:
            return Check("free_disk", "error", size, evidence, "free some disk space: the next save may fail")
        if free < LOW_DISK_BYTES:
            return Check("free_disk", "warning", size, evidence, "free some disk space")
        return Check("free_disk", "ok", size, evidence)

    def _write_lock(self) -> Check:
        with self._store.transaction():
            pass
        size = log_bytes(self._store)
        if size > LARGE_WAL_BYTES:
            step = "close programs that read the database; the next write then shrinks the log"
            return Check("write_lock", "warning", f"the write-ahead log has {size:,} bytes", {"wal_bytes": size}, step)
        return Check("write_lock", "ok", "the file can be written", {"wal_bytes": size})

    def _sync_queue(self) -> Check:
        size = mutation_queue.queue_size(self._store)
        shared = f"a new machine would receive {amount(size, 'change')}" if is_used(self._store) else "sync is not used"
        return Check("sync_queue", "ok", shared, {"mutations": size})

    def _clock_check(self) -> Check:
        due = due_before(int(self._journal.moment().timestamp() * 1000))
        waiting, held = (self._store.tuples(sql, due=due)[0] for sql in (_WAITING, _DATED_AHEAD))
        parts: list[str] = []
        if waiting[0]:
            parts.append(
                f"{amount(waiting[0], 'change')} received with a future date; all apply by {dated(waiting[1])}"
            )
        if held[0]:
            parts.append(
                f"{amount(held[0], 'change')} here with a future date, up to {dated(held[1])}; "
                "other machines do not take them yet"
            )
        if not parts:
            return Check("clock", "ok", "no change is dated in the future")
        step = "check the clocks of your machines; `engram edit ID` gives a memory the current time"
        evidence = {"waiting": waiting[0], "held": held[0], "observations": held[2] or ""}
        return Check("clock", "warning", "; ".join(parts), evidence, step)

    def _sync(self) -> Check:
        from engram_py.sharing.sync.autosync.service import cloud_status

        status = cloud_status(self._store, self._journal, self._settings)
        evidence: dict[str, object] = {
            "server": status.server,
            "phase": status.phase,
            "reason_code": status.reason_code,
        }
        evidence |= {"set_aside": status.set_aside_total, "deferred": status.deferred, "dead": status.dead}
        if not status.server:
            return Check("sync", "ok", "not logged in to a server; nothing is sent anywhere", evidence)
        if status.reason_code:
            return Check("sync", "warning", f"{status.server}: {status.reason_message}", evidence, status.next_step)
        if status.set_aside_total:
            message = f"{amount(status.set_aside_total, 'change')} refused; the rest is in step with {status.server}"
            return Check("sync", "warning", message, evidence, "`engram cloud status` lists them with the reason")
        if not status.projects:
            step = "run `engram cloud enroll PROJECT`"
            return Check("sync", "ok", f"logged in to {status.server}; no project is enrolled", evidence, step)
        stale = status.enabled and passed(status.last_success_at, self._journal.moment(), seconds=_SYNC_QUIET_SECONDS)
        if stale and status.pending:
            message = f"{amount(status.pending, 'change')} not sent; {status.server} was not reached for a day"
            return Check("sync", "warning", message, evidence, "`engram sync --cloud` tries again and shows the error")
        message = (
            f"{amount(status.pending, 'change')} waiting to be sent"
            if status.pending
            else f"in step with {status.server}"
        )
        return Check("sync", "ok", message, evidence)

    def _trust(self) -> Check:
        unchecked = [arrival for arrival in arrivals(self._store) if not arrival.trusted and arrival.rows]
        if not unchecked:
            return Check("trust", "ok", "every memory is your own, or comes from somebody you trust")
        evidence = {f"{arrival.source} {arrival.name}".strip(): arrival.rows for arrival in unchecked}
        rows = sum(arrival.rows for arrival in unchecked)
        message = f"{amount(rows, 'memory')} from elsewhere shown as not checked"
        return Check("trust", "ok", message, evidence, "`engram trust` lists their authors, and trusts them")

    def _set_aside(self) -> Check:
        """Name the files of memories and chunks that a sync could not read, and why."""
        return check_of(
            "set_aside",
            self._store.rows(health.SET_ASIDE),
            "every file of a repository's memory could be read",
            "files of a repository's memory that no sync can read; the others are read",
            step="mend or remove them, then run `engram sync` there",
        )

    def _distilling(self) -> Check:
        rows = failures(self._store)
        if not rows:
            return Check("distilling", "ok", "no session summary failed")
        evidence = {row["id"]: row["distill_detail"] for row in rows}
        given_up = sum(row["distill_state"] == "dead" for row in rows)
        message = f"{amount(len(rows), 'session summary')} failed; given up: {given_up}"
        step = f"run `engram flush {rows[0]['id']}`; check the settings distill_command and distill_url"
        return Check("distilling", "warning", message, evidence, step)

    def _http(self) -> Check:
        if not self._settings.http_open:
            return Check(
                "http", "ok", "`engram serve` answers only requests with a token, and this user's own programs"
            )
        message = "ENGRAM_HTTP_OPEN is on: `engram serve` answers every user of this machine without a token"
        step = "if other people use this machine, unset ENGRAM_HTTP_OPEN, or http_open in config.json"
        return Check("http", "warning", message, {"http_open": True}, step)

    def _vectors_check(self) -> Check:
        vectors = self._vectors
        if not vectors.enabled:
            command = "engram vectors on" + (" multilingual" if vectors.fitting == "multilingual" else "")
            return Check("vectors", "ok", f"vectors are off: searches use words only; `{command}` turns them on")
        state = vectors.state(ask=True)
        evidence = {name: getattr(state, name) for name in ("embedder", "runtime", "done", "observations")}
        if state.problem is not None:
            message = f"searches use words only: {state.problem}"
            return Check("vectors", "warning", message, evidence, state.hint)
        runs = f", which runs on {state.runtime}" if state.runtime else ""
        lack = f"{state.lacking:,} of {state.observations + state.documents:,} texts lack vectors from {state.embedder}"
        message = f"vectors are on: {lack}{runs}"
        if state.host and not vectors.private:
            step = "use https://, or a model on this machine"
            return Check("vectors", "warning", f"{message}; texts go unencrypted to {state.host}", evidence, step)
        if state.misfits:
            message += "; `engram vectors on multilingual` reads the language of the latest prompts too"
        return Check("vectors", "ok", message + (f"; texts go to {state.host}" if state.host else ""), evidence)


def _mendable(
    name: str, result: CheckResult, found: list[str], fine: str, wrong: str, step: str, *, named: str = ""
) -> Check:
    """Return the check with the message ``fine`` if nothing was ``found``, else ``wrong``; ``named`` is the key of its
    evidence."""
    return Check(name, result, wrong, {named or name: found}, step, fixable=True) if found else Check(name, "ok", fine)


def report_unopened(data_dir: Path, error: StoreError) -> Report:
    """Return a report for a file that cannot be opened; for a damaged one it names the newest sound backup."""
    match error:
        case StoreDamagedError():
            check_id, step = "integrity", _way_back(data_dir / FOLDER)
        case StoreTooNewError() | StoreForeignError():
            check_id, step = "schema", error.hint
        case _:
            check_id, step = error.code, error.hint
    check = Check(check_id, "error", error.message, error.details(), step)
    return Report("error", str(data_dir / filesystem.DATABASE_NAME), (check,))


def _way_back(folder: Path) -> str:
    for path in sorted(folder.glob("*.db"), key=lambda path: path.stat().st_mtime, reverse=True):
        try:
            observations = backup.check_backup(path, folder.parent)
        except InvalidBackupError:
            continue
        size = amount(observations, "observation")
        return f"run `engram restore {path}` (an intact backup of {size}); the damaged file is kept"
    return f"{folder} has no intact backup; `engram restore FILE` takes one from elsewhere"
