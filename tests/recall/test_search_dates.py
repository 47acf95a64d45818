"""Questions that name a date, recency, and the memory as it was on a day."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, date, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from engram_py import Draft, Engram
from engram_py.base.errors import InvalidArgumentError
from engram_py.base.reasons import Reason, reason
from engram_py.base.settings import Settings
from engram_py.interfaces.wording import render
from engram_py.memory.observations.values import Change
from tests.recall.searching import dated, fill, ids, kept, silence
from tests.support import FakeClock, draft, system_zone

ASKED = "what did we change about the scheduler on 3 March 2026?"


@pytest.fixture
def diary(app: Engram, clock: FakeClock) -> dict[str, int]:
    """A memory for each of several days, all of them in the same words: the clock begins on 1 March 2026."""
    made: dict[str, int] = {}
    for day in ("before", "eve", "that day", "two days later", "a week and more later"):
        made[day] = kept(app, f"The scheduler was changed, {day}.", title=f"Scheduler, {day}", session=day)
        clock.advance(days=8 if day == "two days later" else 2 if day == "that day" else 1)
    return made


def test_what_changed_on_that_day_comes_first(app: Engram, diary: dict[str, int]) -> None:
    assert ids(app, ASKED)[0] == diary["that day"]


@pytest.mark.parametrize("date", ["on 9 July 2022", "2022-07-09", "9999-12-30 2024"])
def test_a_date_of_which_nothing_is_known_answers_nothing_by_itself(
    app: Engram, diary: dict[str, int], date: str
) -> None:
    assert ids(app, f"certificate {date}") == []


def test_a_memory_that_names_the_day_is_about_it_whenever_it_was_saved(
    app: Engram, diary: dict[str, int], clock: FakeClock
) -> None:
    clock.advance(days=60)
    told = kept(app, "The scheduler was changed on 3 March 2026.", title="Scheduler, looking back", session="may")

    assert set(ids(app, ASKED)[:2]) == {told, diary["that day"]}


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        pytest.param("outage last week", "outage", id="last-week"),
        pytest.param("what happened in the last 10 days with the outage?", "outage", id="the-last-days"),
        pytest.param("the outage 6 days ago", "outage", id="ago"),
        pytest.param("what did we do yesterday?", "belt", id="nothing-but-a-day"),
    ],
)
def test_days_told_from_today_are_heard(app: Engram, clock: FakeClock, query: str, wanted: str) -> None:
    made = {"old": kept(app, "The pump was replaced after the outage of the winter.", session="old")}
    clock.advance(days=60)
    made["outage"] = kept(app, "The outage began with a full disk.", session="outage")
    clock.advance(days=5)
    made["belt"] = kept(app, "The belt of hall two was changed.", session="belt")
    clock.advance(days=1)
    assert ids(app, query)[:1] == [made[wanted]]


@pytest.mark.parametrize(
    "query",
    [
        "what was decided on 3 March?",
        "what did we fix on 3 March?",
        "which decisions were made on 3 March?",
    ],
)
def test_a_question_that_asks_only_what_was_done_then_gets_the_days(app: Engram, clock: FakeClock, query: str) -> None:
    kept(app, "The pump was replaced after the outage of the winter.", session="old")
    clock.advance(days=2)
    wanted = {kept(app, "The belt of hall two goes east.", session="t"), kept(app, "Disks are of finder.", session="t")}
    clock.advance(days=4)

    found = app.searches.search(query)

    assert wanted <= {hit.id for hit in found.results}
    assert found.unknown == ()


def test_days_on_which_nothing_changed_are_words(app: Engram, clock: FakeClock) -> None:
    saying = kept(app, "The invoices of last week are sent on Monday.")
    clock.advance(days=90)
    assert ids(app, "invoices of last week") == [saying]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        pytest.param('"full disk" this week', "disk", id="a-phrase"),
        pytest.param("outage -disk this week", "cable", id="a-word-that-nothing-may-have"),
        pytest.param('"full disk" in March 2026', "disk", id="a-phrase-in-a-month"),
        pytest.param("outage -disk in March 2026", "cable", id="a-word-that-nothing-may-have-in-a-month"),
    ],
)
def test_a_day_brings_nothing_that_the_query_leaves_out(app: Engram, clock: FakeClock, query: str, wanted: str) -> None:
    clock.advance(days=2)
    made = {
        "disk": kept(app, "The outage began with a full disk.", title="Full disk outage"),
        "cable": kept(app, "The outage began with a cable.", title="Network outage"),
    }
    clock.advance(hours=1)
    found = ids(app, query)
    assert found[:1] == [made[wanted]]
    assert len(found) == 1


def test_a_day_is_heard_where_the_quotes_are_left_out_as_well(app: Engram, clock: FakeClock) -> None:
    kept(app, "The outage of the winter began with a full disk.")
    clock.advance(days=60)
    wanted = kept(app, "The disk was full again during the outage.")
    clock.advance(days=1)
    assert ids(app, 'outage "disk full of water" yesterday')[:1] == [wanted]


@pytest.mark.parametrize("query", [
    '"of nobody" last week', '"of nobody" in March 2026', "-disk yesterday", '"yesterday"',
    "since monday -outage -belt",
])  # fmt: skip
def test_days_of_which_nothing_is_left_are_no_error(app: Engram, clock: FakeClock, query: str) -> None:
    kept(app, "The disk was full during the outage.")
    kept(app, "The belt broke during the outage.")
    clock.advance(days=1)
    assert app.searches.search(query).silence is not None or ids(app, query)


def test_what_names_a_day_of_a_month_is_about_it(app: Engram, clock: FakeClock) -> None:
    saying = kept(app, "The migration is on 1 May.", title="Migration")
    clock.advance(days=61)
    changed = kept(app, "The belt of hall two was changed.", session="may")
    assert set(ids(app, "1 May")) == {saying, changed}


def test_of_a_day_alone_its_summary_comes_first_and_how_the_day_was_read_is_said(app: Engram, clock: FakeClock) -> None:
    clock.advance(days=3)
    summary = app.episodes.summarize("## Goal\nReplace the belt.", session_id="s-1").id
    kept(app, "Ada likes short answers.", type="preference")
    clock.advance(days=2)

    found = app.searches.search("what did we do 2 days ago")

    assert found.results[0].id == summary
    assert dated("2 days ago", "2026-03-04") in found.warnings


def test_of_a_day_on_which_nothing_changed_here_the_answer_says_that(app: Engram, clock: FakeClock) -> None:
    kept(app, "The pump was replaced.")
    clock.advance(days=3)
    kept(app, "The board was soldered.", project="gadgets")
    clock.advance(days=1)

    found = app.searches.search("what did we do yesterday?")

    assert (found.results, found.warnings) == ((), (dated("yesterday", "2026-03-04"),))
    assert found.silence is not None
    assert (found.silence.reason, found.silence.elsewhere) == (
        reason("no_change", start="2026-03-04", last="2026-03-04", open=False),
        (),
    )


def test_a_day_on_which_nothing_changed_anywhere_is_no_word_that_was_never_seen(app: Engram, clock: FakeClock) -> None:
    saved = kept(app, "The belt of hall two was changed.", title="Belt")
    clock.advance(days=90)

    nothing = silence(app, "what did we do yesterday?")
    assert (nothing.reason, nothing.unknown) == (
        reason("no_change", start="2026-05-29", last="2026-05-29", open=False),
        (),
    )
    found = app.searches.search("the belt of hall two yesterday")
    assert ([hit.id for hit in found.results], found.unknown) == ([saved], ())
    assert found.warnings == (dated("yesterday", "2026-05-29", unchanged=True),)


@pytest.mark.parametrize(
    "query",
    ["before 1 May the pump", "pump before the 1st of May", "pump before 2026-05-01"],
)
def test_before_a_day_means_everything_until_then(app: Engram, clock: FakeClock, query: str) -> None:
    early = kept(app, "The pump was replaced.", title="First pump", session="march")
    clock.advance(days=61)
    kept(app, "The pump was painted.", title="Second pump", session="may")
    clock.advance(days=20)
    found = app.searches.search(query)
    assert found.results[0].id == early
    assert [hit.id for hit in app.searches.search("before 1 May").results] == [early]
    if "2026" not in query:
        [dates] = [dict(note.facts) for note in found.warnings if isinstance(note, Reason)]
        assert (dates["last"], dates["open"]) == ("2026-04-30", True)


def recency(app: Engram, query: str = "alice acme") -> float:
    explain = app.search(query, explain=True).explain
    assert explain is not None
    return explain.hits[0].recency


@pytest.mark.parametrize(("days", "left"), [(0, 1.0), (1, 0.977), (7, 0.851), (30, 0.5), (60, 0.25), (90, 0.125)])
def test_row_22_recency_is_half_after_thirty_days(app: Engram, clock: FakeClock, days: int, left: float) -> None:
    app.facts.add("alice", "Alice joined Acme as CTO")
    clock.advance(days=days)
    assert recency(app) == pytest.approx(left, abs=0.005)
    said = render.text(app.search("alice acme", explain=True), now=clock(), door="python")
    assert f"{left:.3f}" in said
    assert "recency" in said


def test_row_23_the_half_life_is_a_setting(tmp_path: Path, clock: FakeClock) -> None:
    settings = Settings(tmp_path / "other", clock=clock, recency_half_life_days=10)
    with Engram(settings=settings, directory=tmp_path, project="widgets") as app:
        app.facts.add("alice", "Alice joined Acme as CTO")
        clock.advance(days=10)
        assert recency(app) == pytest.approx(0.5, abs=0.005)
        explain = app.search("alice acme", explain=True, as_of=clock().date().isoformat()).explain
    assert explain is not None
    assert explain.hits[0].recency == pytest.approx(0.5, abs=0.005)


@pytest.mark.parametrize("moved", ["back", "unreadable", "pinned"])
def test_row_24_a_date_to_come_or_of_no_calendar_and_a_pinned_row_are_new(
    app: Engram, clock: FakeClock, moved: str
) -> None:
    saved = app.facts.add("alice", "Alice joined Acme as CTO")
    clock.advance(days=-5 if moved == "back" else 50)
    if moved == "unreadable":
        with app.store.transaction():
            app.store.execute("update observations set updated_at = 'yesterday-ish' where id = :id", id=saved.id)
    if moved == "pinned":
        app.observations.pin(saved.id)
    assert recency(app) == 1.0


def three(app: Engram, clock: FakeClock) -> list[int]:
    """Three rows about one thing on three days, the oldest of which answers best."""
    texts = (
        "Gateway timeout: the gateway times out.",
        "The gateway was moved to the other hall at night.",
        "A gateway was seen by somebody in the cellar.",
    )
    made = []
    for text, days in zip(texts, (5, 4, 0), strict=True):
        made.append(kept(app, text, title=text[:20]))
        clock.advance(days=days)
    return made


def test_row_25_the_newest_first_when_asked_for(app: Engram, clock: FakeClock, others: None) -> None:
    made = three(app, clock)
    assert ids(app, "gateway", sort="recency") == made[::-1]
    assert ids(app, "gateway", sort="relevance") == ids(app, "gateway") != made[::-1]


def test_the_most_salient_first_when_asked_for(app: Engram, clock: FakeClock, others: None) -> None:
    made = three(app, clock)
    for row, weight in zip(made, (0.2, 0.9, 0.6), strict=True):
        app.observations.update(row, Change(salience=weight))
    assert ids(app, "gateway", sort="salience") == [made[1], made[2], made[0]]


@pytest.mark.parametrize("sort", ["recency", "salience"])
def test_another_order_shows_the_same_rows_of_the_same_evidence(
    app: Engram, clock: FakeClock, others: None, sort: str
) -> None:
    for number in range(30):
        clock.advance(hours=1)
        kept(app, f"The gateway has part {number}{number}.", title=f"Part {number}", type="note")
    three(app, clock)
    best, other = (app.search("gateway timeout", limit=5, explain=True, sort=one) for one in (None, sort))
    assert {hit.id for hit in other.results} == {hit.id for hit in best.results}
    assert other.silence == best.silence
    assert best.explain is not None
    assert other.explain is not None
    assert {one.id: one.score for one in other.explain.hits} == {one.id: one.score for one in best.explain.hits}
    assert [one.id for one in other.explain.hits] == [hit.id for hit in other.results]
    assert app.search("zebra", sort=sort).results == ()


def test_an_order_that_does_not_exist_is_refused_with_those_that_do(app: Engram) -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        app.search("gateway", sort="alphabet")
    assert "relevance, recency, salience" in refused.value.hint


def test_the_answer_says_its_order(app: Engram, clock: FakeClock, others: None) -> None:
    three(app, clock)
    heads = [
        render.text(app.search("gateway", sort=one), now=clock(), door="python").splitlines()[0]
        for one in ("recency", "salience")
    ]
    assert "latest change first" in heads[0]
    assert "the most salient first" in heads[1]


def test_a_list_by_type_has_the_same_orders(app: Engram, clock: FakeClock) -> None:
    rows = [app.save(Draft(f"Rule {name}", name, "policy")).id for name in ("one", "two")]
    app.observations.update(rows[0], Change(salience=0.9))
    assert [hit.id for hit in app.search("", type="policy", sort="salience").results] == rows


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


# --- the days of the user ---------------------------------------------------------------------------------------------

ZONES = ("Asia/Tokyo", "America/Los_Angeles", "Pacific/Kiritimati")


@pytest.fixture(params=[(zone, by) for zone in ZONES for by in ("setting", "system")], ids="-".join)
def abroad(
    request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Engram, dict[str, int]]]:
    """A memory at noon of the user's zone, with a row of the first and of the last minutes of the last days."""
    name, by = request.param
    zone = ZoneInfo(name)
    settings = Settings(tmp_path / "abroad", clock=clock, timezone=name if by == "setting" else "")
    with ExitStack() as stack:
        if by == "system":
            stack.enter_context(system_zone(monkeypatch, name))
        app = stack.enter_context(Engram(settings=settings, directory=tmp_path))
        made = {}
        # The clocks of Los Angeles change on 8 March.
        for day in (6, 7, 8, 9):
            for hour, minute in ((0, 10), (23, 50)):
                clock.now = datetime(2026, 3, day, hour, minute, tzinfo=zone).astimezone(UTC)
                text = f"Chose the valve of {day} at {hour}."
                made[f"{day} {hour}"] = app.save(draft(text, title=text), project="widgets").id
        clock.now = datetime(2026, 3, 10, 12, 0, tzinfo=zone).astimezone(UTC)
        yield app, made


@pytest.mark.parametrize(("query", "days"), [
    ("valve yesterday", (9,)), ("valve since:yesterday", (9,)), ("valve since:2026-03-08 until:2026-03-08", (8,)),
    ("valve since last Sunday", (8, 9)), ("valve on 2026-03-08", (8,)), ("valve this week", (9,)),
    ("valve until:2026-03-07", (6, 7)), ("valve 3 days ago", (7,)),
])  # fmt: skip
def test_the_days_of_a_question_are_the_users(
    abroad: tuple[Engram, dict[str, int]], query: str, days: tuple[int, ...]
) -> None:
    app, made = abroad
    found = app.searches.search(query, project="widgets").results[: 2 * len(days)]
    assert {hit.id for hit in found} == {row for name, row in made.items() if int(name.split()[0]) in days}


def test_the_memory_as_of_a_day_is_that_of_the_users_midnight(abroad: tuple[Engram, dict[str, int]]) -> None:
    app, made = abroad
    found = app.search("valve", as_of="2026-03-07", project="widgets")
    assert {hit.id for hit in found.results} == {made[name] for name in ("6 0", "6 23", "7 0", "7 23")}


def test_a_memory_expires_at_the_end_of_the_users_day(abroad: tuple[Engram, dict[str, int]]) -> None:
    app, made = abroad
    app.observations.update(made["6 0"], Change(expires_at="2026-03-12"))
    expires = app.get(made["6 0"]).observation.expires_at
    assert expires == app.journal.calendar.midnight(date(2026, 3, 13))
