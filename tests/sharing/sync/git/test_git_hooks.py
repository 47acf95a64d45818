"""Git's own hooks, run by git: they sync, cost nothing where there is nothing, and leave other people's hooks alone."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from engram_py.sharing.sync.errors import HookRefusedError
from tests.sharing.sync.git.conftest import Member

pytestmark = pytest.mark.skipif(os.name == "nt", reason="sh and executable bits")

SRC = Path(__file__).resolve().parents[4]


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program that notes that it was started, and then is engram."""
    path = tmp_path / "my tools" / "engram"
    path.parent.mkdir()
    runs = f"PYTHONPATH='{SRC}' exec '{sys.executable}' -m engram_py \"$@\""
    path.write_text(f"#!/bin/sh\necho started >>'{tmp_path}/started'\n{runs}\n")
    path.chmod(0o755)
    return path


def starts(program: Path) -> int:
    noted = program.parent.parent / "started"
    return len(noted.read_text().splitlines()) if noted.exists() else 0


def command(program: Path, member: Member) -> list[str]:
    return [str(program), "--data-dir", str(member.root.parent / "data")]


def loud(member: Member, *words: str) -> str:
    """What git and its hooks say on stderr."""
    done = subprocess.run(["git", *words], cwd=member.root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_a_merge_imports_and_a_push_exports_and_says_what_to_do(ada: Member, bob: Member, program: Path) -> None:
    ada.shared("From Ada")
    bob.sync.install_hooks(command(program, bob))

    said = loud(bob, "pull", "--no-rebase")
    assert "engram: Imported 1 chunk" in said
    assert bob.titles() == ["From Ada"]

    bob.save("From Bob")
    bob.git("commit", "-q", "--allow-empty", "-m", "work")
    said = loud(bob, "push", "origin", "HEAD")
    assert "engram: 1 change exported, not in this push yet: git add :/.engram && git commit" in said
    assert bob.git("log", "--format=%s", "-1", "origin/main") == "work"
    assert len(bob.names()) == 2


def test_hooks_start_nothing_where_there_is_nothing_to_do(ada: Member, bob: Member, program: Path) -> None:
    bob.sync.install_hooks(command(program, bob))
    ada.git("commit", "-q", "--allow-empty", "-m", "work")
    ada.git("push", "-q", "origin", "HEAD")
    bob.git("pull", "-q", "--no-rebase")
    bob.git("commit", "-q", "--allow-empty", "-m", "more")
    bob.git("push", "-q", "origin", "HEAD")
    assert starts(program) == 0

    ada.shared("One")
    bob.git("pull", "-q", "--no-rebase")
    assert starts(program) == 1
    ada.git("commit", "-q", "--allow-empty", "-m", "no memory in this one")
    ada.git("push", "-q", "origin", "HEAD")
    assert loud(bob, "pull", "-q", "--no-rebase") == ""
    assert starts(program) == 1


def test_a_pull_that_rebases_imports_too(ada: Member, bob: Member, program: Path) -> None:
    ada.shared("From Ada")
    bob.git("commit", "-q", "--allow-empty", "-m", "not pushed yet")
    bob.sync.install_hooks(command(program, bob))

    assert "engram: Imported 1 chunk" in loud(bob, "pull", "--rebase")

    assert bob.titles() == ["From Ada"]
    bob.git("commit", "-q", "--allow-empty", "--amend", "-m", "reworded")
    assert starts(program) == 1


def test_a_push_succeeds_whatever_is_wrong_with_the_memory(ada: Member, program: Path) -> None:
    ada.shared("One")
    ada.sync.install_hooks(command(program, ada))
    (ada.root / ".engram" / "encryption.json").write_text("{}")
    ada.save("Two")
    ada.git("commit", "-q", "--allow-empty", "-m", "work")

    assert "engram: not synced" in loud(ada, "push", "origin", "HEAD")

    program.write_text("#!/bin/sh\nexit 1\n")
    ada.git("commit", "-q", "--allow-empty", "-m", "work")
    ada.git("push", "-q", "origin", "HEAD")

    program.unlink()
    ada.git("commit", "-q", "--allow-empty", "-m", "work")
    assert "engram" not in loud(ada, "push", "origin", "HEAD").replace("engram_py", "")


HOOKS = {
    "exit": "#!/bin/sh\nexit 3\n",
    "bash-without-newline": "#!/usr/bin/env bash\nset -e\nfalse",
    "no-shebang": "echo no shebang >&2\nexit 3\n",
}


@pytest.mark.parametrize("text", HOOKS.values(), ids=HOOKS)
def test_a_hook_that_was_there_still_decides_and_comes_back(text: str, ada: Member, bob: Member, program: Path) -> None:
    ada.shared("One")
    bob.git("pull", "-q")
    bob.save("Two")
    hook = bob.root / ".git" / "hooks" / "pre-push"
    hook.parent.mkdir(exist_ok=True)
    hook.write_bytes(text.encode())
    hook.chmod(0o750)
    bob.sync.install_hooks(command(program, bob))
    assert bob.sync.install_hooks(command(program, bob)) == []
    bob.git("commit", "-q", "--allow-empty", "-m", "work")

    refused = subprocess.run(
        ["git", "push", "origin", "HEAD"], cwd=bob.root, capture_output=True, text=True, check=False
    )

    assert refused.returncode != 0
    assert "exported, not in this push" in refused.stderr
    assert bob.sync.status().hooks == ("post-merge", "post-rewrite", "pre-push")
    assert len(bob.sync.uninstall_hooks()) == 3
    assert hook.read_bytes() == text.encode()
    assert stat.S_IMODE(hook.stat().st_mode) == 0o750
    assert not (bob.root / ".git" / "hooks" / "post-merge").exists()
    assert bob.sync.uninstall_hooks() == []


def test_a_hook_still_reads_what_git_tells_it(ada: Member, program: Path) -> None:
    program.write_text("#!/bin/sh\ncat >/dev/null\n")
    ada.shared("One")
    hook = ada.root / ".git" / "hooks" / "pre-push"
    hook.write_text("#!/bin/sh\ncat >told\n")
    hook.chmod(0o755)
    ada.sync.install_hooks(command(program, ada))
    ada.git("commit", "-q", "--allow-empty", "-m", "work")

    ada.git("push", "-q", "origin", "HEAD")

    assert "refs/heads/main" in (ada.root / "told").read_text()


def test_the_hooks_path_is_respected_and_a_worktree_shares_it(ada: Member, program: Path, tmp_path: Path) -> None:
    ada.git("config", "core.hooksPath", ".my hooks")

    changed = ada.sync.install_hooks(command(program, ada))

    assert {path.parent.name for path in changed} == {".my hooks"}
    assert not (ada.root / ".git" / "hooks" / "pre-push").exists()
    assert os.access(changed[0], os.X_OK)


@pytest.mark.parametrize("case", ["shared", "tracked", "python", "link", "disabled"])
def test_a_hook_that_is_not_ours_is_left_alone_with_the_lines_to_put_in(
    case: str, ada: Member, program: Path, tmp_path: Path
) -> None:
    hooks = ada.root / ".git" / "hooks"
    if case == "shared":
        hooks = tmp_path / "everybody"
    elif case == "tracked":
        hooks = ada.root / "husky"
    if hooks.name != "hooks":
        hooks.mkdir()
        ada.git("config", "core.hooksPath", str(hooks))
    hook = hooks / "pre-push"
    if case == "link":
        (tmp_path / "real").write_text("#!/bin/sh\n")
        hook.symlink_to(tmp_path / "real")
    else:
        hook.write_text("#!/usr/bin/env python3\n" if case == "python" else "#!/bin/sh\n")
        hook.chmod(0o644 if case == "disabled" else 0o755)
    if case == "tracked":
        ada.commit()
    before = hook.read_bytes()

    with pytest.raises(HookRefusedError) as refused:
        ada.sync.install_hooks(command(program, ada))

    assert "sync --hook pre-push" in refused.value.lines
    assert hook.read_bytes() == before
    assert not (hooks / "post-merge").exists()
