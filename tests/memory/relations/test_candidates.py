"""The older observation that a save asks about, because the new one may take its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engram_py import Engram
from engram_py.memory.observations.values import Change
from engram_py.recall import contradictions as candidates
from engram_py.recall import index as search
from tests.memory.relations.pairs import NEW, OLD, pair
from tests.support import draft, rows_of

OTHERS = ("tulips", "violins", "glaciers", "pastry", "saddles", "comets")


def test_a_save_asks_about_an_older_observation_with_like_words_in_its_title(app: Engram) -> None:
    old, new = pair(app)
    [candidate] = new.candidates
    assert (candidate.id, candidate.sync_id, candidate.title) == (old.id, old.sync_id, OLD)
    assert candidate.score >= candidates.ENOUGH
    assert candidate.judgment_id.startswith("rel-")
    assert new.judgment_required
    assert old.candidates == ()
    [waiting] = app.relations.pending()
    assert (waiting.source_observation, waiting.target_observation) == (new.id, old.id)


def test_one_question_is_asked_about_the_most_similar(app: Engram) -> None:
    near = app.save(draft("Redis holds the tokens.", title=OLD))
    for number in range(6):
        app.save(draft(f"Text {number}.", title=f"Storage backend choice {OTHERS[number]}"))
    [asked] = app.save(draft("Postgres holds the tokens.", title=NEW)).candidates
    assert asked.id == near.id
    assert [one.target_observation for one in app.relations.pending() if one.source_title == NEW] == [near.id]


def test_the_topic_of_the_older_one_is_suggested(app: Engram) -> None:
    old = app.save(draft("A Sidekiq job pushes due articles.", title="Scheduled publishing", topic_key="cms/schedule"))
    new = app.save(draft("Not the Sidekiq job: cron pushes due articles.", title="Scheduled publishing uses cron"))
    assert [one.id for one in new.candidates] == [old.id]
    assert (new.suggested_topic_key, new.topic_holder) == ("cms/schedule", old.id)


def test_the_topic_of_a_bug_is_not_suggested_to_a_decision(app: Engram) -> None:
    old = app.save(draft("A Sidekiq job pushes due articles.", title="Scheduled publishing", topic_key="bug/schedule"))
    text = "Not the Sidekiq job: cron pushes due articles."
    new = app.save(draft(text, title="Scheduled publishing uses cron", type="decision"))
    assert [one.id for one in new.candidates] == [old.id]
    assert (new.suggested_topic_key, new.topic_holder) == ("decision/scheduled-publishing-uses-cron", None)


def test_what_the_beginning_of_a_text_the_topic_and_the_files_tell_counts_as_well(app: Engram, folder: Path) -> None:
    (folder / "queue.py").write_text("x = 1\n", encoding="utf-8")
    for number, other in enumerate(OTHERS):
        app.save(draft(f"Text {number} about {other}.", title=f"Grow {other} in the yard"))
    by_text = app.save(draft("Marts live in Snowflake, suspended after a minute.", title="The warehouse is Snowflake"))
    by_topic = app.save(draft("One queue for each region.", title="Lay-out of workers", topic_key="rabbitmq/mirrors"))
    by_file = app.save(draft("Consumers prefetch ten.", title="Prefetch of ten", files=("queue.py",)))
    text = "Snowflake was too dear, so the marts are built here."
    assert [one.id for one in app.save(draft(text, title="Marts are in BigQuery")).candidates] == [by_text.id]
    text = "Workers share mirrors over the regions."
    assert [one.id for one in app.save(draft(text, title="RabbitMQ mirrors given up")).candidates] == [by_topic.id]
    new = app.save(draft("Consumers starve less.", title="Fetch one message", files=("queue.py",)))
    assert [one.id for one in new.candidates] == [by_file.id]


def test_a_finding_seldom_takes_the_place_of_a_rule(app: Engram) -> None:
    def asked(kind: str) -> bool:
        text = "It is open source, each team gets a collection, and finance may write SQL of its own there."
        app.save(draft(text, title="Dashboards are made in Metabase", type="decision"))
        text = "The cache of the orders page lived for a day. It lives for an hour now, and a button empties it."
        return bool(app.save(draft(text, title="Metabase dashboards showed old numbers", type=kind)).candidates)

    assert [asked("bugfix"), asked("decision")] == [False, True]


def test_a_title_that_other_projects_have_often_is_asked_about_in_its_own(
    app: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "_PART", 2)
    old = app.save(draft("Redis.", title=OLD))
    for number in range(9):
        app.save(draft(f"Text {number}.", title=OLD), project="other")
    assert [one.id for one in app.save(draft("Postgres.", title=NEW)).candidates] == [old.id]
    monkeypatch.setattr(search, "_MOST_ROWS", 2)
    assert app.save(draft("Another.", title=f"{NEW} again")).candidates != ()  # the newest of all are still looked at
    assert app.save(draft("Far.", title=f"{NEW} far"), project="third").candidates == ()


@pytest.mark.parametrize(
    ("title", "asked"),
    [
        pytest.param("Token storage moved", True, id="two-words"),
        pytest.param("Backends for tokens", True, id="other-endings"),
        pytest.param("Encrypt the backend of the token storage", True, id="anywhere"),
        pytest.param("Token length of the login page", False, id="one-word"),
        pytest.param("Release notes of the parser", False, id="none"),
    ],
)
def test_two_have_to_share_words_that_tell_their_subject(app: Engram, title: str, asked: bool) -> None:
    app.save(draft("Sessions stay with Redis, as before.", title=OLD))
    assert bool(app.save(draft("Other teams have to follow until summer.", title=title)).candidates) == asked


def test_what_many_titles_have_is_asked_about_where_rarer_words_do_not_do(
    app: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "_ROW_BUDGET", 3)
    for number in range(4):
        app.save(draft(f"Text {number}.", title=f"Driver release {OTHERS[number]}"))
    rare = app.save(draft("Redis.", title="Driver release eviction policy"))
    by_the_rare = app.save(draft("Lru.", title="Drivers eviction policy of today"))
    assert [one.id for one in by_the_rare.candidates] == [rare.id]
    assert app.save(draft("Other.", title="Driver release plan")).candidates != ()


def test_an_older_title_with_two_common_words_is_found_behind_many_with_one(
    app: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "ENOUGH", 0.2)  # in a memory half of which has them, two words say little
    monkeypatch.setattr(candidates, "_ROW_BUDGET", 40)
    monkeypatch.setattr(candidates, "_COUNTED_TO", 20)
    old = app.save(draft("Half to even.", title="Ledger rounding policy"))
    with app.store.transaction():
        for number in range(41):
            app.save(draft(f"Text {number}.", title=f"Ledger {number:x}ish note"))
            app.save(draft(f"Words {number}.", title=f"Rounding {number:x}ish memo"))
    assert old.id in [one.id for one in app.save(draft("Up.", title="Ledger rounding changed")).candidates]


def test_of_a_long_title_the_rare_words_are_compared(app: Engram) -> None:
    old = app.save(draft("For phones.", title="JWT RS256 for API"))
    for number in range(2):
        app.save(draft(f"Text {number}.", title="Kubernetes deployment configuration infrastructure documentation"))
    long = "Deployment documentation and JWT RS256 API"
    assert old.id in [one.id for one in app.save(draft("Other.", title=long)).candidates]


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (
            "Picked EMQX as the broker",
            "Replacing EMQX with VerneMQ",
            "The licence of EMQX changed; the broker follows.",
        ),
        ("Feature flags with Unleash", "Replaced Unleash with a table", "Our ten flags need no Unleash server."),
        ("Rate limits live in the gateway", "The gateway is gone", "Each service has its own rate limits."),
    ],
)
def test_what_takes_the_place_of_something_is_asked_about(app: Engram, old: str, new: str, why: str) -> None:
    for number in range(8):
        app.save(draft(f"Sensors of hall {number} are wired.", title=f"Table of hall {number}"))
    before = app.save(draft("Chosen by the whole team after a week of trials.", title=old))
    assert [one.id for one in app.save(draft(why, title=new)).candidates] == [before.id]


def test_of_many_that_are_alike_the_newest_is_offered(app: Engram) -> None:
    saved = [app.save(draft("Half to even.", title=f"Ledger rounding {number:x}ish")).id for number in range(30)]
    assert [one.id for one in app.save(draft("Up.", title="Ledger rounding")).candidates] == saved[-1:]


def test_a_pair_is_asked_about_once(app: Engram) -> None:
    app.save(draft("Redis.", title=OLD))
    first = app.save(draft("Postgres.", title=NEW, topic_key="storage/sessions"))
    again = app.save(draft("Postgres 18.", title=NEW, topic_key="storage/sessions"))
    assert len(first.candidates) == 1
    assert again.candidates == ()
    assert rows_of(app, "memory_relations") == 1


def test_a_pair_that_was_asked_about_leaves_room_for_one_that_was_not(app: Engram) -> None:
    _, new = pair(app)
    other = app.save(draft("Disk.", title="Parser rewrite"))
    app.observations.update(other.id, Change(title="Token storage on disk"))
    app.observations.update(new.id, Change(topic_key="storage/tokens"))
    revised = app.save(draft("Postgres 18.", title=NEW, topic_key="storage/tokens"))
    assert [candidate.id for candidate in revised.candidates] == [other.id]


@pytest.mark.parametrize(
    ("fields", "project"),
    [
        pytest.param({}, "gadgets", id="other-project"),
        pytest.param({"scope": "personal"}, None, id="other-scope"),
        pytest.param({"type": "session_summary"}, None, id="summary"),
        pytest.param({"type": "passive"}, None, id="passive"),
    ],
)
def test_some_saves_are_never_compared(app: Engram, fields: dict[str, Any], project: str | None) -> None:
    app.save(draft("Redis.", title=OLD))
    other = app.save(draft("Postgres.", title=NEW, **fields), project=project)
    assert other.candidates == ()


def test_a_save_is_never_compared_with_a_summary_or_a_deleted_observation(app: Engram) -> None:
    for kind in ("session_summary", "passive", "manual"):
        old = app.save(draft("Redis.", title=OLD, type=kind))
    app.observations.delete(old.id)
    assert app.save(draft("Postgres.", title=NEW)).candidates == ()


def test_a_duplicate_asks_nothing(app: Engram) -> None:
    for number in range(5):
        app.save(draft(f"text {number}", title=f"Token storage {OTHERS[number]}"))
    first = app.save(draft("Postgres.", title="Token storage"))
    again = app.save(draft("Postgres.", title="Token storage"))
    assert (len(first.candidates), again.outcome, again.candidates) == (1, "duplicate", ())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Release 1.2", "Release 1.3"),
        ("ADR 7", "ADR 8"),
        ("Sprint 14 retrospective", "Sprint 15 retrospective"),
        ("Release 2.9 notes", "Release 2.10 notes"),
        ("ADR-0007: use Terraform for infrastructure", "ADR-0008: use Ansible for hosts"),
        ("Phase 1 of the rollout", "Phase 2 of the rollout"),
        ("Migration 0012 adds an index", "Migration 0013 drops a column"),
    ],
)
def test_what_has_the_next_number_is_no_rival(app: Engram, old: str, new: str) -> None:
    app.save(draft("The first.", title=old))
    assert app.save(draft("The second.", title=new)).candidates == ()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            ("Payment service: retry failed charges", "A card that was declined is tried again after three days."),
            ("Payment service: nightly report", "Finance gets a sheet at six with the sums of each shop."),
        ),
        (
            ("Auth middleware reads the session cookie", "It is signed with a key of the vault and lives two weeks."),
            ("Auth middleware logs failed logins", "Address and browser go to the audit table, for the office."),
        ),
        (
            ("Billing export writes CSV", "The accountant opens it in a spreadsheet, with semicolons and a header."),
            ("Billing import reads bank files", "Statements arrive by night in the format of the central bank."),
        ),
        (
            (
                "Worker crashes when the queue is empty",
                "An iterator was advanced once too often after the last job; the loop checks its end now.",
            ),
            (
                "Worker logs the queue name",
                "Operators could not tell from the dashboard which of nine was slow that morning.",
            ),
        ),
    ],
)
def test_what_has_the_same_subject_alone_is_no_rival(app: Engram, old: tuple[str, str], new: tuple[str, str]) -> None:
    app.save(draft(old[1], title=old[0]))
    assert app.save(draft(new[1], title=new[0])).candidates == ()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Use RS256 for tokens", "Use HS256 for tokens"),
        ("Chose Elasticsearch for product search", "Chose Meilisearch for product search"),
        ("Cache sessions in Redis", "Cache sessions in Postgres"),
        ("Access token lifetime 15 minutes", "Access token lifetime 60 minutes"),
        ("Upload limit is 10 MB", "Upload limit raised to 50 MB"),
        ("Background jobs run on Celery", "Moved background jobs from Celery to Dramatiq"),
        ("Rate limits live in the gateway", "Rate limits live in each service"),
        ("Use UUIDv4 primary keys", "Use UUIDv7 primary keys"),
    ],
)
def test_another_answer_to_the_same_question_is_a_rival(app: Engram, old: str, new: str) -> None:
    for other in OTHERS:
        app.save(draft(f"All about {other}.", title=f"Grow {other} in the yard"))
    before = app.save(draft("The first.", title=old))
    assert [one.id for one in app.save(draft("The second.", title=new)).candidates] == [before.id]


def test_what_three_are_called_is_the_name_of_a_kind(app: Engram) -> None:
    asked = [bool(app.save(draft(f"{other}.", title="Release notes: synced")).candidates) for other in OTHERS[:4]]
    assert asked == [False, True, False, False]
    pairs = zip(("hail", "fog", "wind", "frost"), (3, 9, 20, 41), strict=True)
    numbered = [bool(app.save(draft(f"{other}.", title=f"Incident {n} on call")).candidates) for other, n in pairs]
    assert not any(numbered[2:])


def test_what_begins_every_title_tells_nothing(app: Engram) -> None:
    for other in (*OTHERS, "beetles", "lanterns", "ferries"):
        text = f"All about {other}, with a map, three tables and the names of those who count them."
        app.save(draft(text, title=f"Open data hub: {other} {other[::-1]}"))
    new = draft("Operators see wide scopes, readers narrow ones.", title="Open data hub: operator scope")
    assert app.save(new).candidates == ()


WRITTEN = st.one_of(
    st.text(), st.lists(st.sampled_from(["C++", "用户登录", "É", "²", "a_b", "12", "tokens"])).map(" ".join)
)


@given(title=WRITTEN, text=WRITTEN, other=WRITTEN)
@example(title="", text="", other="")
@example(title="the", text="用", other="\ud800")
def test_nothing_is_more_like_a_text_than_itself(title: str, text: str, other: str) -> None:
    one, another = (candidates.Subject.of(name, text, None, "manual", frozenset()) for name in (title, other))
    rarities = candidates.Rarities({}, 10)
    itself = candidates.likeness(one, one, rarities)
    assert candidates.likeness(one, another, rarities) <= itself + 1e-6 <= candidates.COSINE + 1e-3


def test_a_name_keeps_its_signs() -> None:
    assert list(candidates.words_of("Fixed the C++ parser in C#")) == ["fix", "c++", "parser", "c#"]
