"""Keep the commands that failed and what made them pass, and tell it when the same error returns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from engram_py.base.capture.acts import Act
from engram_py.base.lazy import regex
from engram_py.guidance.failures import table
from engram_py.memory.projects.projects import Core

if TYPE_CHECKING:
    from engram_py.guidance.failures.fixes import Advice, Explained, Fixes, FixLine
    from engram_py.guidance.failures.signature import Signature
    from engram_py.guidance.ledger.moments import Moments
    from engram_py.memory.projects.values import Place

_COMMAND_CHARS, _NAME_CHARS = 1_000, 300
_ASKED_SECONDS = 5.0  # for git, when a person waits
_BEFORE = regex(r"^(?:cd\s+(\S+)\s*(?:&&|;)\s*|(?:[A-Za-z_]\w*=(?:'[^']*'|\"[^\"]*\"|\S*)\s+))+")
_AFTER = regex(r"(?:\s+2>&1)+$")
# What only looks: it mends nothing, unless what it prints is written somewhere.
_LOOKS = """
ls cat head tail grep rg ag find fd pwd echo printf which type file stat wc tree less more diff cd man env printenv ps
sleep true date whoami du df test
"""
_GIT_LOOKS = "status log diff show blame grep branch remote rev-parse ls-files describe"
_READERS, _GIT_READERS = frozenset(_LOOKS.split()), frozenset(_GIT_LOOKS.split())


class Failures:
    """Keeps the failures of this machine; ``fixes`` are kept as observations, and asked when a command fails.

    A hook asks of every command: until one fails, that is a look at one index.
    """

    def __init__(self, core: Core, moments: Callable[[], Moments], fixes: Callable[[], Fixes]) -> None:
        self._store, self._journal, self._projects = core.store, core.journal, core.projects
        self._moments, self._fixes = moments, fixes

    # --- what hooks tell ---------------------------------------------------------------------------------

    def did(self, act: Act, *, session_id: str) -> None:
        """Keep that something is done while commands of the session fail."""
        failing = table.still_failing(self._store, session_id)
        if not failing:
            return
        command = command_of(act.command)
        done = [("file", _redacted(name)[:_NAME_CHARS]) for name in act.files]
        done += [("command", _one_line(act.command))] if _may_change_anything(act.command) else []
        with self._store.transaction():
            for row in failing:
                for kind, name in done if command != row["command"] else ():
                    table.repaired(self._store, row["id"], kind, name, self._journal.now())

    def failed(self, act: Act, output: str, *, session_id: str, directory: Path, until: float) -> Advice | None:
        """Keep a failure; return what is known of its error while the session was not ``told`` it."""
        from engram_py.guidance.failures.signature import signature_of

        command = command_of(act.command)
        found = _without_secrets(signature_of(output, command)) if command else None
        if found is None or found.is_nothing:
            self._no_repair(act, session_id)
            return None
        place = self._projects.for_read(session_id=session_id)
        advice = self._fixes().explained(found, place, until).advice
        first = advice.observation_ids[0] if advice else None
        with self._store.transaction():
            table.not_repaired(self._store, session_id, _one_line(act.command))
            self._keep(found, session_id, command, _folder(act.command, directory), place, first)
        return self._once(advice, session_id) if advice else None

    def passed(self, act: Act, *, session_id: str, directory: Path, until: float) -> None:
        """Close the failures of a command that passes now, keep what was done meanwhile, and what came of advice."""
        failing = table.still_failing(self._store, session_id)
        command = command_of(act.command) if failing else ""
        if not any(row["command"] == command for row in failing):
            return
        for failure in table.of_command(self._store, session_id, command, _folder(act.command, directory)):
            if failure.passed_at is not None:
                continue
            if failure.observation_id is not None:
                self._moments().came(session_id, failure.observation_id, "fix", "heeded")
            form = _one_line(act.command) if _begins_with_variables(act.command) else ""
            made = self._fixes().made(failure, command, form, session_id, directory, until)
            values = {"passed_at": self._journal.now(), "observation_id": made or failure.observation_id}
            with self._store.transaction():
                self._store.update("failures", {"id": failure.id}, values)

    def _once(self, advice: Advice, session_id: str) -> Advice | None:
        """Return advice that this session was not given yet; what was is recorded as repeated."""
        from engram_py.guidance.failures.signature import normalized

        subject = normalized(advice.line)
        fresh = []
        for row_id in advice.observation_ids:
            if self._moments().last(session_id, row_id, "fix") is None:
                fresh.append(row_id)
            else:
                self._moments().came(session_id, row_id, "fix", "repeated")
        if not fresh:
            return None
        if not self._moments().holds_back(session_id, "fix", subject):
            return advice
        for row_id in fresh:
            self._moments().add(session_id, row_id, "fix", subject, given=False)
        return None

    def told(self, advice: Advice, *, session_id: str, size: int) -> None:
        """Record that the session was told an advice, ``size`` bytes of it."""
        from engram_py.guidance.failures.signature import normalized

        subject = normalized(advice.line)
        fresh = [one for one in advice.observation_ids if self._moments().last(session_id, one, "fix") is None]
        self._fixes().told(fresh)
        for row_id in fresh:
            self._moments().add(session_id, row_id, "fix", subject, size=size // len(fresh))

    # --- what people ask ---------------------------------------------------------------------------------

    def fixes(self, *, project: str | None = None, all_projects: bool = False, limit: int = 20) -> tuple[FixLine, ...]:
        """Return the fixes that were kept, the latest first."""
        return self._fixes().kept(self._projects.for_read(project, all_projects=all_projects), limit=limit)

    def explain(self, output: str) -> Explained:
        """Return what is known of an error, or why nothing would be said of it."""
        import time

        from engram_py.guidance.failures.signature import signature_of

        found = _without_secrets(signature_of(output))
        return self._fixes().explained(found, self._projects.for_read(), time.monotonic() + _ASKED_SECONDS)

    # --- keeping -----------------------------------------------------------------------------------------

    def _no_repair(self, act: Act, session_id: str) -> None:
        if table.still_failing(self._store, session_id):
            with self._store.transaction():
                table.not_repaired(self._store, session_id, _one_line(act.command))

    def _keep(
        self, found: Signature, session_id: str, command: str, directory: str, place: Place, known: int | None
    ) -> None:
        now = self._journal.now()
        for old in table.of_command(self._store, session_id, command, directory):
            if old.keys[0] == found.keys[0] and old.passed_at is None:
                values = {"times": old.times + 1, "failed_at": now, "observation_id": known or old.observation_id}
                self._store.update("failures", {"id": old.id}, values)
                return
        values = {
            "session_id": session_id, "command": command, "directory": directory,
            "signature": "\n".join(found.keys), "excerpt": "\n".join(found.said[: found.own]),
            "git_commit": place.commit, "failed_at": now, "observation_id": known,
        }  # fmt: skip
        table.add(self._store, values)


# --- commands --------------------------------------------------------------------------------------------------


def command_of(text: str) -> str:
    """Return a command as it is compared with others: without the folder it goes to, variables, and where it prints."""
    line = " ".join(text.split())
    return _redacted(_AFTER.sub("", _BEFORE.sub("", line)).strip())[:_COMMAND_CHARS]


def _one_line(text: str) -> str:
    return _redacted(" ".join(text.split()))[:_NAME_CHARS]


def _begins_with_variables(text: str) -> bool:
    before = _BEFORE.match(" ".join(text.split()))
    return before is not None and "=" in before[0]


def _folder(text: str, directory: Path) -> str:
    """Return the folder that a command runs in, where it begins by going to one."""
    before = _BEFORE.match(" ".join(text.split()))
    if before is None or not before[1]:
        return str(directory)
    import os

    return os.path.normpath(directory / before[1].strip("'\""))


def _may_change_anything(text: str) -> bool:
    words = _BEFORE.sub("", " ".join(text.split())).split()
    if not words or (words[0] in _READERS and ">" not in text):
        return False
    if words[0] == "sed" and "-i" not in words:
        return False
    return not (words[0] == "git" and len(words) > 1 and words[1] in _GIT_READERS)


def _redacted(text: str) -> str:
    from engram_py.base.capture.redact import redact

    return redact(text).text


def _without_secrets(found: Signature) -> Signature:
    from engram_py.base.capture.redact import redact
    from engram_py.base.dataclass import replace

    if not redact("\n".join((*found.said, *found.keys))).count:
        return found
    keys, said = (tuple(" ".join(redact(one).text.split()) for one in some) for some in (found.keys, found.said))
    return replace(found, keys=keys, said=said)
