"""``engram sync`` as somebody types it."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.interfaces.cli.conftest import Run, Start, answer


@pytest.fixture
def repository(here: Path, run: Run) -> Path:
    """The folder widgets as a repository, with one memory."""
    for words in (["init", "-q", "-b", "main"], ["config", "user.name", "Ada"], ["config", "user.email", "a@b.c"]):
        subprocess.run(["git", *words], cwd=here, check=True)
    assert run("save", "Tokens", "Fifteen minutes.").exit_code == 0
    return here


def test_it_says_in_two_lines_what_it_did_and_what_to_do_next(repository: Path, run: Run) -> None:
    first = run("sync")

    assert first.exit_code == 0
    lines = first.stdout.splitlines()
    assert lines[0] == "Imported nothing new."
    assert re.fullmatch(
        r"Exported 3 rows to 1 chunk \([0-9a-f]{8}\) in .*/widgets/\.engram; commit and push it: "
        r"git add \.engram && git commit -m 'engram sync'",
        lines[1],
    )
    assert run("sync").stdout.splitlines() == ["Imported nothing new.", "Exported nothing new."]


def test_each_half_alone_and_the_same_as_json(repository: Path, run: Run) -> None:
    assert answer(run("sync", "--import", "--json"))["written"] is None
    done = answer(run("sync", "--export", "--json"))
    assert done["read"] is None
    assert done["written"]["rows"] == 3
    assert (done["project"], done["encrypted"]) == ("widgets", False)


def test_the_status_says_where_it_stands_and_writes_nothing(repository: Path, run: Run) -> None:
    said = run("sync", "--status").stdout
    assert "no chunks yet" in said
    assert "changes to export" in said
    assert not (repository / ".engram").exists()

    run("sync")
    said = run("sync", "--status").stdout
    assert "project widgets, " in said
    assert "1 chunk" in said
    assert "nothing to import; nothing to export" in said
    assert "git hooks: none (`engram sync --install-hooks`)" in said
    assert answer(run("sync", "--status", "--json"))["chunks"] == 1


def test_the_digest_is_a_value_and_what_it_counts(repository: Path, run: Run) -> None:
    value, counts = run("sync", "--digest").stdout.splitlines()

    assert re.fullmatch("[0-9a-f]{64}", value)
    assert counts == "1 observation, 1 session"
    assert answer(run("sync", "--digest", "--json"))["value"] == value


def test_outside_of_a_repository_it_says_so(here: Path, run: Run) -> None:
    refused = run("sync")

    assert refused.exit_code == 1
    assert "no_repository" in refused.stderr
    assert "inside a checkout" in refused.stderr
    assert json.loads(run("sync", "--json").stdout)["error_code"] == "no_repository"


def test_a_passphrase_is_asked_for_or_read_from_the_environment(
    repository: Path, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert "at least 8 characters" in run("sync", "--encrypt", stdin="short\nshort\n").stderr
    assert run("sync", "--encrypt", stdin="correct horse\nwrong horse\ncorrect horse\ncorrect horse\n").exit_code == 0
    assert [path.suffix for path in (repository / ".engram" / "chunks").iterdir() if path.suffix != ".sig"] == [".enc"]

    monkeypatch.setenv("ENGRAM_DATA_DIR", str(tmp_path / "another"))
    refused = run("sync")
    assert refused.exit_code == 1
    assert "passphrase_missing" in refused.stderr
    monkeypatch.setenv("ENGRAM_SYNC_PASSPHRASE", "wrong horse")
    assert "wrong_passphrase" in run("sync").stderr
    monkeypatch.setenv("ENGRAM_SYNC_PASSPHRASE", "correct horse")
    assert "Imported 1 chunk: 3 rows new or newer." in run("sync").stdout


def test_a_key_file_that_is_none_is_refused(repository: Path, run: Run, tmp_path: Path) -> None:
    refused = run("sync", "--encrypt-with", str(tmp_path / "missing"))

    assert refused.exit_code == 1
    assert "key file" in refused.stderr
    assert not (repository / ".engram").exists()


def test_devices_are_listed_trusted_and_no_longer_trusted(repository: Path, run: Run) -> None:
    key = "A" * 43

    assert re.fullmatch(r"[\w-]{43}  [0-9a-f]{16}  this device\n", run("sync", "--trusted").stdout)
    assert run("sync", "--trust", key).stdout == f"{key}  (never seen)      trusted\n"
    assert "devices trusted: 1" in run("sync", "--status").stdout
    assert "read, as any device is" in run("sync", "--untrust", key).stdout
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
