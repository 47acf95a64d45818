"""The Tab key: a script for each shell, and what a shell is answered."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.interfaces.cli.conftest import Run, Start, answer


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_printed(run: Run, shell: str) -> None:
    printed = run("completion", shell).stdout
    assert f"_ENGRAM_COMPLETE={shell}_complete" in printed
    assert answer(run("completion", shell, "--json")) == {"shell": shell, "script": printed.removesuffix("\n")}


def test_another_shell_is_wrong_usage(run: Run) -> None:
    assert run("completion", "tcsh").exit_code == 2


@pytest.mark.parametrize(
    ("words", "last", "offered"),
    [
        pytest.param("engram", "und", {"undo", "undelete"}, id="commands"),
        pytest.param("engram projects", "re", {"rename"}, id="of-a-group"),
        pytest.param("engram cloud", "en", {"enroll"}, id="of-a-lazy-group"),
        pytest.param("engram search", "--exp", {"--explain"}, id="options"),
        pytest.param("engram completion", "z", {"zsh"}, id="choices"),
    ],
)
def test_a_shell_is_answered_what_may_follow(start: Start, words: str, last: str, offered: set[str]) -> None:
    count = str(len(words.split()))
    done = start(_ENGRAM_COMPLETE="bash_complete", COMP_WORDS=f"{words} {last}", COMP_CWORD=count)
    assert {line.partition(",")[2] for line in done.stdout.splitlines()} == offered


@pytest.mark.skipif(sys.platform == "win32" or shutil.which("bash") is None, reason="needs bash")
def test_bash_itself_takes_the_script(run: Run, tmp_path: Path) -> None:
    program = tmp_path / "engram"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m engram_py "$@"\n')
    program.chmod(0o755)
    script = run("completion", "bash").stdout
    asks = f"PATH={tmp_path}:$PATH; COMP_WORDS=(engram unsetu); COMP_CWORD=1"
    asks += "; _engram_completion engram; echo ${COMPREPLY[0]}"
    done = subprocess.run(["bash", "-c", f"{script}\n{asks}"], capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout == "unsetup\n"
