"""Git hooks that sync: a marked block in each hook, removed again byte for byte."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Sequence
from pathlib import Path

from engram_py.base.files import read_bounded, real_path, reason, write_atomically
from engram_py.base.git.program import Deadline, ask_git
from engram_py.base.git.repository import Repository
from engram_py.sharing.sync.errors import HookRefusedError

HOOKS = ("post-merge", "post-rewrite", "pre-push")
BEGIN = "# >>> engram sync: `engram sync --uninstall-hooks` removes this part"
END = "# <<< engram sync"
_MADE = "# (there was no hook before)"
_SHEBANG = "#!/bin/sh\n"
_SHELLS = ("sh", "bash", "dash", "ksh", "zsh", "ash")
_MOST_BYTES = 2**20

# What a hook asks before it starts anything: most merges bring no chunks, most repositories have none.
_SHARED = "{ [ -d .engram/chunks ] || [ -d .engram/memories ]; }"
_CHANGED = f"{_SHARED} && ! git diff --quiet ORIG_HEAD -- .engram 2>/dev/null"
_TESTS = {
    "post-merge": _CHANGED,
    "post-rewrite": f'[ "$1" = rebase ] && {_CHANGED}',  # a pull that rebases does not merge
    "pre-push": _SHARED,
}


def install(repository: Repository, command: Sequence[str]) -> list[Path]:
    """Add our block to the hooks and return the files that changed. ``command`` starts engram.

    They come first in a hook: after its last line they would decide its exit code, and an ``exit`` would hide them.

    Raises HookRefusedError: a hook is not ours to change; then none was.
    """
    folder = _folder(repository, command)
    planned = [(path, _with_block(path, hook, command)) for hook in HOOKS for path in [folder / hook]]
    for path, _ in planned:
        _check_tracked(repository, path, command)
    changed = [(path, text) for path, text in planned if text is not None]
    for path, text in changed:
        _write(path, text)
    return [path for path, _ in changed]


def uninstall(repository: Repository) -> list[Path]:
    """Take the merge driver out of this clone's configuration, and our block out of the hooks; return those that
    changed. One that we made is deleted."""
    ask_git(repository.root, "config", "--local", "--remove-section", "merge.engram", deadline=Deadline())
    changed: list[Path] = []
    for path in _installed(repository):
        text = _read(path)
        start, end = _span(text)
        rest = text[:start] + text[end:]
        if _MADE in text[start:end] and rest == _SHEBANG:
            path.unlink()
        else:
            _write(path, rest)
        changed.append(path)
    return changed


_DRIVER = ("merge.engram.name", "merge.engram.driver")


def register_driver(repository: Repository, command: Sequence[str]) -> None:
    """Tell git, in this clone's own configuration, how two edits of a memory are joined.

    Raises HookRefusedError: git does not take it.
    """
    words = [word.replace("\\", "/") if os.name == "nt" else word for word in command]
    run = f"{shlex.join([*words, 'merge-memory'])} %O %A %B"
    for name, value in zip(_DRIVER, ("engram memories", run), strict=True):
        if ask_git(repository.root, "config", "--local", name, value, deadline=Deadline()) is None:
            config = str(repository.common_dir / "config")
            raise HookRefusedError(config, "git does not take the merge driver", lines=f'git config {name} "{value}"')


_DECLINED = "engram.mergeDriver"


def driver_is_decided(repository: Repository) -> bool:
    """Return whether git joins memories here, or the person said that it should not."""
    names = (_DRIVER[1], _DECLINED)
    return any(ask_git(repository.root, "config", "--get", name, deadline=Deadline()) is not None for name in names)


def decline_driver(repository: Repository) -> None:
    """Note in this clone's own configuration that the person does not want the merge driver."""
    ask_git(repository.root, "config", "--local", _DECLINED, "false", deadline=Deadline())


def installed(repository: Repository) -> list[str]:
    """Return the hooks that sync."""
    return [path.name for path in _installed(repository)]


def _installed(repository: Repository) -> list[Path]:
    folder = _hooks_path(repository)
    found: list[Path] = []
    for hook in HOOKS:
        path = folder / hook
        try:
            if not path.is_symlink() and BEGIN in _read(path):
                found.append(path)
        except (OSError, HookRefusedError):
            continue
    return found


def _folder(repository: Repository, command: Sequence[str]) -> Path:
    """Return the directory of this repository's hooks; ``core.hooksPath`` counts.

    Raises HookRefusedError: other repositories have the same hooks.
    """
    folder = _hooks_path(repository)
    own = (repository.common_dir, repository.root)
    if not any(folder.is_relative_to(real_path(one)) for one in own):
        lines = "\n".join(_block(hook, command) for hook in HOOKS)
        raise HookRefusedError(str(folder), "core.hooksPath names it, so other repositories use it too", lines=lines)
    return folder


def _hooks_path(repository: Repository) -> Path:
    asked = ask_git(repository.root, "rev-parse", "--git-path", "hooks", deadline=Deadline())
    if asked is None:
        return real_path(repository.common_dir / "hooks")
    return real_path(repository.root / os.fsdecode(asked[0].rstrip(b"\r\n")))


def _with_block(path: Path, hook: str, command: Sequence[str]) -> str | None:
    """Return the hook's text with our block, None when it has it."""
    block = _block(hook, command)
    if not os.path.lexists(path):
        return f"{_SHEBANG}{block.replace(END, f'{_MADE}{chr(10)}{END}')}"
    if path.is_symlink():
        raise HookRefusedError(str(path), "it is a symbolic link", lines=block)
    text = _read(path)
    if BEGIN in text:
        start, end = _span(text)
        made = _MADE in text[start:end]
        fresh = block.replace(END, f"{_MADE}\n{END}") if made else block
        return None if text[start:end] == fresh else text[:start] + fresh + text[end:]
    first, newline, rest = text.partition("\n")
    if not first.startswith("#!"):
        first, newline, rest = "", "", text
    elif not _is_shell(first):
        raise HookRefusedError(str(path), "it is no shell script", lines=block)
    if os.name == "posix" and not path.stat().st_mode & stat.S_IXUSR:
        raise HookRefusedError(str(path), "it is not executable, so git does not run it", lines=block)
    return f"{first}{newline or (chr(10) if first else '')}{block}{rest}"


def _check_tracked(repository: Repository, path: Path, command: Sequence[str]) -> None:
    root = real_path(repository.root)
    if not path.is_relative_to(root) or path.is_relative_to(real_path(repository.common_dir)):
        return
    relative = path.relative_to(root).as_posix()
    if ask_git(repository.root, "ls-files", "--error-unmatch", relative, deadline=Deadline()) is not None:
        lines = _block(path.name, command)
        raise HookRefusedError(str(path), "git tracks it, so everyone would get this machine's paths", lines=lines)


def _block(hook: str, command: Sequence[str]) -> str:
    words = [word.replace("\\", "/") if os.name == "nt" else word for word in command]
    run = shlex.join([*words, "sync", "--hook", hook])
    # Standard input is the hook's own: git tells it there what is pushed.
    lines = [
        f"if {_TESTS[hook]}; then",
        f"  if [ -x {shlex.quote(words[0])} ]; then {run} </dev/null || :; fi",
        "fi",
    ]
    return "\n".join([BEGIN, *lines, END, ""])


def _span(text: str) -> tuple[int, int]:
    """Return where our block begins and ends."""
    start = text.index(BEGIN)
    end = text.find(END, start)
    if end < 0:
        raise HookRefusedError("the hook", f"it has {BEGIN!r} without {END!r}", lines=END)
    after = text.find("\n", end)
    return start, len(text) if after < 0 else after + 1


def _is_shell(shebang: str) -> bool:
    words = shebang.removeprefix("#!").split()
    return any(word.rpartition("/")[2] in _SHELLS for word in words[:2])


def _read(path: Path) -> str:
    try:
        # Bytes that are no UTF-8 come back as they were.
        return read_bounded(path, _MOST_BYTES).decode("utf-8", "surrogateescape")
    except OSError as exc:
        if isinstance(exc, FileNotFoundError):
            raise
        raise HookRefusedError(str(path), f"it cannot be read ({reason(exc)})", lines="") from exc


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o755
        data = text.encode("utf-8", "surrogateescape")
        write_atomically(path, data, mode=mode, prefix=f"{path.name}.engram-part-", exact=True)
    except OSError as exc:
        raise HookRefusedError(str(path), f"it cannot be written ({reason(exc)})", lines="") from exc
