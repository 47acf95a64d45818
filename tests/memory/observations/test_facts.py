"""Facts by the write rules (shared/spec/seed-capabilities.md section 4, rows 1 to 18)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from engram_py import Draft, Engram
from engram_py.base.errors import EmptyFieldError, InvalidArgumentError, InvalidInputError
from engram_py.base.settings import Settings
from engram_py.memory.observations.fact_rules import rules_of
from engram_py.memory.observations.values import Saved
from tests.support import FakeClock, raising

JOINED = "Alice joined Acme as CTO"


def add(app: Engram, entity: str, text: str, *, checked: bool = True) -> Saved:
    return app.facts.add(entity, text, checked=checked)


def active(app: Engram, entity: str) -> list[str]:
    return [one.text for one in app.facts.of(entity).items]


def lifecycle(app: Engram, row: int) -> str:
    return app.get(row).observation.lifecycle


def test_row_1_a_fact_is_added(app: Engram) -> None:
    saved = add(app, "alice", JOINED)
    assert (saved.outcome, saved.about, active(app, "alice")) == ("added", "alice", [JOINED])


@pytest.mark.parametrize(
    ("again", "likeness"),
    [
        pytest.param(JOINED, 1.0, id="row-2-the-same"),
        pytest.param("Alice joined Acme as the CTO", 0.83, id="row-3-nearly-the-same"),
    ],
)
def test_rows_2_and_3_what_is_said_already_is_not_said_again(app: Engram, again: str, likeness: float) -> None:
    first = add(app, "alice", JOINED)
    saved = add(app, "Alice", again)
    assert (saved.outcome, saved.id, saved.likeness) == ("deduped", first.id, likeness)
    assert active(app, "alice") == [JOINED]


def test_rows_4_and_5_facts_with_few_words_in_common_and_those_of_another_entity_stand(app: Engram) -> None:
    assert add(app, "dan", "Dan owns the billing service").outcome == "added"
    assert add(app, "dan", "Dan reviews every payment migration").outcome == "added"
    add(app, "alice", JOINED)
    assert add(app, "bob", JOINED).outcome == "added"


def test_rows_6_7_and_17_another_value_replaces_and_the_first_may_come_back(app: Engram) -> None:
    first = add(app, "bob", "Bob works at Initech since spring")
    second = add(app, "bob", "Bob works at Globex these days")
    assert (second.outcome, [note.id for note in second.replaced]) == ("superseded", [first.id])
    assert lifecycle(app, first.id) == "historical"

    third = add(app, "bob", "Bob works at Initech since spring")
    assert (third.outcome, [note.id for note in third.replaced]) == ("superseded", [second.id])
    assert active(app, "bob") == ["Bob works at Initech since spring"]

    [step, *_] = app.get(third.id, history=True).line
    assert (step.newer, step.older, step.older_content) == (third.id, second.id, "Bob works at Globex these days")
    assert "works at" in (step.reason or "")
    assert [one.past for one in app.facts.of("bob", past=True).items] == [False, True, True]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(JOINED, "Alice works at NewCorp now", id="row-8-employment"),
        pytest.param("The default branch is main", "Its default branch is trunk since May", id="branch"),
        pytest.param("The API is deployed to fly.io", "It runs on our own Kubernetes", id="deployment"),
        pytest.param("Its version is 3.1", "Its version is 3.2", id="version"),
        pytest.param("The port is 8080 on every machine", "The port is 9090 on every machine", id="alike"),
    ],
)
def test_row_8_phrases_of_one_kind_replace_each_other(app: Engram, old: str, new: str) -> None:
    add(app, "it", old)
    assert add(app, "it", new).outcome == "superseded"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Eve lives in Paris near the river", "Eve has a flat and lives in Paris"),
        ("The owner is the platform team", "Its owner is Platform Team, as of 2026"),
    ],
)
def test_row_9_the_same_value_in_other_words_replaces_nothing(app: Engram, old: str, new: str) -> None:
    add(app, "eve", old)
    assert add(app, "eve", new).outcome == "added"


def test_row_10_several_old_values_are_replaced_at_once(app: Engram) -> None:
    old = [add(app, "svc", f"The database is {name} for now", checked=False).id for name in ("MySQL", "SQLite")]
    saved = add(app, "svc", "The database is PostgreSQL everywhere")
    assert {note.id for note in saved.replaced} == set(old)
    assert {lifecycle(app, row) for row in old} == {"historical"}


def test_row_11_what_is_too_short_is_refused_and_nothing_stored(app: Engram) -> None:
    with raising(InvalidInputError, "fact_refused", match="14 characters"):
        add(app, "a", "Alice is tired")
    assert active(app, "a") == []


@pytest.mark.parametrize("phrase", rules_of().transient)
def test_rows_12_and_13_what_passes_is_refused_by_its_phrase(app: Engram, phrase: str) -> None:
    with raising(InvalidInputError, "fact_refused", match=phrase):
        add(app, "a", f"The owner {phrase.upper()} something long")


def test_rows_14_and_15_phrases_are_whole_words_and_an_ordinary_save_is_never_judged(app: Engram) -> None:
    assert add(app, "a", "The board finished reconsidering the Postgres choice").outcome == "added"
    assert app.save(Draft("flaky", "probably a race, not sure")).outcome == "added"
    assert app.save(Draft("flaky too", "maybe it is tired", "fact")).outcome == "added"


def test_row_16_unchecked_a_fact_is_kept_as_it_is(app: Engram) -> None:
    assert add(app, "a", "Alice is tired today", checked=False).outcome == "added"


def test_row_18_a_search_as_of_a_day_shows_what_held_then(app: Engram, clock: FakeClock) -> None:
    add(app, "bob", "Bob works at Initech since spring")
    clock.advance(days=5)
    between = clock.now.date().isoformat()
    clock.advance(days=5)
    add(app, "bob", "Bob works at Globex these days")
    assert [hit.title for hit in app.search("bob works", as_of=between).results] == [
        "Bob works at Initech since spring"
    ]
    assert [hit.title for hit in app.search("bob works").results] == ["Bob works at Globex these days"]


def test_what_is_redacted_is_judged_and_kept_without_the_secret(app: Engram) -> None:
    saved = add(app, "svc", "The word <private>hunter2</private> opens the staging database")
    assert saved.redacted
    assert "hunter2" not in app.get(saved.id).observation.content


@pytest.mark.parametrize("entity", ["", "  ", "…", "../"])
def test_an_entity_has_a_letter_or_a_digit(app: Engram, entity: str) -> None:
    with pytest.raises((EmptyFieldError, InvalidArgumentError)):
        add(app, entity, JOINED)


def test_a_name_with_a_path_in_it_is_a_slug(app: Engram) -> None:
    assert add(app, "../etc/Passwd", JOINED).about == "etc-passwd"


@pytest.fixture
def with_rules(tmp_path: Path) -> Iterator[Callable[[str], Engram]]:
    """Opens a memory whose user has a file of rules with this text."""
    with ExitStack() as stack:

        def opened(text: str) -> Engram:
            (extra := tmp_path / "facts.json").write_text(text)
            settings = Settings(tmp_path / "memory", fact_rules=str(extra))
            return stack.enter_context(Engram(settings=settings, directory=tmp_path))

        yield opened


def test_a_file_of_the_user_adds_anchors_and_patterns(with_rules: Callable[[str], Engram]) -> None:
    app = with_rules(json.dumps({"anchors": {"linter": ["is linted by"]}, "transient": ["on my list"]}))
    add(app, "web", "The web app is linted by ESLint")
    assert add(app, "web", "The web app is linted by Biome").outcome == "superseded"
    with raising(InvalidInputError, "fact_refused", match="on my list"):
        add(app, "web", "The web app is on my list of rewrites")


@pytest.mark.parametrize("text", ["{", "[]", '{"anchors": []}', '{"transient": "maybe"}', '{"anchors": {"x": "y"}}'])
def test_a_file_that_is_none_is_named(with_rules: Callable[[str], Engram], text: str) -> None:
    app = with_rules(text)
    with pytest.raises(InvalidArgumentError, match="ENGRAM_FACT_RULES"):
        add(app, "web", "The web app is linted by ESLint")
