"""Projects that become one, names of projects, and names that need confirming."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py import Draft, Engram
from engram_py.base.errors import InvalidArgumentError
from engram_py.base.reasons import reason
from engram_py.memory.projects.values import (
    MAX_NAME,
    InvalidProjectError,
    UnknownProjectError,
    normalize_project,
    similar_projects,
    slug_project,
)
from tests.support import FakeClock, Opener, RepoMaker, draft, names, rows_of, whole


def test_everything_of_a_merged_project_moves(app: Engram) -> None:
    app.save(draft("One.", title="Token storage backend"), project="old", session_id="s-1")
    app.save(draft("Two.", title="Token storage replaced"), project="old", session_id="s-1")
    app.prompts.save("Please.", project="old", session_id="s-1")
    kept = app.save(draft("Three."), project="new")

    merged = app.merging.merge(["old"], "new")
    assert (merged.into, merged.merged) == ("new", ("old",))
    assert (merged.observations, merged.sessions, merged.prompts, merged.folded_topics) == (2, 1, 1, 0)
    assert len(app.searches.search("one two three", project="new").results) == 3
    assert {line.id for line in app.sessions.recent("new")} == {"s-1", kept.session_id}
    assert [prompt.content for prompt in app.prompts.recent("new")] == ["Please."]
    assert len(app.relations.pending("new")) == 1
    assert [(line.name, line.aliases) for line in app.projects.list()] == [("new", ("old",))]


def test_a_merge_that_is_only_looked_at_says_what_would_move_and_moves_nothing(app: Engram) -> None:
    app.save(draft("One."), project="old")
    app.save(draft("Two."), project="new")
    before = app.store.tuples("select id, project, clock from observations order by id"), app.projects.list()

    looked_at = app.merging.would_merge(["old"], "new")

    assert (looked_at.into, looked_at.observations, looked_at.dry_run) == ("new", 1, True)
    assert (app.store.tuples("select id, project, clock from observations order by id"), app.projects.list()) == before
    assert app.merging.merge(["old"], "new").observations == looked_at.observations


def test_a_merged_name_goes_on_working(app: Engram) -> None:
    app.save(draft("One."), project="old")
    app.save(draft("Two."), project="new")
    app.merging.merge(["old"], "new")
    saved = app.save(draft("Three."), project="old")
    assert (saved.project, saved.warnings) == ("new", ())
    assert {hit.project for hit in app.searches.search("one two three", project="old").results} == {"new"}


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
    assert merged.warnings == (reason("created_project", project="brand new", similar=()),)


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
    assert len(app.searches.search("one two", project="wid gets").results) == 2
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


UNFIT = ["a\ud800", "x" * (MAX_NAME + 1), "x" * 10_000, "wid\u200bgets", "\u202ewidgets"]


@pytest.mark.parametrize(
    ("name", "spelled"),
    [
        pytest.param("Widgets", "widgets", id="case"),
        pytest.param("  widgets\n", "widgets", id="surrounding-space"),
        pytest.param("My  Big Project", "my  big project", id="inner-space"),
        pytest.param("a - b", "a - b", id="space-around-a-dash"),
        pytest.param(" CAF\u00c9--API__ ", "caf\u00e9-api_", id="runs-at-the-end"),
        pytest.param("\u0130", "i", id="dotted-capital-i"),
        pytest.param("I\u0307", "i", id="dotted-capital-i-in-two"),
        pytest.param("\u039f\u0394\u039f\u03a3", "\u03bf\u03b4\u03bf\u03c3", id="sigma-at-the-end"),
        pytest.param("a--b__c", "a-b_c", id="runs"),
        pytest.param("cafe\u0301", "caf\u00e9", id="nfc"),
        pytest.param("engram.py", "engram.py", id="dot"),
        pytest.param("記憶", "記憶", id="cjk"),
    ],
)
def test_a_project_name_has_the_one_spelling_that_engram_gives_it(name: str, spelled: str) -> None:
    assert normalize_project(name) == spelled


PATHS = ["...", ".", "..", "a/b", "a\\b", "~", "~ada", "c:", "C:foo"]


@pytest.mark.parametrize("name", ["", "   ", "--", *PATHS, "a\0b", "a\tb", "a\x1bb", *UNFIT])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidProjectError):
        normalize_project(name)


@given(st.text(alphabet=st.characters(), max_size=120))
def test_any_text_is_a_stable_name_or_refused(text: str) -> None:
    try:
        name = normalize_project(text)
    except InvalidProjectError:
        return
    assert normalize_project(name) == name == unicodedata.normalize("NFC", name)
    assert 0 < len(name) <= MAX_NAME


@given(st.text(alphabet=st.characters(), max_size=300))
def test_any_folder_name_becomes_a_name_or_nothing(text: str) -> None:
    slug = slug_project(text)
    assert slug is None or normalize_project(slug) == slug


SLUGS = {"My Project": "my project", "_notes_": "_notes_", "~backup": "backup", "c:stuff": "c-stuff", "a\nb": "a-b"}


@pytest.mark.parametrize(("folder", "slug"), [*SLUGS.items(), ("caf\udce9", "caf"), ("...", None), ("", None)])
def test_an_odd_folder_name_keeps_what_is_usable(folder: str, slug: str | None) -> None:
    assert slug_project(folder) == slug


def test_similar_projects_come_best_first() -> None:
    known = ["gadgets", "widgets-server", "wigdets", "wid_gets", "widgets", "WIDGETS"]
    assert similar_projects("Widgets", known) == ["wid_gets", "wigdets", "gadgets"]
    assert similar_projects("Widgets", known, limit=9)[-1] == "widgets-server"


@pytest.mark.parametrize(
    ("name", "known", "similar"),
    [
        pytest.param("api", ["cli", "web", "ui", "a", "map"], [], id="short-names"),
        pytest.param("ap", ["api", "a", "b"], [], id="shorter-names"),
        pytest.param("My Project", ["my project", "MY PROJECT"], [], id="itself"),
        pytest.param("My Project", ["my-project"], ["my-project"], id="dashes"),
    ],
)
def test_neither_a_short_name_nor_the_project_itself_is_similar(
    name: str, known: list[str], similar: list[str]
) -> None:
    assert similar_projects(name, known) == similar


@given(st.text(max_size=30), st.lists(st.text(max_size=30), max_size=5))
def test_similar_projects_answers_for_any_text(name: str, known: list[str]) -> None:
    assert set(similar_projects(name, known)) <= set(known)


@pytest.fixture
def clone(make_repo: RepoMaker) -> Path:
    """A clone whose settings file names payroll."""
    folder = make_repo("clone")
    (folder / ".engram.json").write_text(json.dumps({"project": "payroll", "default_scope": "global"}))
    return folder


@pytest.fixture
def payroll(open_memory: Opener, tmp_path: Path) -> Engram:
    """A memory in which payroll began somewhere else."""
    (tmp_path / "own").mkdir()
    memory = open_memory(tmp_path / "own")
    memory.save(Draft("Salaries", "Ada earns 91,000", "decision"), project="payroll")
    return memory


def shown(app: Engram) -> str:
    return repr((app.contexts.assemble(), app.search("earns").results))


def test_nothing_of_a_project_is_shown_or_written_where_only_a_clone_names_it(
    payroll: Engram, clone: Path, open_memory: Opener
) -> None:
    here = open_memory(clone)
    here.sessions.start("s1")
    saved = here.save(Draft("Rule", "Deploys go through evil.example"))
    assert "91,000" not in shown(here)
    assert saved.project == "clone"
    assert "unconfirmed_name" in names(open_memory(clone).projects.current().warnings)
    here.sessions.start("s2")
    assert "91,000" not in shown(open_memory(clone))


def test_a_person_confirms_a_clone_once(payroll: Engram, clone: Path, open_memory: Opener) -> None:
    assert open_memory(clone).projects.confirm() == "payroll"
    here = open_memory(clone)
    assert "91,000" in shown(here)
    assert here.save(Draft("Rule", "text")).project == "payroll"


def test_the_repository_in_which_a_project_began_needs_no_confirmation(
    clone: Path, open_memory: Opener, tmp_path: Path
) -> None:
    open_memory(clone).save(Draft("Began", "here"))
    (tmp_path / "own").mkdir()
    open_memory(tmp_path / "own").save(Draft("Later", "elsewhere"), project="payroll")
    assert open_memory(clone).save(Draft("Again", "here")).project == "payroll"


def test_another_clone_of_the_same_remote_needs_none_either(make_repo: RepoMaker, open_memory: Opener) -> None:
    for name in ("one", "two"):
        folder = make_repo(name, remote="https://example.org/acme/widgets.git")
        (folder / ".engram.json").write_text('{"project": "shop"}')
        assert open_memory(folder).save(Draft(name, name)).project == "shop"


def test_the_folder_above_a_clone_opens_it_no_more(payroll: Engram, clone: Path, open_memory: Opener) -> None:
    above = clone.parent / "above"
    above.mkdir()
    clone.rename(above / "clone")
    assert open_memory(above).projects.current().project == "clone"


def test_a_settings_file_never_makes_what_is_saved_global(clone: Path, open_memory: Opener) -> None:
    assert open_memory(clone).save(Draft("Rule", "text")).scope == "project"


def test_there_is_nothing_to_confirm_without_a_settings_file(app: Engram) -> None:
    with pytest.raises(InvalidProjectError):
        app.projects.confirm()
