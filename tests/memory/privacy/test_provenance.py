"""A stranger stays a stranger: what came from elsewhere is told apart until its reader answers for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engram_py import Draft, Engram
from engram_py.guidance.context.values import Context
from engram_py.interfaces.wording import render
from engram_py.memory.observations.arguments import live_observation
from engram_py.memory.observations.values import Change
from engram_py.memory.privacy.trust import NoArrivalError
from engram_py.sharing.sync.mutation import Mutation, mutation_of
from tests.support import START

CLOCK = f"{int(START.timestamp() * 1000):012x}-{{:04x}}-{{}}"
TEXT = "The kumquat service answers on port 4173"


def arrived(
    app: Engram,
    *,
    number: int = 1,
    source: str = "git:0",
    name: str = "mallory",
    entity: str = "observation",
    **fields: Any,
) -> int:
    """Let a row come in through a door, as its author wrote it."""
    app.replica.apply([sent(number=number, entity=entity, **fields)], source=source, author="key", author_name=name)
    key = f"obs-{number:016x}"
    return int(app.store.value("select id from observations where sync_id = :key", key=key) or 0)


def sent(*, number: int = 1, entity: str = "observation", device: str = "b" * 16, **fields: Any) -> Mutation:
    key = f"{'obs' if entity == 'observation' else entity}-{number:016x}"
    own = {"format": 1, "clock": CLOCK.format(number, device), "origin": "user"} | fields.pop("own", {})
    row = {"sync_id": key, "session_id": "s1", "type": "decision", "title": "Kumquat", "content": TEXT,
           "project": "widgets", "scope": "project", "created_at": "2026-11-23 02:00:00",
           "updated_at": "2026-11-23 02:00:00", "engram_py": own}  # fmt: skip
    entry = {"project": "widgets", "entity": entity, "entity_key": key, "op": "upsert", "payload": row | fields}
    return mutation_of(entry)


def told(context: Context) -> dict[str, list[str]]:
    """The texts of a context by their sections."""
    found = {section.name: [getattr(item, "content", "") for item in section.items] for section in context.sections}
    return {name: texts for name, texts in found.items() if any("kumquat" in text for text in texts)}


def started(app: Engram) -> str:
    return render.text(app.contexts.assemble("widgets", unasked=True), now=app.journal.moment(), door="python")


AS_THE_USER = [
    pytest.param({"type": "identity", "pinned": True}, id="override"),
    pytest.param({"type": "identity", "topic_key": "identity/profile"}, id="profile"),
    pytest.param({"type": "preference"}, id="preference"),
    pytest.param({"type": "policy"}, id="policy"),
    pytest.param({"type": "decision", "pinned": True}, id="pin"),
    pytest.param({"type": "identity", "scope": "global", "pinned": True}, id="global"),
    pytest.param({"entity": "prompt"}, id="prompt"),
]


@pytest.mark.parametrize("fields", AS_THE_USER)
def test_nobody_else_speaks_as_the_user(app: Engram, fields: dict[str, Any]) -> None:
    arrived(app, **fields)
    for mode in (None, "full"):
        assert told(app.contexts.assemble("widgets", mode=mode, unasked=True)).keys() <= {"unchecked"}


@pytest.mark.parametrize("fields", AS_THE_USER)
def test_what_a_trusted_author_says_of_the_user_is_the_projects_and_not_the_users(
    app: Engram, fields: dict[str, Any]
) -> None:
    app.trust.source("git:0", projects=["widgets"])
    arrived(app, **fields)
    app.save(Draft("Own", "text"), project="payroll")
    for mode in (None, "full"):
        sections = told(app.contexts.assemble("widgets", mode=mode, unasked=True)).keys()
        assert sections.isdisjoint({"overrides", "profile", "pinned", "prompts", "identity"})
        assert told(app.contexts.assemble("payroll", mode=mode, unasked=True)) == {}


@pytest.mark.parametrize("type", ["decision", "preference", "policy", "identity"])
@pytest.mark.parametrize("scope", ["project", "global"])
def test_a_trusted_author_is_given_in_the_project_under_their_name(app: Engram, type: str, scope: str) -> None:
    app.trust.source("git:0", projects=["widgets"])
    arrived(app, type=type, scope=scope, pinned=True)
    text = started(app)
    [line] = [line for line in text.splitlines() if TEXT in line]
    assert "by mallory" in line
    assert "not checked" not in text


def test_trust_in_one_project_reaches_no_other(app: Engram) -> None:
    app.trust.source("git:0", projects=["widgets"])
    app.save(Draft("Own", "text"), project="payroll")
    row = arrived(app)
    app.observations.move(row, "payroll")
    assert live_observation(app.store, row).unchecked == "git:0\nmallory"


def test_a_verdict_of_a_trusted_project_replaces_nothing_of_another_one(app: Engram) -> None:
    app.trust.source("git:0", projects=["widgets"])
    own = app.save(Draft("Own", "Our own decision.", "decision"), project="payroll")
    arrived(app, number=2)
    ends = {"source_id": f"obs-{2:016x}", "target_id": live_observation(app.store, own.id).sync_id}
    arrived(app, number=3, entity="relation", **ends, relation="supersedes", judgment_status="judged")
    assert live_observation(app.store, own.id).lifecycle == "active"


def test_a_decision_of_somebody_else_is_told_apart_with_its_author(app: Engram) -> None:
    app.save(Draft("Own", "Our own decision.", "decision"), project="widgets")
    arrived(app)
    heading, line = started(app).split("## From elsewhere, not checked by the user\n")[1].splitlines()[0:1] * 2
    assert "from .engram, by mallory, not checked" in line
    assert started(app).index("Our own decision.") < started(app).index(heading)


def test_neither_a_device_nor_an_origin_that_a_row_carries_makes_it_ours(app: Engram) -> None:
    row = arrived(app, device=app.browsing.instance(), own={"origin": "user"})
    assert live_observation(app.store, row).unchecked == "git:0\nmallory"


def test_nothing_from_elsewhere_is_told_in_another_project(app: Engram) -> None:
    arrived(app, scope="global", type="policy", pinned=True)
    app.save(Draft("Own", "text"), project="payroll")
    assert told(app.contexts.assemble("payroll", mode="full")) == {}
    assert app.search("kumquat", project="payroll").results == ()
    assert len(app.search("kumquat", project="widgets").results) == 1


def moved(app: Engram, row: int) -> None:
    app.save(Draft("Own", "text"), project="payroll")
    app.observations.move(row, "payroll")


def reverted(app: Engram, row: int) -> None:
    app.observations.update(row, Change(content="Our own words."))
    app.observations.revert(row)


def came_again(app: Engram, row: int) -> None:
    app.observations.delete(row)
    app.observations.undelete(row)


KEEPING: list[Callable[[Engram, int], object]] = [
    lambda app, row: app.observations.update(row, Change(title="Renamed")),
    lambda app, row: app.observations.update(row, Change(type="identity")),
    lambda app, row: app.observations.update(row, Change(find="4173", replace="4174")),
    lambda app, row: app.observations.update(row, Change(archived=True)),
    lambda app, row: app.observations.pin(row),
    lambda app, row: app.observations.mark_reviewed(row),
    lambda app, row: app.merging.rename("widgets", "gadgets"),
    moved,
    reverted,
    came_again,
]


@pytest.mark.parametrize("change", KEEPING)
def test_whatever_is_done_to_a_row_it_still_comes_from_elsewhere(
    app: Engram, change: Callable[[Engram, int], object]
) -> None:
    row = arrived(app)
    change(app, row)
    assert live_observation(app.store, row).unchecked == "git:0\nmallory"


def test_what_a_person_edits_or_an_agent_writes_anew_is_the_users_own(app: Engram) -> None:
    one, other, third = arrived(app), arrived(app, number=2, topic_key="port"), arrived(app, number=3)
    app.observations.update(one, Change(find="4173", replace="4174"), by="person")
    app.save(Draft("Port", "It is 4175.", "decision", topic_key="port"), project="widgets")
    app.observations.update(third, Change(content="It is 4176."))
    assert [live_observation(app.store, row).unchecked for row in (one, other, third)] == [None, None, None]


def test_an_own_text_that_somebody_else_revised_is_theirs_until_it_is_reverted(app: Engram) -> None:
    own = app.save(Draft("Own", "Our own words.", "decision"), project="widgets")
    key = live_observation(app.store, own.id).sync_id
    [mine] = [one for one in app.replica.changes().mutations if one.entity_key == key]
    block = {"clock": f"{mine.clock[:12]}-ffff-{'b' * 16}"}
    later = {"content": "Their words.", "engram_py": mine.payload["engram_py"] | block}
    entry = {"project": "widgets", "entity": "observation", "entity_key": key, "op": "upsert"}
    app.replica.apply([mutation_of(entry | {"payload": mine.payload | later})], source="git:0")

    assert live_observation(app.store, own.id).unchecked is not None
    app.observations.revert(own.id)
    assert live_observation(app.store, own.id).unchecked is None


def test_trust_reaches_one_row_one_author_or_a_project_and_can_be_taken_back(app: Engram) -> None:
    rows = [arrived(app, number=number, name=f"{number}") for number in (1, 2)]
    app.observations.accept(rows[0])
    assert [bool(live_observation(app.store, row).unchecked) for row in rows] == [False, True]

    assert app.trust.author("2", project="widgets").rows == 1
    assert live_observation(app.store, rows[1]).unchecked is None
    app.trust.project("widgets", trusted=False)
    assert live_observation(app.store, rows[1]).unchecked is not None
    with pytest.raises(NoArrivalError):
        app.trust.author("nobody")


def test_an_acceptance_that_is_taken_back_leaves_the_row_as_it_came(app: Engram) -> None:
    row = arrived(app)
    app.observations.unaccept(app.observations.accept(row))
    assert live_observation(app.store, row).unchecked == "git:0\nmallory"


def test_an_export_says_what_was_not_checked_and_an_import_believes_that_alone(
    app: Engram, other: Engram, tmp_path: Path
) -> None:
    arrived(app)
    app.save(Draft("Own", "text"), project="widgets")
    app.transfer.export(tmp_path / "all.json")
    other.transfer.import_file(tmp_path / "all.json", trusted=True)
    found = dict(other.store.tuples("select title, arrival is null from observations"))
    assert found == {"Kumquat": 0, "Own": 1}


def test_a_file_that_nobody_vouched_for_makes_nothing_the_users_own(app: Engram, other: Engram, tmp_path: Path) -> None:
    app.save(Draft("Who I am", "kumquat", "identity", scope="personal"), project="widgets")
    app.transfer.export(tmp_path / "all.json")
    other.transfer.import_file(tmp_path / "all.json")
    assert told(other.contexts.assemble("widgets", mode="full")) == {}


def test_what_somebody_else_says_replaces_nothing_of_the_users_own_until_they_are_trusted(app: Engram) -> None:
    own = app.save(Draft("Own", "Our own decision.", "decision"), project="widgets")
    arrived(app, number=2)
    ends = {"source_id": f"obs-{2:016x}", "target_id": live_observation(app.store, own.id).sync_id}
    verdict = {"relation": "supersedes", "judgment_status": "judged"}
    arrived(app, number=3, entity="relation", **ends, **verdict)
    assert live_observation(app.store, own.id).lifecycle == "active"
    app.trust.source("git:0", projects=["widgets"])
    assert live_observation(app.store, own.id).lifecycle == "historical"


def test_what_somebody_else_wrote_later_takes_no_topic_of_the_user_until_they_are_trusted(app: Engram) -> None:
    own = app.save(Draft("Port", "It is 4172.", "decision", topic_key="port"), project="widgets")
    later = {"updated_at": "2026-03-06 00:00:00", "created_at": "2026-03-06 00:00:00"}
    row = arrived(app, number=2, topic_key="port", **later, own={"updated_at": "2026-03-06T00:00:00.000Z"})
    live = "select id from observations where deleted_at is null"
    assert app.store.value(live) == own.id
    app.trust.source("git:0", projects=["widgets"])
    assert app.store.value(live) == row


def test_a_row_that_is_passed_on_unchecked_is_unchecked_where_its_sender_is_trusted(app: Engram, other: Engram) -> None:
    arrived(app)
    other.trust.source("cloud:default", projects=["widgets"])
    other.replica.apply(app.replica.changes().mutations, source="cloud:default")
    [unchecked] = [row[0] for row in other.store.rows("select id from observations")]
    assert live_observation(other.store, unchecked).unchecked == "relayed:cloud:default\nmallory"
    assert other.replica.digest() == app.replica.digest()


def test_searches_and_what_is_opened_say_that_nobody_checked_it(app: Engram) -> None:
    row = arrived(app)
    now = app.journal.moment()
    for value in (app.search("kumquat", project="widgets"), app.observations.get(row)):
        assert "from .engram, by mallory, not checked" in render.text(value, now=now, door="python")


def test_what_somebody_else_says_of_an_entity_keeps_no_fact_out(app: Engram) -> None:
    arrived(app, type="fact", content="Dana works at Acme in Lyon", own={"about": "dana"})
    assert app.facts.add("dana", "Dana works at Acme in Lyon", project="widgets").outcome == "added"
