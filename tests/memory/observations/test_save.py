"""Outcomes of a save: a new row, a revision, a duplicate; and a model of all writes."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram_py import Draft, Engram
from engram_py.base.errors import ConflictError, TextTooLongError
from engram_py.base.reasons import reason
from engram_py.base.settings import Settings
from engram_py.memory.observations import table
from engram_py.memory.observations.errors import ObservationNotFoundError
from engram_py.memory.observations.values import Change
from engram_py.memory.privacy.provenance import arrival_of
from tests.support import START, FakeClock, draft, rows_of, whole


def test_a_new_text_is_added_with_its_identity_and_its_place(app: Engram) -> None:
    saved = app.save(draft("Fifteen minutes.", type="Decision", tool_name="mem_save"))

    kept = whole(app, saved.id)
    assert (saved.outcome, saved.project, saved.project_source) == ("added", "widgets", "dir_basename")
    assert (kept.title, kept.content, kept.type) == ("Token lifetime", "Fifteen minutes.", "decision")
    assert (kept.scope, kept.origin, kept.lifecycle, kept.tool_name) == ("project", "agent", "active", "mem_save")
    assert (kept.revision_count, kept.duplicate_count, kept.pinned) == (1, 1, False)
    assert kept.created_at == kept.updated_at == kept.last_seen_at == "2026-03-01T10:00:00.000Z"
    assert kept.sync_id.startswith("obs-")
    assert len(kept.sync_id) == len("obs-") + 16


@pytest.mark.parametrize(("title", "content"), [
    ("Token lifetime", "Fifteen minutes."), ("token  LIFETIME", "fifteen\n minutes."), ("Café", "Ein Café."),
    ("Cafe\u0301", "EIN CAFE\u0301."),
])  # fmt: skip
@pytest.mark.parametrize("days", [0, 1, 400])
def test_the_same_text_is_one_memory_whenever_it_is_saved_again(
    app: Engram, clock: FakeClock, days: int, title: str, content: str
) -> None:
    first = {
        one: app.save(draft(one, title=head))
        for head, one in (("Token lifetime", "Fifteen minutes."), ("Café", "Ein Café."))
    }
    clock.advance(days=days)

    second = app.save(draft(content, title=title))

    assert (second.outcome, second.duplicate_count) == ("duplicate", 2)
    assert second.id in {one.id for one in first.values()}
    assert whole(app, second.id).last_seen_at == app.journal.now()


def gone(app: Engram, row: int, how: str) -> None:
    match how:
        case "deleted":
            app.observations.delete(row)
        case "archived":
            app.observations.update(row, Change(archived=True))
        case "replaced":
            other = app.save(draft("One hour.", title="Another")).id
            app.relations.compare(other, row, "supersedes", confidence=1.0, reasoning="later", by="agent")
        case "expired":
            app.observations.update(row, Change(expires_at="2026-03-02"))
        case _:
            with app.store.transaction():
                arrival = arrival_of(app.store, "git:widgets", "eve", "Eve")
                app.store.update("observations", {"id": row}, {"arrival": arrival})


@pytest.mark.parametrize("how", ["deleted", "archived", "replaced", "expired", "from elsewhere"])
def test_a_text_that_the_user_has_no_current_row_of_gets_a_row_of_its_own(
    app: Engram, clock: FakeClock, how: str
) -> None:
    first = app.save(draft("Fifteen minutes."))
    gone(app, first.id, how)
    clock.advance(days=2)
    before = app.store.row("select * from observations where id = :id", id=first.id)

    second, third = app.save(draft("Fifteen minutes.")), app.save(draft("Fifteen minutes."))

    assert (second.outcome, third.outcome, third.id) == ("added", "duplicate", second.id)
    assert second.id != first.id
    assert app.store.row("select * from observations where id = :id", id=first.id) == before


def test_a_fact_in_the_words_of_another_entity_is_a_fact_of_its_own(app: Engram) -> None:
    ada, bob = (app.facts.add(name, "Works on the parser.", checked=False) for name in ("Ada", "Bob"))
    assert (ada.outcome, bob.outcome) == ("added", "added")


def test_a_note_in_the_words_of_another_day_is_a_note_of_its_own(app: Engram, clock: FakeClock) -> None:
    first, again = app.notes.add("Watered the plants."), app.notes.add("Watered the plants.")
    clock.advance(days=1)
    second = app.notes.add("Watered the plants.")
    earlier = app.notes.add("Watered the plants.", at="2026-03-01T12:00:00.000Z")

    assert (again.id, earlier.id) == (first.id, first.id)
    assert second.outcome == "added"


def test_an_equal_text_is_found_by_one_step_into_the_index_however_many_rows_there_are(app: Engram) -> None:
    key = {
        "content_hash": "",
        "project": "",
        "scope": "",
        "type": "",
        "about": None,
        "now": "",
        "since": "",
        "until": "",
    }
    plan = [row["detail"] for row in app.store.rows("explain query plan " + table.EQUAL_TEXT, **key)]
    assert any("USING INDEX observations_hash (content_hash=? AND project=?)" in one for one in plan)
    assert not any("TEMP B-TREE" in one for one in plan)


def test_a_duplicate_is_counted_and_leaves_the_text_and_its_date_alone(app: Engram, clock: FakeClock) -> None:
    first = app.save(draft("Fifteen minutes."))
    clock.advance(minutes=5)
    second = app.save(draft("Fifteen minutes."))

    kept = whole(app, first.id)
    assert (second.revision_count, second.duplicate_count) == (1, 2)
    assert (kept.created_at, kept.updated_at) == ("2026-03-01T10:00:00.000Z",) * 2
    assert kept.last_seen_at == "2026-03-01T10:05:00.000Z"
    assert rows_of(app, "observation_versions") == 0


@pytest.mark.parametrize("fields", [{"title": "Another title"}, {"type": "decision"}, {"scope": "personal"}])
def test_the_same_text_under_another_heading_is_a_row_of_its_own(app: Engram, fields: dict[str, Any]) -> None:
    app.save(draft("Fifteen minutes."))
    assert app.save(draft("Fifteen minutes.", **fields)).outcome == "added"


def test_saving_to_a_topic_again_revises_the_observation_it_names(app: Engram, clock: FakeClock) -> None:
    first = app.save(draft("Fifteen minutes.", topic_key="auth/tokens"))
    clock.advance(days=40)
    second = app.save(draft("One hour.", title="Token lifetime, revised", topic_key="auth/tokens", type="decision"))

    kept = whole(app, first.id)
    assert (second.outcome, second.id, second.sync_id) == ("updated", first.id, first.sync_id)
    assert (second.revision_count, kept.revision_count) == (2, 2)
    assert (kept.title, kept.content, kept.type) == ("Token lifetime, revised", "One hour.", "decision")
    assert (kept.created_at, kept.updated_at) == ("2026-03-01T10:00:00.000Z", "2026-04-10T10:00:00.000Z")
    assert [hit.id for hit in app.search("token lifetime").results] == [first.id]
    assert app.search("fifteen").results == ()


def test_a_revision_without_a_type_keeps_the_one_it_had(app: Engram) -> None:
    first = app.save(Draft("Chose Adyen", "Since 2024.", "decision", topic_key="decision/pay"))

    app.save(Draft("Chose Stripe", "Since 2026.", topic_key="decision/pay"))

    row = app.observations.get(first.id).observation
    assert (row.title, row.type, row.review_after is not None) == ("Chose Stripe", "decision", True)
    app.save(Draft("Pay by Stripe", "Everywhere.", "policy", topic_key="decision/pay"))
    assert app.observations.get(first.id).observation.type == "policy"


def test_a_revision_keeps_the_aliases_unless_it_brings_its_own(app: Engram) -> None:
    first = app.save(draft("Fifteen minutes.", topic_key="auth/tokens", aliases=("jwt", "bearer; token")))
    app.save(draft("One hour.", topic_key="auth/tokens"))
    assert whole(app, first.id).aliases == "jwt; bearer, token"

    app.save(draft("Two hours.", topic_key="auth/tokens", aliases=("session cookie",)))
    assert whole(app, first.id).aliases == "session cookie"
    assert [hit.id for hit in app.search("cookie").results] == [first.id]


def test_a_save_without_a_topic_suggests_one_and_a_save_with_one_does_not(app: Engram) -> None:
    assert app.save(draft("Fifteen minutes.", type="decision")).suggested_topic_key == "decision/token-lifetime"
    assert app.save(draft("One hour.", topic_key="auth/tokens")).suggested_topic_key is None


@pytest.mark.parametrize(
    "key",
    [
        "decision/token-lifetime", "decision/lifetime-token", "decision/lifetimes-of-tokens",
        "decision/access-token-lifetime", "token/lifetime", "token-lifetime", "topic/token_lifetime",
    ],
)  # fmt: skip
def test_a_save_suggests_the_topic_that_is_there_and_near(app: Engram, key: str) -> None:
    held = app.save(draft("Fifteen minutes.", title="What was decided", topic_key=key))
    app.save(draft("Elsewhere.", title="Elsewhere", topic_key="decision/token-lifetime"), project="gizmos")
    saved = app.save(draft("One hour.", type="decision"))
    assert (saved.outcome, saved.suggested_topic_key, saved.topic_holder) == ("added", held.topic_key, held.id)
    assert app.save(draft("Two hours.", topic_key=saved.suggested_topic_key)).id == held.id


@pytest.mark.parametrize(
    "key",
    [
        pytest.param("bug/token-lifetime", id="another-family"),
        pytest.param("decision/tokens", id="one-word-of-two"),
        pytest.param("decision/token-lifetime-in-gizmos-tests", id="two-words-more"),
        pytest.param("decision/token-length", id="another-word"),
        pytest.param("entity/token-lifetime", id="an-entity"),
    ],
)
def test_a_topic_about_something_else_is_not_suggested(app: Engram, key: str) -> None:
    met = "All architects met on Monday, and their notes are in the shared folder beside the slides of Renata."
    app.save(draft(met, title="What was decided at the summer camp", topic_key=key))
    text = "One hour, so that whoever reads slowly keeps a place; a worker beside the gateway renews them by night."
    saved = app.save(draft(text, type="decision"))
    assert (saved.suggested_topic_key, saved.topic_holder) == ("decision/token-lifetime", None)


def test_a_deleted_topic_and_one_of_another_scope_are_not_suggested(app: Engram) -> None:
    gone = app.save(draft("Fifteen minutes.", title="What was decided", topic_key="decision/lifetime-token"))
    app.observations.delete(gone.id)
    app.save(draft("Mine.", title="Mine", topic_key="decision/lifetime-tokens", scope="personal"))
    assert app.save(draft("One hour.", type="decision")).topic_holder is None


def test_a_near_topic_is_found_by_one_step_into_the_index_however_many_topics_there_are(app: Engram) -> None:
    for number in range(300):
        app.save(draft(f"The {number}th.", title=f"Note {number}", topic_key=f"decision/aa{number}"))
    held = app.save(draft("Fifteen minutes.", title="What was decided", topic_key="decision/lifetime-of-tokens"))
    statement = "explain query plan " + table.TOPICS_BEGINNING
    values = {"beginnings": "[]", "last": "z", "limit": 1, "project": "widgets", "scope": "project"}

    plan = [row["detail"] for row in app.store.rows(statement, **values)]

    assert app.save(draft("One hour.", type="decision")).topic_holder == held.id
    assert any("USING INDEX observations_topic" in one or "COVERING INDEX observations_topic" in one for one in plan)


def test_a_suggested_topic_is_of_the_row_it_was_suggested_for_whatever_its_title_became(app: Engram) -> None:
    first = app.save(Draft("Fixed flaky login test", "A sleep of one second.", "bugfix"))
    app.save(Draft("Something else", "In between.", "bugfix"))
    app.observations.update(first.id, Change(title="Login test"))
    second = app.save(Draft("The login test waits", "For the event.", topic_key=first.suggested_topic_key))
    assert (second.outcome, second.id, second.topic_key) == ("updated", first.id, first.suggested_topic_key)
    assert app.get(first.id, history=True).versions[-1].content == "A sleep of one second."


def test_a_topic_nobody_suggested_takes_no_row_of_the_same_title(app: Engram) -> None:
    first = app.save(Draft("Fixed flaky login test", "A sleep of one second.", "bugfix"))
    second = app.save(Draft("Fixed flaky login test", "It waits for the event.", "bugfix", topic_key="tests/login"))
    assert (second.outcome, app.get(first.id).observation.content) == ("added", "A sleep of one second.")


@pytest.mark.parametrize(
    "away", [pytest.param({"project": "gizmos"}, id="project"), pytest.param({"scope": "personal"}, id="scope")]
)
def test_a_suggested_topic_is_one_of_its_project_and_scope(app: Engram, away: dict[str, str]) -> None:
    first = app.save(Draft("Fixed flaky login test", "A sleep of one second.", "bugfix"))
    scope = away.get("scope")
    taken = Draft("Fixed flaky login test", "It waits.", "bugfix", scope=scope, topic_key=first.suggested_topic_key)
    assert app.save(taken, project=away.get("project")).outcome == "added"


def test_a_row_that_was_deleted_or_has_a_topic_by_now_is_not_revised_by_the_suggested_one(app: Engram) -> None:
    gone = app.save(Draft("Fixed flaky login test", "A sleep of one second.", "bugfix"))
    app.observations.delete(gone.id)
    moved = app.save(Draft("Rotate the keys", "Monthly.", "decision"))
    app.observations.update(moved.id, Change(topic_key="security/keys"))

    for first in (gone, moved):
        assert app.save(Draft("Again", "Another text.", topic_key=first.suggested_topic_key)).outcome == "added"


def test_new_aliases_of_a_known_text_are_kept_and_found(app: Engram) -> None:
    first = app.save(Draft("Queue", "Jobs are retried thrice.", aliases=("backlog",)))
    again = app.save(Draft("Queue", "Jobs are retried thrice.", aliases=("zebra",)))
    assert (again.outcome, app.get(first.id).observation.aliases) == ("duplicate", "backlog; zebra")
    assert [hit.id for hit in app.search("zebra").results] == [first.id]


def test_a_save_that_is_rolled_back_first_does_not_cost_the_device_its_name(app: Engram) -> None:
    with pytest.raises(TextTooLongError):
        app.save(Draft("a b", "c"), project="gadgets", session_id="s" * 500)
    app.save(Draft("a b", "c"))

    stored = app.store.value("select value from meta where key = 'device_id'")
    [stamp] = [row[0] for row in app.store.rows("select clock from observations")]
    assert stamp.endswith(stored)


@pytest.mark.parametrize(
    ("kind", "usual"),
    [
        ("decison", "decision"), ("bug-fix", "bugfix"), ("bug", "bugfix"), ("fix", "bugfix"), ("patern", "pattern"),
        ("reference", None), ("feat", None), ("quote", None), ("refactoring", None), ("decision", None),
    ],
)  # fmt: skip
def test_a_slip_in_the_type_is_said_and_kept(app: Engram, kind: str, usual: str | None) -> None:
    saved = app.save(draft("It resolves fast.", type=kind))
    said = (reason("kept_as_type", type=kind, usual=usual),) if usual else ()
    assert (saved.type, saved.warnings) == (kind, said)


PROJECTS, SCOPES = st.sampled_from(["alpha", "beta"]), st.sampled_from(["project", "personal"])
TITLES, TEXTS = st.sampled_from(["One", "Two"]), st.sampled_from(["first text", "FIRST  text", "second text"])
TOPICS = st.sampled_from([None, None, "a/b", "A//B", "c"])


@dataclass(frozen=True)
class Save:
    project: str
    scope: str
    title: str
    content: str
    topic_key: str | None


@dataclass(frozen=True)
class Update:
    which: int
    title: str | None
    content: str | None
    scope: str | None
    topic_key: str | None


@dataclass(frozen=True)
class Delete:
    which: int
    hard: bool


@dataclass(frozen=True)
class Wait:
    minutes: int


Step = Save | Update | Delete | Wait

STEPS: st.SearchStrategy[Step] = st.one_of(
    st.builds(Save, PROJECTS, SCOPES, TITLES, TEXTS, TOPICS),
    st.builds(Save, PROJECTS, SCOPES, TITLES, TEXTS, TOPICS),
    st.builds(
        Update, st.integers(1, 6), *(st.none() | some for some in (TITLES, TEXTS, SCOPES, st.just("a/b")))
    ).filter(lambda step: any((step.title, step.content, step.scope, step.topic_key))),
    st.builds(Delete, st.integers(1, 6), st.booleans()),
    st.builds(Wait, st.sampled_from([1, 15, 16])),
)


@dataclass(frozen=True)
class Row:
    project: str
    scope: str
    title: str
    content: str
    topic_key: str | None
    created: datetime
    revisions: int = 1
    duplicates: int = 1
    versions: tuple[str, ...] = ()

    def says(self, content: str) -> bool:
        return self.content.lower().split() == content.lower().split()


@dataclass
class Model:
    """What the write path promises, without a database."""

    now: datetime = START
    next_id: int = 1
    live: dict[int, Row] = field(default_factory=dict)
    hidden: set[int] = field(default_factory=set)

    def topic_holder(self, project: str, scope: str, topic_key: str | None) -> int | None:
        place = (project, scope, topic_key)
        held = [number for number, row in self.live.items() if (row.project, row.scope, row.topic_key) == place]
        return held[0] if topic_key and held else None

    def save(self, step: Save) -> tuple[str, int]:
        topic = {"A//B": "a/b"}.get(step.topic_key or "", step.topic_key)
        holder = self.topic_holder(step.project, step.scope, topic)
        if holder is not None:
            old = self.live[holder]
            new = replace(old, title=step.title, content=step.content, topic_key=topic)
            if new == old:
                return self._repeat(holder)
            self._rewrite(holder, new)
            return "updated", holder
        if topic is None:
            equal = [
                number
                for number, row in self.live.items()
                if (row.project, row.scope, row.title) == (step.project, step.scope, step.title)
                and row.says(step.content)
            ]
            if equal:
                return self._repeat(max(equal))
        number, self.next_id = self.next_id, self.next_id + 1
        self.live[number] = Row(step.project, step.scope, step.title, step.content, topic, self.now)
        return "added", number

    def update(self, step: Update) -> str:
        if step.which not in self.live:
            return "not found"
        old = self.live[step.which]
        given = {name: getattr(step, name) for name in ("title", "content", "scope", "topic_key")}
        new = replace(old, **{name: value for name, value in given.items() if value is not None})
        if new == old:
            return "unchanged"
        moved = (new.scope, new.topic_key) != (old.scope, old.topic_key)
        if moved and self.topic_holder(new.project, new.scope, new.topic_key) not in (None, step.which):
            return "topic_taken"
        self._rewrite(step.which, new)
        return "updated"

    def delete(self, step: Delete) -> str:
        if step.which in self.live:
            del self.live[step.which]
        elif not (step.hard and step.which in self.hidden):
            return "not found"
        (self.hidden.discard if step.hard else self.hidden.add)(step.which)
        return "deleted"

    def _repeat(self, number: int) -> tuple[str, int]:
        self.live[number] = replace(self.live[number], duplicates=self.live[number].duplicates + 1)
        return "duplicate", number

    def _rewrite(self, number: int, new: Row) -> None:
        old = self.live[number]
        changed = (old.title, old.content) != (new.title, new.content)
        versions = (*old.versions, old.content) if changed else old.versions
        self.live[number] = replace(new, revisions=old.revisions + 1, versions=versions)


def take(app: Engram, clock: FakeClock, model: Model, step: Step) -> tuple[object, object]:
    """What the model and the memory answer to one step."""
    match step:
        case Wait():
            clock.advance(minutes=step.minutes)
            model.now = clock.now
            return None, None
        case Save():
            draft = Draft(step.title, step.content, "discovery", scope=step.scope, topic_key=step.topic_key)
            saved = app.save(draft, project=step.project)
            return model.save(step), (saved.outcome, saved.id)
        case Update():
            change = Change(step.title, step.content, None, step.scope, step.topic_key)
            return model.update(step), updated(app, step.which, change)
        case Delete():
            return model.delete(step), deleted(app, step)


def updated(app: Engram, number: int, change: Change) -> str:
    try:
        return app.observations.update(number, change).outcome
    except ObservationNotFoundError:
        return "not found"
    except ConflictError as exc:
        return exc.code


def deleted(app: Engram, step: Delete) -> str:
    try:
        app.observations.delete(step.which, hard=step.hard)
    except ObservationNotFoundError:
        return "not found"
    return "deleted"


def live_rows(app: Engram) -> dict[int, Row]:
    found = {}
    live = [row for [row] in app.store.tuples("select id from observations where deleted_at is null")]
    for row in table.by_ids(app.store, live).values():
        versions = tuple(old.content for old in reversed(app.get(row.id, history=True).versions))
        created = datetime.fromisoformat(row.created_at)
        counts = (row.revision_count, row.duplicate_count, versions)
        found[row.id] = Row(row.project, row.scope, row.title, row.content, row.topic_key, created, *counts)
    return found


@settings(max_examples=40, deadline=None)
@given(steps=st.lists(STEPS, max_size=20))
def test_a_memory_and_its_model_agree_about_any_history(steps: list[Step]) -> None:
    model, clock = Model(), FakeClock()
    with (
        tempfile.TemporaryDirectory() as folder,
        Engram(settings=Settings(Path(folder) / "data", clock=clock), directory=folder) as app,
    ):
        for step in steps:
            expected, answered = take(app, clock, model, step)
            assert answered == expected
        assert live_rows(app) == model.live
        indexed = app.store.tuples("select rowid from observations_fts where observations_fts match 'text'")
        assert {row[0] for row in indexed} == set(model.live)
        assert app.doctor.examine(check="search_index").status == "ok"
