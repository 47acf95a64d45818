"""The older observations that a save asks about, because their titles say they may be answers to the same question."""

from __future__ import annotations

from typing import Any

import pytest

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
    assert 0 < candidate.score <= 1
    assert candidate.judgment_id.startswith("rel-")
    assert new.judgment_required
    assert old.candidates == ()
    [waiting] = app.relations.pending()
    assert (waiting.source_observation, waiting.target_observation) == (new.id, old.id)


def test_at_most_three_candidates_are_asked_about_the_most_similar_first(app: Engram) -> None:
    for number in range(6):
        app.save(draft(f"text {number}", title=f"Storage backend choice {OTHERS[number]}"))
    last = app.save(draft("last", title="Storage backend choice"))
    scores = [candidate.score for candidate in last.candidates]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)


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
        pytest.param("Token storage of the login page", False, id="two-of-many"),
        pytest.param("Backends for tokens", True, id="other-endings"),
        pytest.param("Encrypt the backend of the token storage", True, id="anywhere"),
        pytest.param("Token length of the login page", False, id="one-word"),
        pytest.param("Use the new backend for all of it", False, id="one-word-among-common-ones"),
        pytest.param("Release notes of the parser", False, id="none"),
    ],
)
def test_titles_have_to_share_words_that_tell_something(app: Engram, title: str, asked: bool) -> None:
    app.save(draft("Redis.", title=OLD))
    assert bool(app.save(draft("Other.", title=title)).candidates) == asked


def test_what_many_titles_have_is_asked_about_where_rarer_words_do_not_do(
    app: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "_ROW_BUDGET", 3)
    for number in range(4):
        app.save(draft(f"Text {number}.", title=f"Driver release {OTHERS[number]}"))
    rare = app.save(draft("Redis.", title="Driver release eviction policy"))
    by_the_rare = app.save(draft("Lru.", title="Drivers eviction policy of today"))
    assert [one.id for one in by_the_rare.candidates] == [rare.id]
    assert len(app.save(draft("Other.", title="Driver release plan")).candidates) == 3


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
    ("old", "new"),
    [
        ("Picked EMQX as the broker of all farms", "Replacing EMQX with VerneMQ"),
        ("Feature flags with Unleash for every service", "Replaced Unleash with a config table"),
        ("Rate limits live in the gateway", "We no longer use the gateway here at all"),
    ],
)
def test_what_takes_the_place_of_something_shares_its_name_alone(app: Engram, old: str, new: str) -> None:
    for number in range(8):
        app.save(draft(f"Text {number}.", title=f"Config table of hall {number}"))
    before = app.save(draft("The first.", title=old))
    assert app.save(draft("The second.", title=new)).candidates[0].id == before.id


def test_of_many_that_are_alike_the_newest_are_offered(app: Engram) -> None:
    saved = [app.save(draft(f"Text {number}.", title=f"Ledger rounding {number:x}ish")).id for number in range(30)]
    found = app.save(draft("Up.", title="Ledger rounding")).candidates
    assert [one.id for one in found] == saved[:-4:-1]


def test_a_name_that_many_titles_have_is_not_replaced_in_all_of_them(app: Engram) -> None:
    for number in range(8):
        app.save(draft(f"Text {number}.", title=f"Gateway limit of hall {number:x}ish"))
    assert app.save(draft("The second.", title="Replaced the gateway by a proxy")).candidates == ()


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
    again = app.save(draft("Postgres 18.", title=NEW + " again"))
    app.observations.update(new.id, Change(topic_key="storage/tokens"))
    revised = app.save(draft("Postgres 18.", title=NEW, topic_key="storage/tokens"))
    assert other.id in [candidate.id for candidate in again.candidates]
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
    assert (len(first.candidates), again.outcome, again.candidates) == (3, "duplicate", ())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Release 1.2", "Release 1.3"),
        ("ADR 7", "ADR 8"),
        ("Sprint 14 retrospective", "Sprint 15 retrospective"),
        ("Release 2.9 notes", "Release 2.10 notes"),
        ("ADR-0007: use Terraform for infrastructure", "ADR-0008: use Ansible for hosts"),
        ("Phase 1 of the rollout", "Phase 2 of the rollout"),
        ("Payment service: retry failed charges", "Payment service: nightly report"),
        ("Auth middleware reads the session cookie", "Auth middleware logs failed logins"),
        ("Billing export writes CSV", "Billing import reads CSV"),
        ("Worker crashes when the queue is empty", "Worker logs the queue name"),
        ("Migration 0012 adds an index", "Migration 0013 drops a column"),
    ],
)
def test_what_has_the_same_subject_or_the_next_number_is_no_rival(app: Engram, old: str, new: str) -> None:
    app.save(draft("The first.", title=old))
    assert app.save(draft("The second.", title=new)).candidates == ()


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
    asked = [bool(app.save(draft(f"Text {n}.", title="Release notes: synced")).candidates) for n in range(4)]
    assert asked == [False, True, False, False]
    numbered = [bool(app.save(draft(f"Text {n}.", title=f"Incident {n} on call")).candidates) for n in (3, 9, 20, 41)]
    assert not any(numbered[2:])


def test_what_begins_every_title_tells_nothing(app: Engram) -> None:
    for other in (*OTHERS, "beetles", "lanterns", "ferries"):
        app.save(draft(f"All about {other}.", title=f"Open data hub: {other} {other[::-1]}"))
    assert app.save(draft("Wide.", title="Open data hub: operator scope")).candidates == ()
