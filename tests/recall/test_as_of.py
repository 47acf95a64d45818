"""What was known on a day: rows of then, their text of then, and the verdicts of then."""

from __future__ import annotations

import pytest

from engram_py import Draft, Engram
from engram_py.errors import InvalidArgumentError
from tests.memory import FakeClock
from tests.recall.searching import fill, kept


def said(app: Engram, query: str, day: str) -> list[tuple[int, str]]:
    return [(hit.id, hit.snippet) for hit in app.search(query, as_of=day).results]


def test_a_memory_answers_as_it_did_on_a_day(app: Engram, clock: FakeClock) -> None:  # which is 2026-03-01
    fill(app)
    cache = app.save(Draft("Cache", "The cache is Redis, two nodes.", topic_key="cache/engine")).id
    old = kept(app, "Full-text queries go to an Elasticsearch cluster.", title="We search with Elasticsearch")
    clock.advance(days=5)
    app.save(Draft("Cache", "The cache is Valkey, one node.", topic_key="cache/engine"))
    new = kept(app, "One small binary holds the index.", title="Meilisearch answers queries")
    clock.advance(days=5)
    app.relations.compare(new, old, "supersedes", confidence=0.9, reasoning="smaller")
    app.observations.pin(cache)

    assert said(app, "which cache nodes", "2026-03-02") == [(cache, "The cache is Redis, two nodes.")]
    assert said(app, "which cache nodes", "2026-03-06") == [(cache, "The cache is Valkey, one node.")]
    assert said(app, "redis cache", "2026-03-03")[0][0] == cache
    assert [row for row, _ in said(app, "do we use elasticsearch", "2026-03-09")] == [old]
    assert [row for row, _ in said(app, "do we use elasticsearch", "2026-03-11")] == [new]
    assert said(app, "meilisearch", "2026-03-04") == []
    assert said(app, "cache", "2026-02-20") == []


def test_looking_back_leaves_no_trace(app: Engram, clock: FakeClock) -> None:
    row = kept(app, "The cache is Redis.", title="Cache")
    clock.advance(days=1)
    assert said(app, "redis", "2026-03-01")
    assert app.store.value("select access_count from observations where id = :id", id=row) == 0


@pytest.mark.parametrize("day", ["soon", "2026-02-30", "never"])
def test_what_is_no_day_is_refused(app: Engram, day: str) -> None:
    with pytest.raises(InvalidArgumentError) as refusal:
        app.search("cache", as_of=day)
    assert refusal.value.argument == "as_of"
