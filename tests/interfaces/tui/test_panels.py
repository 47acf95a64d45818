"""Each list with its preview, and the whole interface in a real terminal."""

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
from textual import events

from engram_py import Draft, Engram
from engram_py.base.dataclass import replace
from engram_py.interfaces.cli.main import cli
from engram_py.memory.observations.values import Change
from tests.interfaces.tui.conftest import opened


async def test_memories_are_listed_latest_first_with_the_chosen_one_beside(kept: Engram) -> None:
    async with opened(kept) as seen:
        assert [line.split()[1 if line.startswith(">") else 0] for line in seen.list] == ["#3", "#2", "#1"]
        assert "[#3] Webhooks may arrive twice" in seen.preview
        await seen.press("j", "j")
        assert "Refresh tokens live 30 days and rotate on use." in seen.preview
        assert "now" in seen.list[0]


async def test_filters_narrow_the_memories_and_an_empty_line_shows_all_again(kept: Engram) -> None:
    kept.save(Draft("A note", "Of something else.", type="note"))
    async with opened(kept) as seen:
        await seen.type("type:note")
        assert len(seen.list) == 1
        assert "A note" in seen.list[0]
        await seen.press("slash", *["backspace"] * len("type:note"), "enter")
        assert len(seen.list) == 4


async def test_words_in_the_filter_of_memories_are_searched_for(kept: Engram) -> None:
    async with opened(kept) as seen:
        await seen.type("how long do access tokens live")
        assert seen.app.panel.name == "Search"
        assert "#1 Access tokens live" in seen.list[0]


async def test_a_hit_says_why_it_is_there_in_the_numbers_of_explain(kept: Engram) -> None:
    found = kept.search("access tokens", explain=True)
    assert found.explain is not None
    numbers = found.explain.hits[0]
    async with opened(kept) as seen:
        await seen.press("3")
        assert "Press / and type a question" in seen.preview
        await seen.type("access tokens")
        assert "matched words: access, tokens" in seen.preview
        for shown in (f"{numbers.score:.2f}", f"{numbers.passage:.2f}", f"{numbers.whole:.2f}"):
            assert shown in seen.preview
        assert "It took" in seen.preview
        assert "Refresh tokens live 30 days" in seen.preview


async def test_an_empty_answer_explains_itself(kept: Engram) -> None:
    async with opened(kept) as seen:
        await seen.press("3")
        await seen.type("kubernetes")
        assert seen.list == []
        assert 'Nothing found for "kubernetes"' in seen.preview


async def test_a_session_shows_what_it_was_given_and_why_a_prompt_got_nothing(kept: Engram) -> None:
    kept.sessions.start("run-1", project="widgets")
    kept.prompts.save("Write a haiku about the sea", session_id="run-1")
    kept.citations.inject("run-1", {1: 120}, "session")
    async with opened(kept) as seen:
        await seen.press("2")
        await seen.type("run-1")
        assert len(seen.list) == 1
        assert "Given at the start\n  [#1] Access tokens live 15 minutes (decision)" in seen.preview
        assert "Write a haiku about the sea" in seen.preview
        assert "Nothing given. Reason today: " in seen.preview
        assert "A new session of widgets starts with" in seen.preview
        assert "<engram-memory" in seen.preview


async def test_review_lists_what_waits_and_accepting_takes_it_off_the_list(kept: Engram) -> None:
    kept.save(Draft("Refunds take five days", "Distilled from a session.", type="fact", origin="derived"))
    async with opened(kept) as seen:
        await seen.press("4")
        assert "derived Refunds take five days" in seen.list[0]
        assert "Derived, not confirmed" in seen.preview
        await seen.press("a")
        assert seen.list == []
        assert kept.get(4).observation.origin == "user"
        await seen.press("u")
        assert kept.get(4).observation.origin == "derived"


async def test_review_shows_both_texts_of_two_edits_and_accepting_keeps_the_one_that_was_taken(kept: Engram) -> None:
    [state] = kept.replica.states("observation", [kept.get(1).observation.sync_id])
    kept.observations.update(1, Change(content="By Ada."))
    theirs = state.payload | {"content": "By Bob.", "revision_count": 2}
    kept.replica.apply([replace(state, payload=theirs)], source="git:widgets")
    async with opened(kept) as seen:
        await seen.press("4")
        assert "two edits" in seen.list[0]
        assert "By Bob." in seen.preview
        assert "By Ada." in seen.preview
        await seen.press("a")
        assert seen.list == []
    assert kept.get(1).observation.content == "By Ada."


async def test_a_pair_is_judged_by_choosing_how_the_two_relate(kept: Engram) -> None:
    kept.save(Draft("Access tokens live 15 minutes or less", "Refresh tokens live 30 days and rotate on use, always."))
    [pair] = kept.relations.pending("widgets")
    async with opened(kept) as seen:
        await seen.press("4")
        assert "Possible contradiction" in seen.preview
        await seen.press("v")
        assert "conflicts with" in seen.text
        await seen.press("down", "enter")
        assert kept.relations.show(pair.sync_id).relation == "compatible"
        assert seen.list == []


async def test_an_empty_memory_says_what_to_do_on_every_panel(app: Engram) -> None:
    async with opened(app, project=None) as seen:
        assert "No memory is saved here yet." in seen.preview
        await seen.press("2")
        assert "No session yet." in seen.preview
        await seen.press("4")
        assert "Nothing to review." in seen.preview
        await seen.press("d")
        assert "Select a memory first." in seen.status


async def test_another_project_is_chosen_from_a_list(kept: Engram) -> None:
    kept.save(Draft("Of gadgets", "Something."), project="gadgets")
    async with opened(kept) as seen:
        assert len(seen.list) == 3
        await seen.press("p")
        assert "all projects" in seen.text
        await seen.press("enter")
        assert len(seen.list) == 4
        assert "gadgets" in seen.list[0]


async def test_the_keys_are_shown_and_closed(kept: Engram) -> None:
    async with opened(kept) as seen:
        await seen.press("question_mark")
        assert "undo the last change" in seen.text
        await seen.press("escape")
        assert "undo the last change" not in seen.text


async def test_keys_that_come_all_at_once_reach_what_they_were_meant_for(kept: Engram) -> None:
    async with opened(kept) as seen:
        for key in ("j", "3", "slash", *"dead", "enter"):
            character = "/" if key == "slash" else key if len(key) == 1 else None
            seen.app.post_message(events.Key(key, character))
        await seen.until(lambda: "dead" in seen.app.panel.typed)
        await seen.settled()
        assert seen.app.panel.name == "Search"
        assert len(kept.bulk.listed().items) == 3
        assert "/ dead" in seen.text


async def test_the_preview_is_read_in_the_full_width_and_scrolled_by_the_keys_of_the_list(kept: Engram) -> None:
    kept.save(Draft("Long", "\n".join(f"line {number}" for number in range(100))))
    async with opened(kept) as seen:
        assert "line 5" in seen.text
        assert "line 90" not in seen.text
        await seen.press("enter", "space", "space", "space", "space", "space")
        assert "line 99" in seen.text
        await seen.press("k", "escape")
        assert "#1" in seen.text


# Foregrounds and backgrounds other than the terminal's own.
_COLOUR = re.compile(r"\x1b\[(?:[0-9;]*;)?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;[0-9;]*)?m")


@pytest.mark.parametrize("size", [(80, 24), (40, 12), (200, 60)])
async def test_a_screen_of_any_size_is_filled_and_not_exceeded(kept: Engram, size: tuple[int, int]) -> None:
    from rich.cells import cell_len

    async with opened(kept, size=size) as seen:
        for panel in "1234567":
            await seen.press(panel)
            assert len(seen.screen) == size[1]
            assert {cell_len(line) for line in seen.screen} == {size[0]}
            assert "? keys" in seen.screen[-1] or size[0] < 80
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
    waited(tmux, "No change to [#2]")
    tmux("send-keys", "d")
    waited(tmux, 'Deleted [#2] "Prices are integers of cents"')
    assert [one.id for one in kept.bulk.listed().items] == [3, 1]
    tmux("send-keys", "u")
    waited(tmux, "Took back the deletion of [#2]")
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


def test_no_other_command_imports_textual(here: Path) -> None:
    probe = "import sys; from engram_py.interfaces.cli.main import run; sys.argv = ['engram', 'list']; run()"
    code = f"{probe}; sys.exit(any(name.split('.')[0] == 'textual' for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], cwd=here, env=os.environ, check=False).returncode == 0
