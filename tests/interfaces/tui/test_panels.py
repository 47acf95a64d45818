"""Each list with its preview, narrowed and empty."""

from __future__ import annotations

from textual import events

from engram_py import Draft, Engram
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
        assert "words it has: access, tokens" in seen.preview
        for shown in (f"{numbers.score:.2f}", f"{numbers.bm25:.2f}", f"{numbers.probability:.0%}"):
            assert shown in seen.preview
        assert "An answer needs a probability of" in seen.preview
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
        assert "Given nothing. Asked again now: " in seen.preview
        assert "A session of widgets that starts now begins with" in seen.preview
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
        assert "Nothing is kept here yet." in seen.preview
        await seen.press("2")
        assert "No session yet." in seen.preview
        await seen.press("4")
        assert "Nothing waits for you." in seen.preview
        await seen.press("d")
        assert "No memory is chosen here" in seen.status


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
        assert "take the last change back" in seen.text
        await seen.press("escape")
        assert "take the last change back" not in seen.text


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
