"""``engram sync`` as somebody types it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from engram_py import Draft, Engram
from engram_py.base.settings import Settings
from tests.interfaces.cli.conftest import Run, Start, answer, refusal
from tests.sharing.sync.git.test_encryption import quick_keys
from tests.support import Git

__all__ = ["quick_keys"]


@pytest.fixture
def repository(here: Path, run: Run, git: Git) -> Path:
    """The folder widgets as a repository with one memory, and a folder of chunks."""
    git(here, "init", "-q", "-b", "main")
    (here / ".engram" / "chunks").mkdir(parents=True)
    assert run("save", "Tokens", "Fifteen minutes.").exit_code == 0
    (here / "deep").mkdir()
    return here


def test_it_says_in_two_lines_what_it_did_and_what_to_do_next(repository: Path, run: Run) -> None:
    first = run("sync")

    assert first.exit_code == 0
    lines = first.stdout.splitlines()
    assert lines[0] == "Imported nothing new."
    assert re.fullmatch(
        r"Exported 3 rows to 1 chunk \([0-9a-f]{8}\) in .*/widgets/\.engram; commit and push it: "
        r"git add :/\.engram && git commit -m 'engram sync'",
        lines[1],
    )
    subprocess.run(lines[1].partition("push it: ")[2], cwd=repository / "deep", shell=True, check=True)
    assert run("sync").stdout.splitlines() == ["Imported nothing new.", "Exported nothing new."]
    run("save", "Ports", "8080.")
    assert "Exported 4 rows once more to 1 chunk (" in run("sync", "--again").stdout


def test_chunks_that_nobody_committed_are_named_with_the_command_that_does(repository: Path, run: Run) -> None:
    run("sync")
    said = "1 chunk is not committed: git add :/.engram && git commit -m 'engram sync'"

    assert run("sync").stdout.splitlines()[-1] == said
    assert said in run("sync", "--status").stdout
    assert answer(run("sync", "--status", "--json"))["uncommitted"] == {"chunks": 1, "ignored": 0, "memories": 0}
    assert f"engram: {said} && git push" in run("sync", "--hook", "pre-push").stderr

    (repository / ".gitignore").write_text("*.gz\n")
    said = "1 chunk is not committed, and git ignores it: git add -f :/.engram && git commit -m 'engram sync'"
    assert said in run("sync", "--status").stdout
    subprocess.run(said.partition("it: ")[2], cwd=repository / "deep", shell=True, check=True)
    assert "not committed" not in run("sync", "--status").stdout
    assert run("sync", "--hook", "pre-push").stderr == ""


def test_what_was_lost_is_told_from_what_is_written_once_more_for_another_reason(
    repository: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("sync")
    for path in (repository / ".engram" / "chunks").glob("*.gz"):
        path.unlink()

    said = run("sync").stdout
    assert "Exported 3 rows once more to 1 chunk (" in said
    assert ", because 1 chunk written here is lost or damaged; commit" in said

    monkeypatch.setenv("ENGRAM_SYNC_PASSPHRASE", "correct horse")
    done = run("sync", "--encrypt")
    assert "Exported 3 rows once more, encrypted, to 1 chunk (" in done.stdout
    assert "or damaged" not in done.stdout
    [plain] = (repository / ".engram" / "chunks").glob("*.gz")
    run_this = f"git rm ':/.engram/chunks/{plain.name.partition('.')[0]}.*' && git commit"
    assert "note: 1 chunk is not encrypted" in done.stderr
    assert run_this in done.stderr

    said = run("sync", "--again").stdout
    assert "or damaged" not in said


def test_the_status_says_where_it_stands_and_writes_nothing(repository: Path, run: Run) -> None:
    said = run("sync", "--status").stdout
    assert "0 chunks" in said
    assert "changes to export" in said
    assert list((repository / ".engram" / "chunks").iterdir()) == []

    run("sync")
    said = run("sync", "--status").stdout
    assert "project widgets, " in said
    assert "1 chunk" in said
    assert "nothing to import; nothing to export" in said
    assert "git hooks: none (`engram sync --install-hooks`)" in said
    assert answer(run("sync", "--status", "--json"))["chunks"] == 1

    assert answer(run("sync", "--import", "--json"))["written"] is None
    done = answer(run("sync", "--export", "--json"))
    assert (done["read"], done["project"], done["encrypted"]) == (None, "widgets", False)
    value, counts = run("sync", "--digest").stdout.splitlines()
    assert (len(value), counts) == (64, "1 observation, 1 session")
    assert answer(run("sync", "--digest", "--json"))["value"] == value


@pytest.mark.usefixtures("terminal")
def test_a_new_passphrase_is_asked_for_twice_and_one_that_opens_a_folder_once(
    repository: Path, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = run("sync", "--encrypt", stdin="short\nshort\n").stderr
    assert "New passphrase, at least 8 characters: " in asked
    assert "passphrase must be at least 8 characters" in asked
    assert list((repository / ".engram" / "chunks").iterdir()) == []
    assert run("sync", "--encrypt", stdin="correct horse\nwrong horse\ncorrect horse\ncorrect horse\n").exit_code == 0
    assert [path.suffix for path in (repository / ".engram" / "chunks").iterdir() if path.suffix != ".sig"] == [".enc"]

    monkeypatch.setenv("ENGRAM_DATA_DIR", str(tmp_path / "another"))
    assert "wrong_passphrase" in run("sync", "--encrypt", stdin="short\n").stderr
    opened = run("sync", "--encrypt", stdin="correct horse\ny\n")
    assert "Imported 1 chunk: 3 rows new or updated." in opened.stdout
    assert "Passphrase of .engram: " in opened.stderr
    assert "Repeat" not in opened.stderr


def test_without_a_terminal_or_a_key_file_that_is_one_the_variable_is_named(repository: Path, start: Start) -> None:
    ended = start("sync", "--encrypt-with", "missing")
    assert (ended.code, "key file" in ended.stderr) == (1, True)

    ended = start("sync", "--encrypt")
    assert ended.code == 2
    assert "set ENGRAM_SYNC_PASSPHRASE" in ended.stderr
    assert list((repository / ".engram" / "chunks").iterdir()) == []


def test_a_passphrase_is_read_from_the_environment(
    repository: Path, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ENGRAM_SYNC_PASSPHRASE", "correct horse")
    assert "Exported 3 rows to 1 chunk (" in run("sync", "--encrypt").stdout  # not once more: it is the first
    monkeypatch.delenv("ENGRAM_SYNC_PASSPHRASE")
    monkeypatch.setenv("ENGRAM_DATA_DIR", str(tmp_path / "another"))
    assert "passphrase_missing" in refusal(run("sync"))
    assert run("sync", "--hook", "post-merge").stderr == (
        f"engram: not synced: {repository / '.engram'} is encrypted, and this machine does not know the passphrase\n"
        "engram: run `engram sync --encrypt` here once: it asks for it\n"
    )
    monkeypatch.setenv("ENGRAM_SYNC_PASSPHRASE", "wrong horse")
    assert "wrong_passphrase" in run("sync").stderr
    monkeypatch.setenv("ENGRAM_SYNC_PASSPHRASE", "correct horse")
    assert "Imported 1 chunk: 3 rows new or updated." in run("sync").stdout


def test_devices_are_listed_trusted_and_no_longer_trusted(repository: Path, run: Run) -> None:
    key = "A" * 43

    assert re.fullmatch(r"[\w-]{43}  [0-9a-f]{16}  this device\n", run("sync", "--trusted").stdout)
    assert run("sync", "--trust", key).stdout == f"{key}  (never seen)      trusted\n"
    assert "devices trusted: 1" in run("sync", "--status").stdout
    other = "B" * 42 + "A"
    run("sync", "--trust", other)
    assert run("sync", "--untrust", key).stdout == f"{key}  (never seen)      not trusted\n"
    assert run("sync", "--untrust", other).stdout.splitlines() == [
        f"{other}  (never seen)      removed",
        "no device is trusted now: files of every device are read",
    ]
    assert "devices trusted: none yet" in run("sync", "--status").stdout
    assert run("sync", "--trust", "nonsense").exit_code == 1


def test_hooks_are_put_in_once_and_taken_out(repository: Path, run: Run) -> None:
    assert run("sync", "--install-hooks").stdout.count("Wrote ") == 3
    assert run("sync", "--install-hooks").stdout == "The hooks were there already.\n"
    assert "git hooks: post-merge, post-rewrite, pre-push" in run("sync", "--status").stdout
    assert run("sync", "--uninstall-hooks").stdout.count("Took our lines out of ") == 3
    assert run("sync", "--uninstall-hooks").stdout == "There were no hooks.\n"


def test_what_a_hook_runs_never_fails_and_is_quiet_without_news(repository: Path, start: Start) -> None:
    ended = start("sync", "--hook", "post-merge")
    assert (ended.code, ended.stdout, ended.stderr) == (0, "", "")
    ended = start("sync", "--hook", "pre-push", ENGRAM_DATA_DIR="not/absolute")
    assert (ended.code, ended.stdout) == (0, "")
    assert "engram: not synced" in ended.stderr


@pytest.fixture
def fork(here: Path, tmp_path: Path, git: Git) -> Path:
    """The folder widgets as a clone of the repository gadgets, whose chunks are all of project acme."""
    acme = tmp_path / "ada" / "acme"
    acme.mkdir(parents=True)
    git(acme, "init", "-q")
    with Engram(settings=Settings(tmp_path / "ada" / "data"), directory=acme) as ada:
        ada.save(Draft("Tokens", "Fifteen minutes."))
        ada.git_sync.sync(format="chunks")
    git(here, "init", "-q")
    git(here, "remote", "add", "origin", "https://example.org/org/gadgets.git")
    shutil.copytree(acme / ".engram", here / ".engram")
    return here


def test_a_clone_under_another_name_takes_the_project_of_its_chunks_and_says_so(fork: Path, run: Run) -> None:
    done = run("sync")

    assert done.stdout.splitlines()[0] == ("This repository is now project acme, as in its .engram folder.")
    assert "skipped" not in done.stdout
    assert "Tokens" in run("search", "tokens").stdout
    assert "acme" in run("save", "Ports", "The gateway listens on 8080.").stdout
    assert answer(run("sync", "--json"))["project"] == "acme"


def test_on_a_terminal_it_asks_before_a_repository_goes_by_another_name(fork: Path, run: Run, terminal: None) -> None:
    run("save", "Ports", "The gateway listens on 8080.")

    refused = run("sync", "--import", stdin="n\n")
    assert ".engram calls it acme" in refused.stderr
    assert "Rename gadgets to acme? (1 memory moves.)" in refused.stderr
    assert "skipped" in refused.stdout

    taken = run("sync", "--import", stdin="y\ny\n")
    assert "If you trust this folder" in taken.stderr
    assert "This repository is now project acme" in taken.stdout
    assert "acme" in run("search", "gateway", "--json").stdout


def test_memories_of_two_projects_are_not_joined_unasked(fork: Path, run: Run) -> None:
    run("save", "Ports", "The gateway listens on 8080.")
    assert "skipped" in run("sync", "--import").stdout
    assert "skipped" in run("sync", "--import").stdout  # whoever comes later is told as well

    assert run("delete", "1", "--hard", "--yes").exit_code == 0
    run("save", "Elsewhere", "Acme's own.", "--project", "acme")
    assert "skipped" in run("sync", "--import").stdout
