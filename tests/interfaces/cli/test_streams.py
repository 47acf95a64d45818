"""A command as a process: what goes where, how it ends, and that it never ends in a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.interfaces.cli.conftest import Run, Start
from tests.template import ready

posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX pipes and signals")


def test_a_result_is_on_standard_output_alone(start: Start) -> None:
    saved = start("save", "Piped — “quoted” 令牌", "-", stdin="from a pipe ✓".encode())
    assert (saved.code, saved.stderr) == (0, "")
    assert "Piped — “quoted” 令牌" in saved.stdout
    assert "from a pipe ✓" in start("get", "1").stdout


def test_output_that_is_no_terminal_is_plain(run: Run, start: Start) -> None:
    run("save", "Chose short tokens", "Access tokens live 15 minutes.")
    for words in (["search", "tokens"], ["projects"], ["sessions"], ["stats"], ["doctor"]):
        shown = start(*words, TERM="xterm-256color")
        assert "\x1b" not in shown.stdout
        assert not set("┃│─━") & set(shown.stdout)


@pytest.mark.parametrize(
    ("environment", "code"),
    [
        pytest.param({"ENGRAM_NOW": "soon"}, "invalid_argument", id="now-is-no-time"),
        pytest.param({"ENGRAM_DATA_DIR": "relative/path"}, "data_dir_unusable", id="relative-data-dir"),
        pytest.param({"ENGRAM_DATA_DIR": "~nobody-of-that-name/x"}, "data_dir_unusable", id="no-such-home"),
        pytest.param({"ENGRAM_DATA_DIR": __file__}, "data_dir_unusable", id="data-dir-is-a-file"),
    ],
)
@pytest.mark.parametrize("command", ["stats", "search x", "save a b", "export", "backup", "restore x.db"])
def test_a_wrong_environment_is_refused_in_words(
    start: Start, environment: dict[str, str], code: str, command: str
) -> None:
    if command == "restore x.db" and environment.get("ENGRAM_DATA_DIR") == __file__:
        pytest.skip("the backup that is not there is said first")

    refused = start(*command.split(), **environment)

    assert refused.code == 1
    assert f"engram: {code}: " in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_data_directory_on_the_command_line_wins_over_a_wrong_one_in_the_environment(start: Start) -> None:
    assert start("--data-dir", "fine", "stats", ENGRAM_DATA_DIR="relative/path").code == 0
    assert start("--data-dir", "~nobody-of-that-name/x", "stats").code == 1


@posix
@pytest.mark.parametrize(
    ("command", "streams"),
    [("search tokens", "stdout"), ("search tokens", "both"), ("--help", "stdout"), ("get 9", "both")],
)
def test_a_reader_that_went_away_is_no_failure_worth_a_traceback(
    run: Run, here: Path, tmp_path: Path, command: str, streams: str
) -> None:
    run("save", "Chose short tokens", "Access tokens live 15 minutes.")
    reading, writing = os.pipe()
    os.close(reading)
    log = tmp_path / "stderr"

    with log.open("wb") as stderr:
        done = subprocess.run(
            [sys.executable, "-m", "engram_py", *command.split()],
            stdout=writing, stderr=writing if streams == "both" else stderr, cwd=here, timeout=60, check=False,
        )  # fmt: skip
    os.close(writing)

    assert done.returncode in (1, 2)
    assert b"Traceback" not in log.read_bytes()
    assert b"Exception ignored" not in log.read_bytes()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_output_that_finds_no_room_is_a_failure_in_words(start: Start, here: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "engram_py", "stats"],
            stdout=full, stderr=subprocess.PIPE, cwd=here, timeout=60, check=False,
        )  # fmt: skip

    assert done.returncode == 1
    assert done.stderr.decode().strip() == "engram: cannot write: No space left on device"


@posix
@pytest.mark.parametrize(
    ("command", "closed"), [("save a -", "<&-"), ("stats", ">&-"), ("stats", "2>&-"), ("save a -", "<&- >&- 2>&-")]
)
def test_a_closed_stream_is_no_traceback(here: Path, data_dir: Path, command: str, closed: str) -> None:
    ready(data_dir)
    line = f"exec {closed} '{sys.executable}' -m engram_py {command}"
    done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, cwd=here, timeout=60, check=False)
    assert done.returncode in (0, 1)
    assert b"Traceback" not in done.stderr


@posix
def test_ctrl_c_is_exit_code_130_and_nothing_is_imported(start: Start, here: Path) -> None:
    pipe = here / "export.json"
    os.mkfifo(pipe)
    command = [sys.executable, "-m", "engram_py", "import", str(pipe)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=here) as process,
        pipe.open("wb"),  # opens when the command has come to reading
    ):
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)

    assert (process.returncode, stdout) == (130, b"")
    assert b"Traceback" not in stderr
    assert start("stats").stdout.startswith("0 observations, 0 sessions")


@posix
def test_a_folder_that_was_removed_under_the_command_is_no_traceback(data_dir: Path, tmp_path: Path) -> None:
    ready(data_dir)
    gone = tmp_path / "gone"
    gone.mkdir()
    for command in ("search x", "init gone", "--data-dir data stats"):
        line = f"cd '{gone}' && rmdir '{gone}' && exec '{sys.executable}' -m engram_py {command}"
        done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, timeout=60, check=False)
        gone.mkdir(exist_ok=True)

        assert done.returncode in (0, 1), command
        assert b"Traceback" not in done.stderr


def test_reading_a_file_that_a_vault_does_not_have_is_exit_code_1(start: Start, tmp_path: Path) -> None:
    start("vault", "init", str(tmp_path / "vault"))
    missing, there = start("vault", "read", "memory/databases.md"), start("vault", "read", "identity.md")
    assert (missing.code, there.code) == (1, 0)
    assert missing.stdout.startswith("No file memory/databases.md")


def test_a_home_directory_that_no_shell_expanded_is_expanded(start: Start, tmp_path: Path) -> None:
    made = start("export", "~/export.json", HOME=str(tmp_path))
    read = start("import", "~/export.json", HOME=str(tmp_path))
    assert (made.code, read.code, (tmp_path / "export.json").is_file()) == (0, 0, True)
