"""Put away and taken out again, counting more or less, and only until a day."""

from __future__ import annotations

from engram_py import Engram
from engram_py.observations.values import Change
from tests.memory import FakeClock, whole
from tests.recall.searching import fill, ids, kept


def test_what_is_archived_is_out_of_searches_and_contexts_until_it_is_taken_out(app: Engram) -> None:
    fill(app)
    row = kept(app, "The retry queue lives in redis.", title="Place", type="decision")
    before = whole(app, row)
    done = app.observations.update(row, Change(archived=True))
    assert (done.outcome, done.changed, done.revision_count) == ("updated", ("lifecycle",), 1)
    assert ids(app, "retry queue") == ids(app, "type:decision") == []
    assert row not in [one.id for one in app.contexts.assemble().recent]
    assert ids(app, "is:archived") == ids(app, "retry is:archived") == ids(app, f"#{row}") == [row]
    app.observations.update(row, Change(archived=False))
    assert ids(app, "retry queue") == [row]
    assert whole(app, row) == before


def test_what_was_replaced_stays_so_when_it_is_taken_out_of_the_archive(app: Engram) -> None:
    old, new = kept(app, "Redis.", title="Cache in Redis"), kept(app, "Memcached.", title="Cache in Memcached")
    app.observations.update(old, Change(archived=True))
    app.relations.compare(new, old, "supersedes", confidence=0.9, reasoning="smaller")
    assert whole(app, old).lifecycle == "archived"
    app.observations.update(old, Change(archived=False))
    assert whole(app, old).lifecycle == "historical"
    assert app.observations.update(old, Change(archived=False)).outcome == "unchanged"


def test_what_expires_is_shown_unasked_until_that_day_is_over(app: Engram, clock: FakeClock) -> None:
    row = kept(app, "No merges to main.", title="Freeze before the launch", type="decision")
    app.observations.update(row, Change(expires_at="2026-03-02"))
    clock.advance(days=1)
    assert row in [one.id for one in app.contexts.assemble().recent]
    clock.advance(days=1)
    assert row not in [one.id for one in app.contexts.assemble().recent]
    app.observations.update(row, Change(expires_at="never"))
    assert row in [one.id for one in app.contexts.assemble().recent]


def test_of_two_equals_the_salient_one_stands_first(app: Engram) -> None:
    fill(app)
    risen = kept(app, "The retry queue lives in redis.", title="Place")
    equal = kept(app, "The retry queue lives in kafka.", title="Place")
    app.observations.update(risen, Change(salience=1))
    assert ids(app, "retry queue lives") == [risen, equal]
