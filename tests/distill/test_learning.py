"""What a person says for good becomes a candidate, from whatever source (shared/spec/seed-capabilities.md section 4,
rows 6 and 52 to 54)."""

from __future__ import annotations

from pathlib import Path

import pytest

from engram_py import Draft, Engram
from tests.distill.conftest import say
from tests.memory import FakeClock, Opener

TOLD = (
    "Hi, I live in Bordeaux. I prefer TypeScript over JavaScript. "
    "We decided to use Kafka instead of RabbitMQ because the consumers need to replay. "
    "From now on never use tabs. Remember that deploys happen on Fridays. My manager is Peter."
)


def tell(app: Engram, text: str, *, conversation: str = "c1", day: str | None = None, answer: str = "Noted.") -> None:
    app.ingest(conversation, [{"user": text, "assistant": answer}], session_date=day)


def candidates(app: Engram) -> set[tuple[str, str, str]]:
    rows = app.browsing.unconfirmed(all_projects=True, limit=500)
    return {(row.type, row.scope, row.content) for row in rows}


def active(app: Engram) -> set[str]:
    sql = "select content from observations where lifecycle = 'active' and deleted_at is null and type <> 'note'"
    return {row[0] for row in app.store.tuples(f"{sql} and type <> 'session_summary'")}


def test_what_is_said_for_good_waits_in_review(app: Engram) -> None:
    tell(app, TOLD)
    assert candidates(app) == {
        ("fact", "personal", "I live in Bordeaux"),
        ("preference", "personal", "I prefer TypeScript over JavaScript"),
        ("decision", "project", "We decided to use Kafka instead of RabbitMQ because the consumers need to replay"),
        ("policy", "project", "From now on never use tabs"),
        ("fact", "project", "Remember that deploys happen on Fridays"),
        ("fact", "personal", "My manager is Peter"),
    }


def test_row_52_each_day_of_ingested_talk_has_its_bullets_in_the_log(app: Engram, tmp_path: Path) -> None:
    tell(app, TOLD, day="2026-01-04")
    tell(app, "We use Terraform for all infrastructure. I speak German.", conversation="c2", day="2026-01-09")
    app.vault.init(tmp_path / "vault")

    log = (tmp_path / "vault" / "observations.md").read_text()

    days = {part.split("\n")[0]: part.count("\n- ") for part in log.split("\n## ")[1:]}
    assert days == {"2026-01-09": 2, "2026-01-04": 6}
    assert "- **I live in Bordeaux** `fact`" in log


@pytest.mark.parametrize(
    "text",
    [
        "Good morning! How are you? I had a long weekend, we went hiking and the weather was lovely all day long.",
        "What did we decide about the queue? Is it Kafka or RabbitMQ, and where do I live, Paris or Bordeaux?",
        "The docs say: we decided to use Kafka instead of RabbitMQ, and then the example goes on for a page or two.",
    ],
)
def test_row_54_small_talk_and_questions_leave_no_fact_and_no_bullet(app: Engram, tmp_path: Path, text: str) -> None:
    tell(app, text)
    app.vault.init(tmp_path / "vault")
    assert candidates(app) == set()
    assert "\n- " not in (tmp_path / "vault" / "observations.md").read_text()


def test_what_an_assistant_says_of_itself_is_no_fact(app: Engram) -> None:
    tell(app, "Write the parser, please, as fast as you can.", answer=TOLD)
    assert candidates(app) == set()


def test_a_candidate_that_is_said_again_another_time_is_confirmed(app: Engram, clock: FakeClock) -> None:
    said = ("preference", "personal", "I prefer TypeScript over JavaScript")
    say(app, said[2])
    app.distilling.flush()
    say(app, said[2])  # the same session tells it again
    app.distilling.flush()
    assert candidates(app) == {said}

    clock.advance(minutes=5)
    say(app, f"By the way, {said[2]}!", session="s2")
    app.distilling.flush()
    assert candidates(app) == set()
    assert active(app) == {said[2]}


def test_what_the_person_confirms_or_deletes_stays_so(app: Engram, clock: FakeClock) -> None:
    tell(app, "I live in Bordeaux. I prefer TypeScript over JavaScript.")
    for row in app.browsing.unconfirmed():
        (app.observations.accept if row.type == "fact" else app.observations.delete)(row.id)
    clock.advance(days=1)
    tell(app, "I live in Bordeaux. I prefer TypeScript over JavaScript.", conversation="c2")
    assert (candidates(app), active(app)) == (set(), {"I live in Bordeaux"})


def test_row_6_the_newest_of_two_homes_and_managers_holds(app: Engram, clock: FakeClock) -> None:
    tell(app, "I live in Bordeaux. My manager is Peter. I prefer tabs over spaces. My wife works at Acme.")
    clock.advance(days=1)
    tell(
        app,
        "I live in Paris now. My manager is Anna. I prefer spaces over tabs. I work at Initech.",
        conversation="c2",
    )
    assert {row[2] for row in candidates(app)} == {
        "I live in Paris now",
        "My manager is Anna",
        "I prefer spaces over tabs",
        "I work at Initech",
    } | {text for text in active(app) if "wife" in text}
    [old] = app.store.rows("select * from observations where content = 'I live in Bordeaux'")
    assert old["lifecycle"] == "historical"


def test_row_6_what_was_said_later_holds_in_whatever_order_it_is_read(app: Engram) -> None:
    tell(app, "I live in Paris.", day="2026-02-01")
    tell(app, "I live in Bordeaux.", conversation="older", day="2026-01-01")
    tell(app, "I live in Bordeaux.", conversation="older", day="2026-01-01")
    assert active(app) == {"I live in Paris"}


def test_row_6_a_statement_added_by_hand_replaces_what_was_said_in_any_project(
    open_memory: Opener, make_repo: object, app: Engram, clock: FakeClock
) -> None:
    tell(app, "I live in Bordeaux.")
    clock.advance(days=1)
    saved = app.identity.add("I live in Paris", project="elsewhere")
    assert (saved.outcome, [note.title for note in saved.replaced]) == ("superseded", ["I live in Bordeaux"])
    clock.advance(days=1)
    assert app.identity.add("I live in Lyon").outcome == "superseded"
    assert active(app) == {"I live in Lyon"}
    assert app.identity.add("My email is ada@example.org").outcome == "added"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Always reply in English", "Please answer in French"),
        ("Always use tabs", "Never use tabs"),
        ("The user works at Initech", "I work for Globex"),
        ("My favourite editor is Vim", "My favourite editor is Helix"),
        ("I prefer tabs for indentation", "I prefer spaces for indentation"),
    ],
)
def test_a_statement_of_the_same_with_another_value_replaces(app: Engram, old: str, new: str) -> None:
    app.identity.add(old)
    assert app.identity.add(new).outcome == "superseded"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("My manager is Peter", "My manager is Peter Novak"),
        ("I live in Bordeaux", "My parents live in Paris"),
        ("I prefer tabs", "I prefer TypeScript over JavaScript"),
        ("Always reply in English", "Always reply in short sentences"),
        ("My wife works at Acme", "I work at Initech"),
        ("Never use tabs", "Never use wildcard imports"),
    ],
)
def test_a_statement_of_something_else_replaces_nothing(app: Engram, old: str, new: str) -> None:
    app.identity.add(old)
    assert app.identity.add(new).outcome == "added"


def test_a_secret_that_is_to_be_remembered_is_not_kept(app: Engram) -> None:
    tell(app, "Remember that the token is ghp_0123456789abcdefghijklmnopqrstuvwxyzAB of the bot account.")
    assert candidates(app) == set()


def test_an_ordinary_save_retires_nothing(app: Engram) -> None:
    tell(app, "I live in Bordeaux.")
    app.save(Draft("Home", "I live in Paris", "preference", "personal"))
    assert "I live in Bordeaux" in active(app)
