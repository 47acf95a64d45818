"""Whatever a memory holds is shown as text."""

from __future__ import annotations

import pytest

from engram_py import Draft, Engram
from engram_py.interfaces.tui.rows import padded, printable, shown_line
from tests.interfaces.tui.conftest import opened

MARKUP = "[red]loud[/red] [@click=app.quit]press[/] [bold"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("\x1b[31mred\x1b[0m", "␛[31mred␛[0m", id="escape"),
        pytest.param("a\x00b", "a␀b", id="nul"),
        pytest.param("\x9b31m", "⟦U+009B⟧31m", id="one-byte-escape"),
        pytest.param("\u202efdp.exe", "⟦RLO⟧fdp.exe", id="turned-around"),
        pytest.param("\u200fmark", "⟦R⟧mark", id="right-to-left-mark"),
        pytest.param("a\u200bb\U000e0041", "a⟦U+200B⟧b⟦U+E0041⟧", id="unseen"),
        pytest.param("\ud800", "⟦U+D800⟧", id="half-a-pair"),
        pytest.param("one\r\ntwo\rthree\tfour", "one\ntwo␍three    four", id="line-ends"),
        pytest.param("עברית 日本語 é", "עברית 日本語 é", id="scripts"),
    ],
)
def test_what_a_terminal_would_obey_is_named(text: str, shown: str) -> None:
    assert printable(text) == shown


@pytest.mark.parametrize("text", ["x" * 10_000, "日本" * 5_000, "e\u0301" * 5_000, "\x1b" * 10_000, " \n" * 5_000])
def test_a_line_is_as_wide_as_it_may_be(text: str) -> None:
    from rich.cells import cell_len

    assert cell_len(padded(text, 20)) == 20
    assert cell_len(shown_line(text, 20)) <= 20


async def test_markup_and_escapes_of_a_memory_are_shown_and_do_nothing(app: Engram) -> None:
    app.save(Draft(f"{MARKUP} \x1b[31m", f"{MARKUP}\n\x1b]0;owned\x07 \u202eturned", type="note"))
    async with opened(app, size=(120, 30)) as seen:
        assert "[red]loud[/red]" in seen.list[0]
        assert f"{MARKUP}\n turned" in seen.preview
        assert not any(char in seen.text for char in "\x1b\x07\u202e")
        await seen.press("d")
        assert "[red]loud[/red]" in seen.status
        await seen.press("2")
        assert "[red]loud" in seen.text


async def test_a_title_of_ten_thousand_letters_takes_one_line(app: Engram) -> None:
    app.save(Draft("short", "A text."))
    with app.store.transaction():
        app.store.update("observations", {"id": 1}, {"title": "y" * 10_000})
    async with opened(app) as seen:
        assert len(seen.list) == 1
        assert seen.list[0].endswith("now")
        assert "y" * 1_000 in seen.preview


async def test_markup_in_the_filter_is_text(app: Engram) -> None:
    app.save(Draft("short", "A text."))
    async with opened(app) as seen:
        await seen.press("3", "slash")
        seen.app.query_one("#ask").value = "[/red] [bold"  # type: ignore[attr-defined]
        await seen.press("enter")
        assert "[/red] [bold" in seen.text
