"""Random histories of a memory against a model of twenty lines: they agree about every outcome and every row."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from engram_py import Draft, Engram
from engram_py.observations.errors import ObservationNotFoundError, TopicTakenError
from engram_py.observations.values import Change
from engram_py.settings import Settings
from tests.memory import START, FakeClock

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
                and self.now - row.created <= timedelta(minutes=15)
            ]
            if equal:
                return self._repeat(max(equal, key=lambda number: (self.live[number].created, number)))
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
            return "topic taken"
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
    except TopicTakenError:
        return "topic taken"


def deleted(app: Engram, step: Delete) -> str:
    try:
        app.observations.delete(step.which, hard=step.hard)
    except ObservationNotFoundError:
        return "not found"
    return "deleted"


def live_rows(app: Engram) -> dict[int, Row]:
    found = {}
    for row in app.contexts.assemble("alpha").recent + app.contexts.assemble("beta").recent:
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
