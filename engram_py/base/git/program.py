"""Ask the git program for what git's files do not tell in a few milliseconds: bounded in time and in bytes, without
a shell, the network, or anything the repository's own configuration would have run."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from engram_py.base.lazy import logger_of

# Imported when git is asked, which most processes never do.
if TYPE_CHECKING:
    import subprocess

logger = logger_of(__name__)

# What git is given for all the questions of one call. A repository that needs longer gets no answer, and says so.
TIMEOUT_SECONDS = 1.5
MAX_OUTPUT = 8 << 20

_ALWAYS = (
    "--no-pager",
    "--literal-pathspecs",
    "-c", "core.quotePath=false",
    "-c", "core.fsmonitor=false",
    "-c", "log.showSignature=false",
    "-c", "diff.suppressBlankEmpty=false",
    "-c", "diff.relative=false",
)  # fmt: skip
# A hook's variables would point git at another repository; a partial clone would fetch what it lacks.
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "LC_ALL": "C",
}
_NO_WINDOW = 0x08000000 if os.name == "nt" else 0  # subprocess.CREATE_NO_WINDOW


class Deadline:
    """The time that git may take for several questions together, and whether it left one of them ``unanswered``."""

    def __init__(self, seconds: float = TIMEOUT_SECONDS) -> None:
        self.whole = seconds >= TIMEOUT_SECONDS
        self.unanswered = False
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        return self._end - time.monotonic()


def ask_git(
    root: Path, *arguments: str, deadline: Deadline, given: Sequence[str] = (), limit: int = MAX_OUTPUT
) -> tuple[bytes, bool] | None:
    """Return git's output about the checkout at ``root``, and whether it is whole; None without an answer in time.

    ``given`` are lines for its standard input.
    """
    import subprocess

    program = _program(root)
    if program is None or deadline.left <= 0:
        return None
    command = [program, *_ALWAYS, *arguments]
    try:
        process = subprocess.Popen(
            command,
            cwd=root,
            env=_environment(root),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            creationflags=_NO_WINDOW,
        )
    except OSError as exc:
        logger.debug("git does not start: %s", exc)
        return None
    answer = _talk(process, "".join(f"{line}\n" for line in given).encode(), limit, deadline.left)
    deadline.unanswered |= answer is None
    return answer


def has_git(root: Path) -> bool:
    """Return whether there is a git to ask about the checkout at ``root``."""
    return _program(root) is not None


def _talk(process: subprocess.Popen[bytes], given: bytes, limit: int, seconds: float) -> tuple[bytes, bool] | None:
    import threading

    expired = threading.Event()

    def end() -> None:
        expired.set()
        process.kill()

    timer = threading.Timer(max(0.0, seconds), end)
    timer.daemon = True
    timer.start()
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        with suppress(OSError), process.stdin:  # a git that refuses to start does not read
            process.stdin.write(given)
        out = process.stdout.read(limit + 1)
        if len(out) > limit:
            process.kill()
            process.wait()
            return out[:limit], False
        status = process.wait()
    finally:
        timer.cancel()
        process.stdout.close()
        if process.poll() is None:
            process.kill()
            process.wait()
    if expired.is_set() or status != 0:
        logger.debug("git %s ended with %s after at most %.1f s", process.args, status, seconds)
        return None
    return out, True


def _program(root: Path) -> str | None:
    import shutil

    program = shutil.which("git")
    if program is None:
        return None
    # Windows looks into the working directory first, which a clone may have filled.
    return None if Path(program).resolve().is_relative_to(root) else program


def _environment(root: Path) -> dict[str, str]:
    # Git would climb past a damaged `.git` to a repository around it, and answer about that.
    ceiling = {"GIT_CEILING_DIRECTORIES": str(root.parent)}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return kept | _ENVIRONMENT | ceiling


def user_name(root: Path | None, plain: Callable[[str], str]) -> str:
    """Return the name that git signs commits with in a repository, else that of this machine's user; ``plain`` makes of
    one what may be shown. Empty where there is none."""
    asked = ask_git(root, "config", "user.name", deadline=Deadline()) if root else None
    if name := plain(asked[0].decode("utf-8", "replace")) if asked else "":
        return name
    import getpass

    try:
        return plain(getpass.getuser())
    except (OSError, KeyError, ImportError):
        return ""
