"""The same actions as the page has: guards, projects, upkeep, merging, moving and writing; and rendered Markdown."""

from __future__ import annotations

from pathlib import Path

from engram_py import Draft, Engram
from tests.interfaces.tui.conftest import Seen, opened

MARKDOWN = """# Heading

**What**: Use `pnpm`.
**Why**: one *lock* file.

- first
- second

| name | value |
| ---- | ----- |
| port | 8080  |

```python
print("code")
```

[a page](https://example.invalid/page) and &#x202e;turned
"""


async def dialog(seen: Seen, key: str, text: str) -> None:
    """Answer a dialog that asks for a text."""
    await seen.press(key)
    await seen.press(*("space" if char == " " else char for char in text), "enter")


async def test_markdown_is_rendered_and_nothing_of_it_is_obeyed(app: Engram) -> None:
    app.save(Draft("Marks", MARKDOWN))
    async with opened(app) as seen:
        shown = seen.preview
        assert "What: Use pnpm.\nWhy: one lock file." in shown
        assert " • first" in shown
        assert "port" in shown
        assert not any(mark in shown for mark in ("**", "`", "# Heading", "| ----", "\u202e"))
        assert "a page (https://example.invalid/page)" in shown
        assert "⟦RLO⟧turned" in shown


async def test_types_and_ages_stand_in_columns_and_summaries_are_called_by_their_goal(app: Engram) -> None:
    app.save(Draft("Session summary: widgets", "## Goal\nMove the queue to Redis\n\n## Done\nAll.", "session_summary"))
    app.save(Draft("A decision", "Text.", "decision"))
    async with opened(app) as seen:
        first, second = seen.screen[2:4]
        assert "Move the queue to Redis" in second
        assert first.index("decision", 20) == second.index("session_sum")
        assert first.rindex("now") == second.rindex("now")
        assert "by an agent" in seen.preview


async def test_a_guard_is_accepted_switched_off_removed_and_put_back(kept: Engram) -> None:
    decided = kept.save(Draft("Use pnpm, not npm", "Agreed.", "decision")).id
    kept.sessions.start("run-1")
    async with opened(kept) as seen:
        await seen.press("5")
        assert seen.list[0].startswith("> offered")
        await seen.press("a")
        assert seen.list[0].startswith("> guard")
        assert "0 warnings, 0 heeded" in seen.list[0]
        await seen.press("o")
        assert "u: undo" in seen.status
        await seen.press("u", "d")
        assert kept.guards.listed() == ()
        await seen.press("u")
        assert [one.id for one in kept.guards.listed()] == [decided]


async def test_a_declined_guard_is_offered_no_more(kept: Engram) -> None:
    kept.save(Draft("Use pnpm, not npm", "Agreed.", "decision"))
    async with opened(kept) as seen:
        await seen.press("5", "c")
        assert not kept.guards.offered()
        await seen.press("u")
        assert kept.guards.offered()


async def test_a_memory_is_moved_merged_and_both_are_taken_back(kept: Engram) -> None:
    kept.save(Draft("Elsewhere", "Text."), project="gadgets")
    async with opened(kept) as seen:
        await seen.press("w", "enter")
        assert kept.get(3).observation.project == "gadgets"
        await seen.press("u")
        assert kept.get(3).observation.project == "widgets"
        await seen.press("g")
        await dialog(seen, "m", "2")
        assert "Replaced: searches find [#2]" in seen.status
        assert kept.get(2).relations
        await seen.press("u")
        assert not [note for note in kept.get(2).relations if note.label == "supersedes"]


async def test_projects_are_merged_after_a_question(kept: Engram) -> None:
    kept.save(Draft("Elsewhere", "Text."), project="gadgets")
    async with opened(kept) as seen:
        await seen.press("6")
        assert "gadgets" in seen.list[0]
        await seen.press("m", "enter", "enter")
        assert len(kept.projects.list()) == 2
        await seen.press("m", "enter", "j", "enter")
        assert [one.name for one in kept.projects.list()] == ["widgets"]
        await seen.press("enter")
        assert len(seen.list) == 4


async def test_a_search_shows_what_has_some_of_its_words(kept: Engram) -> None:
    async with opened(kept) as seen:
        await seen.press("3")
        await seen.type("tokens of the moon rocket engine")
        assert "Refresh tokens live 30 days" in seen.preview


async def test_upkeep_is_run_switches_turn_and_statements_are_kept(kept: Engram) -> None:
    async with opened(kept) as seen:
        await seen.press("7", "r")
        assert "consolidate" in seen.status
        await seen.press("j", "j", "j", "r")
        assert not kept.switches.allowed("widgets").enabled
        await seen.press("u")
        assert kept.switches.allowed("widgets").enabled
        await dialog(seen, "n", "I prefer tabs")
        assert any("I prefer tabs" in line for line in seen.list)


async def test_an_earlier_text_comes_back(kept: Engram) -> None:
    kept.save(Draft("Key", "One.", topic_key="a/b"))
    kept.save(Draft("Key", "Two.", topic_key="a/b"))
    async with opened(kept) as seen:
        await seen.press("r", "enter")
        assert "One." in seen.preview.partition("earlier")[0]
        await seen.press("u")
        assert "Two." in seen.preview


async def test_a_new_memory_is_written_in_the_editor(kept: Engram, editor: Path) -> None:
    editor.write_text(
        "import pathlib, sys\nfile = pathlib.Path(sys.argv[1])\n"
        "file.write_text(file.read_text().replace('title:', 'title: Ports', 1) + 'It is 8080.')"
    )
    async with opened(kept) as seen:
        await seen.press("n")
        assert 'Saved [#4] "Ports"' in seen.status
        assert kept.get(4).observation.origin == "user"
        await seen.press("g")
        assert "It is 8080." in seen.preview
