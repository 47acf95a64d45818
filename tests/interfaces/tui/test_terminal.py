"""The command in terminals of every kind, and where it cannot draw."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from engram_py import Engram
from engram_py.interfaces.cli.main import cli
from tests.interfaces.tui.conftest import opened

# Foregrounds and backgrounds other than the terminal's own.
_COLOUR = re.compile(r"\x1b\[(?:[0-9;]*;)?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;[0-9;]*)?m")


@pytest.mark.parametrize("size", [(80, 24), (40, 12), (200, 60)])
async def test_a_screen_of_any_size_is_filled_and_not_exceeded(kept: Engram, size: tuple[int, int]) -> None:
    from rich.cells import cell_len

    async with opened(kept, size=size) as seen:
        for panel in "1234":
            await seen.press(panel)
            assert len(seen.screen) == size[1]
            assert {cell_len(line) for line in seen.screen} == {size[0]}
            assert "quit" in seen.screen[-1] or size[0] < 80
        await seen.press("1", "enter")
        assert "[#3] Webhooks may arrive twice" in seen.text
        await seen.press("escape")
        assert "#1" in seen.text


async def test_without_colours_the_place_is_shown_by_other_means(kept: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with opened(kept) as seen:
        await seen.press("p")
        styles = [
            segment.style
            for line in seen.app.screen._compositor.render_strips()
            for segment in line.apply_filter(seen.app._filters[-1], seen.app.screen.background_colors[0])
            if segment.style is not None and segment.text.strip()
        ]
        assert seen.app.no_color
        assert all(style.color is None or style.color.is_default for style in styles)
        assert all(style.bgcolor is None or style.bgcolor.is_default for style in styles)
        assert any(style.reverse for style in styles)


@pytest.fixture
def tmux(here: Path, kept: Engram, tmp_path: Path) -> Iterator[Callable[..., str]]:
    """A terminal of its own with the interface in it: ``tmux("send-keys", "j")``."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    server = ["tmux", "-S", str(tmp_path / "socket"), "-f", "/dev/null"]

    def run(*words: str) -> str:
        return subprocess.run([*server, *words], check=True, capture_output=True, text=True, timeout=60).stdout

    command = f"env NO_COLOR=1 EDITOR=true {sys.executable} -m engram_py tui"
    run("new-session", "-d", "-x", "80", "-y", "24", "-c", str(here), command)
    try:
        yield run
    finally:
        subprocess.run([*server, "kill-server"], check=False, capture_output=True)


def waited(tmux: Callable[..., str], text: str) -> str:
    """The screen once it shows a text."""
    until = time.monotonic() + 60
    while text not in (screen := tmux("capture-pane", "-p")):
        assert time.monotonic() < until, screen
        time.sleep(0.05)
    return screen


@pytest.mark.skipif(sys.platform == "win32", reason="no tmux")
def test_in_a_real_terminal_a_person_reads_edits_deletes_and_quits(tmux: Callable[..., str], kept: Engram) -> None:
    screen = waited(tmux, "[#3] Webhooks may arrive twice")
    assert len(screen.splitlines()) == 24
    assert "> #3 " in screen
    assert not _COLOUR.search(tmux("capture-pane", "-p", "-e"))
    tmux("send-keys", "j")
    waited(tmux, "[#2] Prices are integers of cents")
    tmux("send-keys", "e")  # an editor that leaves the text alone
    waited(tmux, "Unchanged [#2]")
    tmux("send-keys", "d")
    waited(tmux, 'Deleted [#2] "Prices are integers of cents"')
    assert [one.id for one in kept.bulk.listed().items] == [3, 1]
    tmux("send-keys", "u")
    waited(tmux, "Restored [#2]")
    tmux("send-keys", "3", "/", "access tokens", "Enter")
    waited(tmux, "Why this")
    tmux("send-keys", "q")
    until = time.monotonic() + 60
    while "no server" not in (done := subprocess_error(tmux)):
        assert time.monotonic() < until, done
        time.sleep(0.05)


def subprocess_error(tmux: Callable[..., str]) -> str:
    """What tmux says once the only program in it has ended."""
    try:
        return tmux("capture-pane", "-p")
    except subprocess.CalledProcessError as exc:
        return f"no server: {exc.stderr}"


@pytest.fixture
def run_tui(here: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], str]:
    def run() -> str:
        done = CliRunner().invoke(cli, ["tui"], prog_name="engram")
        assert done.exit_code == 1
        return done.stderr

    return run


def test_without_a_terminal_it_names_commands_that_need_none(run_tui: Callable[[], str]) -> None:
    assert run_tui().startswith("engram: no_terminal: engram tui needs a terminal")


def test_a_terminal_that_cannot_move_its_cursor_is_refused(
    run_tui: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engram_py.interfaces.cli.servers.is_terminal", lambda: True)
    monkeypatch.setenv("TERM", "dumb")
    assert "TERM is dumb" in run_tui()


def test_without_the_extra_it_says_how_to_install_it(
    run_tui: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "pip install 'engram-py[tui]'" in run_tui()


def test_no_other_command_imports_textual(here: Path) -> None:
    probe = "import sys; from engram_py.interfaces.cli.main import run; sys.argv = ['engram', 'list']; run()"
    code = f"{probe}; sys.exit(any(name.split('.')[0] == 'textual' for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], cwd=here, env=os.environ, check=False).returncode == 0
