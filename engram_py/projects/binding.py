"""The name a repository was given once, kept in its git directory so that moves and new remotes do not change it."""

from __future__ import annotations

import json
import os
import re
import time
from contextlib import suppress
from pathlib import Path

from engram_py.dataclass import dataclass
from engram_py.files import read_bounded, reason, write_atomically
from engram_py.log import logger_of
from engram_py.projects.errors import InvalidProjectError
from engram_py.projects.names import normalize_project

logger = logger_of(__name__)

BINDING_FILE = "engram-project-identity.json"
_MAX_SIZE = 4096
_VERSION = 1
_ID = re.compile(r"[0-9a-f]{32}")
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
# Without hard links the winner's file is empty for an instant; a loser looks again this often.
_LOOKS = 20


@dataclass(frozen=True, slots=True)
class Binding:
    """A repository's identity and the project it belongs to, in Engram's format."""

    id: str
    project: str


def load_binding(common_dir: Path) -> tuple[Binding | None, str | None]:
    """Return the binding of a repository, and what is wrong with the file where it cannot be used."""
    path = common_dir / BINDING_FILE
    try:
        data = json.loads(read_bounded(path, _MAX_SIZE))
    except (FileNotFoundError, NotADirectoryError):
        return None, None
    except OSError as exc:
        return None, f"{path} cannot be read ({reason(exc)})"
    except (ValueError, RecursionError):
        return None, f"{path} is not JSON; delete it to bind the repository again"
    return _parsed(data, path)


def _parsed(data: object, path: Path) -> tuple[Binding | None, str | None]:
    if not isinstance(data, dict) or data.get("version") != _VERSION:
        return None, f"{path} is not a version {_VERSION} binding; it was left as it is"
    identity, project = data.get("id"), data.get("project")
    if not isinstance(identity, str) or not _ID.fullmatch(identity) or not isinstance(project, str):
        return None, f"{path} has no usable id and project; delete it to bind the repository again"
    try:
        return Binding(id=identity, project=normalize_project(project)), None
    except InvalidProjectError as exc:
        return None, f"{path} names no usable project: {exc.reason}"


def write_binding(common_dir: Path, project: str) -> Binding | None:
    """Bind a repository to ``project``, unless it is bound: the first of several processes wins.

    Returns what is in the file afterwards, which may name another project; None when the git directory
    cannot be written or holds a damaged binding, which is left as it is.

    Raises InvalidProjectError: ``project`` is not a project name.
    """
    name = normalize_project(project)
    if (bound := load_binding(common_dir)[0]) is not None:
        return bound
    try:
        _publish(common_dir, _record(os.urandom(16).hex(), name))
    except OSError as exc:
        logger.debug("%s cannot be bound: %s", common_dir, reason(exc))
    return _settled(common_dir)


def rebind(common_dir: Path, project: str) -> None:
    """Bind a repository to another project, keeping its id. Raises InvalidProjectError.

    A git directory that cannot be written, or a binding of another version, is left as it is.
    """
    name = normalize_project(project)
    bound, warning = load_binding(common_dir)
    if bound is None and warning is None:
        write_binding(common_dir, name)
        return
    if bound is None or bound.project == name:
        return
    try:
        write_atomically(common_dir / BINDING_FILE, _record(bound.id, name))
    except OSError as exc:
        logger.debug("%s cannot be bound again: %s", common_dir, reason(exc))


def _record(identity: str, project: str) -> bytes:
    values = {"version": _VERSION, "id": identity, "project": project}
    return (json.dumps(values, ensure_ascii=False) + "\n").encode()


def _publish(common_dir: Path, data: bytes) -> None:
    target = common_dir / BINDING_FILE
    draft = common_dir / f".{BINDING_FILE}.{os.urandom(8).hex()}"
    _create(draft, data)
    try:
        os.link(draft, target)
    except FileExistsError:
        pass
    except (OSError, NotImplementedError):  # a file system without hard links
        with suppress(FileExistsError):
            _create(target, data)
    finally:
        draft.unlink(missing_ok=True)


def _create(path: Path, data: bytes) -> None:
    descriptor = os.open(path, _CREATE, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
    except OSError:  # half a file would be a damaged binding for ever
        path.unlink(missing_ok=True)
        raise


def _settled(common_dir: Path) -> Binding | None:
    for _ in range(_LOOKS):
        binding, warning = load_binding(common_dir)
        if binding is not None or warning is None:
            return binding
        with suppress(OSError):
            if (common_dir / BINDING_FILE).stat().st_size:
                break
        time.sleep(0.005)
    binding, warning = load_binding(common_dir)
    if warning:
        logger.warning("%s", warning)
    return binding
