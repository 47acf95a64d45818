"""Projects that become one, and names that go on working."""

from __future__ import annotations

import pytest

from engram_py import Engram
from engram_py.errors import InvalidArgumentError
from engram_py.projects.values import InvalidProjectError, UnknownProjectError
from tests.memory import FakeClock, draft, rows_of, whole


def test_everything_of_a_merged_project_moves(app: Engram) -> None:
    app.save(draft("One.", title="Token storage backend"), project="old", session_id="s-1")
    app.save(draft("Two.", title="Token storage replaced"), project="old", session_id="s-1")
    app.prompts.save("Please.", project="old", session_id="s-1")
    kept = app.save(draft("Three."), project="new")

    merged = app.merging.merge(["old"], "new")
    assert (merged.into, merged.merged) == ("new", ("old",))
    assert (merged.observations, merged.sessions, merged.prompts, merged.folded_topics) == (2, 1, 1, 0)
    assert len(app.searches.search("one two three", project="new", floor=0.0).results) == 3
    assert {line.id for line in app.sessions.recent("new")} == {"s-1", kept.session_id}
    assert [prompt.content for prompt in app.prompts.recent("new")] == ["Please."]
    assert len(app.relations.pending("new")) == 1
    assert [(line.name, line.aliases) for line in app.projects.list()] == [("new", ("old",))]


def test_a_merged_name_goes_on_working(app: Engram) -> None:
    app.save(draft("One."), project="old")
    app.save(draft("Two."), project="new")
    app.merging.merge(["old"], "new")
    saved = app.save(draft("Three."), project="old")
    assert (saved.project, saved.warnings) == ("new", ())
    assert len(app.searches.search("one two three", project="old", floor=0.0).results) == 3


@pytest.mark.parametrize("late", ["old", "new"])
def test_a_topic_that_both_hold_keeps_both_texts_and_the_later_is_live(
    app: Engram, clock: FakeClock, late: str
) -> None:
    first = "new" if late == "old" else "old"
    app.save(draft("Earlier text.", topic_key="auth/tokens"), project=first)
    clock.advance(hours=1)
    later = app.save(draft("Later text.", topic_key="auth/tokens"), project=late)
    merged = app.merging.merge(["old"], "new")

    detail = app.get(later.id, history=True)
    assert merged.folded_topics == 1
    assert (detail.observation.content, detail.observation.project) == ("Later text.", "new")
    assert [old.content for old in detail.versions] == ["Earlier text."]
    assert [hit.id for hit in app.search("auth/tokens", project="new").results] == [later.id]
    assert app.save(draft("Newest.", topic_key="auth/tokens"), project="new").id == later.id


def test_topics_of_different_scopes_do_not_meet(app: Engram) -> None:
    app.save(draft("One.", topic_key="auth/tokens", scope="personal"), project="old")
    app.save(draft("Two.", topic_key="auth/tokens"), project="new")
    assert app.merging.merge(["old"], "new").folded_topics == 0


def test_several_projects_are_merged_in_one_call(app: Engram) -> None:
    for name in ("a-1", "b-2", "c-3"):
        app.save(draft(f"Text of {name}.", topic_key="auth/tokens"), project=name)
    merged = app.merging.merge(["a-1", "B-2", "a-1", " "], "c-3")
    assert (merged.merged, merged.observations, merged.folded_topics) == (("a-1", "b-2"), 2, 2)
    [row] = app.search("auth/tokens", project="c-3").results
    texts = {old.content for old in app.get(row.id, history=True).versions} | {whole(app, row.id).content}
    assert texts == {f"Text of {name}." for name in ("a-1", "b-2", "c-3")}


def test_names_chain_to_where_the_last_merge_put_them(app: Engram) -> None:
    app.save(draft("One."), project="a-1")
    app.save(draft("Two."), project="b-2")
    app.merging.merge(["a-1"], "b-2")
    app.merging.merge(["b-2"], "c-3")
    assert [app.save(draft("Three."), project=name).project for name in ("a-1", "b-2")] == ["c-3", "c-3"]
    queued = app.store.rows("select entity_key, project from sync_mutations where entity = 'alias'")
    assert {(row["entity_key"], row["project"]) for row in queued} == {("a-1", "c-3"), ("b-2", "c-3")}


def test_a_merge_into_a_new_name_creates_it_and_says_so(app: Engram) -> None:
    app.save(draft("One."), project="old")
    merged = app.merging.merge(["old"], "Brand New")
    assert merged.into == "brand new"
    assert merged.warnings == ('created project "brand new"',)


def test_a_merge_that_names_an_unknown_project_moves_nothing(app: Engram) -> None:
    app.save(draft("One."), project="rocket")
    app.save(draft("Two."), project="new")
    before = app.store.rows("select * from sync_mutations")
    with pytest.raises(UnknownProjectError) as refusal:
        app.merging.merge(["rocket", "rokcet"], "new")
    assert refusal.value.similar == ["rocket"]
    assert app.store.rows("select * from sync_mutations") == before
    assert {line.name for line in app.projects.list()} == {"rocket", "new"}


@pytest.mark.parametrize(
    ("sources", "into"), [(["old"], "old"), (["old"], "OLD"), (["old"], "alias"), ([], "new"), ([" "], "new")]
)
def test_a_merge_needs_sources_other_than_its_target(app: Engram, sources: list[str], into: str) -> None:
    app.save(draft("One."), project="old")
    app.merging.alias("alias", "old")
    with pytest.raises(InvalidArgumentError):
        app.merging.merge(sources, into)
    assert [line.name for line in app.projects.list()] == ["old"]


def test_a_merge_queues_every_row_that_moved(app: Engram) -> None:
    saved = app.save(draft("One."), project="old", session_id="s-1")
    prompt = app.prompts.save("Please.", project="old", session_id="s-1")
    app.merging.merge(["old"], "new")
    queued = {row["entity_key"]: (row["project"], row["op"]) for row in app.store.rows("select * from sync_mutations")}
    assert queued[saved.sync_id] == queued[prompt.sync_id] == queued["s-1"] == ("new", "upsert")


def test_an_alias_is_another_name_of_its_project(app: Engram) -> None:
    app.save(draft("One."))
    assert app.merging.alias("Wid Gets", "widgets") == ("wid gets", "widgets")
    assert app.save(draft("Two."), project="wid gets").project == "widgets"
    assert len(app.search("one two", project="wid gets").results) == 2
    assert app.merging.alias("w-2", "wid gets") == ("w-2", "widgets")
    assert rows_of(app, "projects") == 1


def test_a_project_with_memories_cannot_become_an_alias(app: Engram) -> None:
    app.save(draft("One."))
    app.save(draft("Two."), project="gadgets")
    with pytest.raises(InvalidArgumentError):
        app.merging.alias("gadgets", "widgets")
    with pytest.raises(InvalidArgumentError):
        app.merging.alias("widgets", "widgets")
    with pytest.raises(UnknownProjectError):
        app.merging.alias("other", "nobody")
    with pytest.raises(InvalidProjectError):
        app.merging.alias("a/b", "widgets")


def test_a_folded_topic_brings_its_whole_history(app: Engram, clock: FakeClock) -> None:
    for text in ("Old 1.", "Old 2.", "Old 3."):
        app.save(draft(text, topic_key="auth/tokens"), project="old")
    clock.advance(hours=1)
    for text in ("New 1.", "New 2."):
        later = app.save(draft(text, topic_key="auth/tokens"), project="new")
    app.merging.merge(["old"], "new")

    history = [old.content for old in reversed(app.get(later.id, history=True).versions)]
    assert history == ["New 1.", "Old 1.", "Old 2.", "Old 3."]
