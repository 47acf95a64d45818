"""The words of what a search found, of why it found nothing, and of how it went."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from engram_py import Engram
from engram_py.base.reasons import reason
from engram_py.interfaces.wording import render
from engram_py.interfaces.wording.reasons import spelled
from engram_py.memory.observations.values import AnchorState, Draft, RelationNote
from engram_py.recall.values import DocumentHit, Explain, Hit, LadderStep, NoResults, Numbers, Results, WordNote

NOW = datetime(2026, 3, 4, 10, 0, tzinfo=UTC)
TIME = "2026-03-01T10:00:00.000Z"


def hit(number: int = 12, **more: Any) -> Hit:
    standard: dict[str, Any] = {
        "id": number, "sync_id": "obs-1", "title": "Raised the timeout", "type": "bugfix", "project": "widgets",
        "scope": "project", "topic_key": None, "score": 1.0, "snippet": "From 5 to 30 seconds.", "truncated": False,
        "pinned": False, "state": "active", "review_after": None, "created_at": TIME, "updated_at": TIME,
    }  # fmt: skip
    return Hit(**standard | more)


def found(*hits: Hit, query: str = "timeout", **more: Any) -> Results:
    standard: dict[str, Any] = {"rung": "all words", "projects": ("widgets",), "memories": len(hits)}
    return Results(query, hits, **standard | more)


def said(value: Results, *, full: bool = False) -> list[str]:
    return render.text(value, now=NOW, full=full, door="mcp").splitlines()


def silent(query: str = "timeout", *, memories: int = 7, projects: Any = ("widgets",), **more: Any) -> list[str]:
    silence = NoResults(**{"reason": reason("unknown_words")} | more)
    return said(Results(query, (), "none", projects, memories, silence=silence))


def anchor(word: Any, **more: Any) -> AnchorState:
    return AnchorState("src/auth.py", 10, 20, word, **more)


# Hits


def test_a_hit_is_its_handle_title_type_age_and_a_line() -> None:
    assert said(found(hit())) == [
        "1 match. mem_get_observation(id=12) shows it.",
        "[#12] Raised the timeout (bugfix, 3d)",
        "  From 5 to 30 seconds.",
    ]


@pytest.mark.parametrize(
    ("more", "label"),
    [
        pytest.param({"pinned": True}, "pinned", id="pinned"),
        pytest.param({"scope": "personal"}, "personal", id="scope"),
        pytest.param({"project": "gizmos"}, "gizmos", id="other-project"),
        pytest.param({"lifecycle": "archived"}, "archived", id="archived"),
        pytest.param({"lifecycle": "historical"}, "superseded", id="historical"),
        pytest.param({"state": "needs_review"}, "needs review", id="overdue"),
        pytest.param({"branch": "feature/x"}, "on branch feature/x", id="branch"),
        pytest.param({"like": 9}, "nearly the same as [#9]", id="same"),
        pytest.param({"anchors": (anchor("fresh"), anchor("fresh"))}, "fresh", id="fresh"),
        pytest.param({"relations": (RelationNote("superseded_by", 14, "Lowered it"),)}, "superseded", id="superseded"),
    ],
)
def test_what_to_know_of_a_hit_stands_behind_its_title(more: dict[str, Any], label: str) -> None:
    assert said(found(hit(**more)))[1] == f"[#12] Raised the timeout (bugfix, 3d, {label})"


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"coverage": 0.1, "score": 0.05}, id="weak"),
        pytest.param({"relations": (RelationNote("supersedes", 4, "Old"),)}, id="supersedes-another"),
        pytest.param({"relations": (RelationNote("superseded_by", 4, "Gone", deleted=True),)}, id="by-a-deleted-one"),
        pytest.param(
            {"anchors": (anchor("fresh"), anchor("unknown", reason=reason("unreadable", problem="binary")))},
            id="half-known",
        ),
    ],
)
def test_what_says_nothing_against_a_hit_is_no_label(more: dict[str, Any]) -> None:
    assert said(found(hit(**more)))[1] == "[#12] Raised the timeout (bugfix, 3d)"


@pytest.mark.parametrize(
    ("more", "lines"),
    [
        ({"snippet": "", "instead_of": RelationNote("replaced", 1, "Old")}, ['  replaced [#1] "Old"']),
        (
            {"relations": (RelationNote("superseded_by", 14, "Lowered it"),)},
            ["  From 5 to 30 seconds.", "  superseded_by [#14] Lowered it"],
        ),
        (
            {"anchors": (anchor("changed", commits_ago=3, author="Ada"), anchor("fresh"), anchor("gone"))},
            ["  From 5 to 30 seconds.", "  src/auth.py:10-20 changed 3 commits ago by Ada; src/auth.py:10-20 gone"],
        ),
        (
            {
                "anchors": (
                    anchor("unknown", reason=reason("unreadable", problem="a directory")),
                    anchor("gone"),
                    anchor("fresh"),
                )
            },
            ["  From 5 to 30 seconds.", "  src/auth.py:10-20 gone; src/auth.py:10-20 unknown (a directory)"],
        ),
    ],
    ids=["no-passage", "replaced", "stale", "unknown"],
)
def test_below_a_hit_stand_its_passage_and_what_became_of_it(more: dict[str, Any], lines: list[str]) -> None:
    assert said(found(hit(**more)))[2:] == lines
    assert said(found(hit(**more)), full=True)[2:] == lines


@pytest.mark.parametrize("name", ["not_in_repository", "saved_outside", "not_read"])
def test_that_a_file_cannot_be_compared_here_at_all_is_said_only_in_the_long_form(name: str) -> None:
    value = found(hit(anchors=(anchor("unknown", reason=reason(name)),)))

    assert len(said(value)) == 3
    assert said(value, full=True)[3:] == [f"  src/auth.py:10-20 unknown ({spelled(reason(name), 'mcp')})"]


def test_the_text_of_a_hit_goes_from_the_words_that_were_asked_for_to_what_follows_them(app: Engram) -> None:
    filler = "Nobody knows what else there is to say of all of this, and of the rest. " * 80
    answer = "Consumers that retried acknowledge only after the ledger has written the row, which is soon enough."
    app.observations.save(Draft("Slow payments", f"{filler}\n\n{answer} It was decided in May. {filler}"))

    passage = said(app.searches.search("when does the retrying consumer acknowledge?"))[2]
    assert f"{answer} It was decided in May." in passage
    assert passage.startswith("  …")


def test_an_answer_keeps_to_600_tokens(app: Engram) -> None:
    filler = "Nobody knows what else there is to say of the timeout, and of the rest of it. " * 80
    for name in "abcdefghijklmnopqrst":
        others = " ".join(f"{name}{other}word" for other in "abcdefghijklmnopqrst")
        app.save(Draft(f"The timeout of service number {name}{name} was changed", f"{others}: {filler}"))
    for limit in (1, 5, 10, 20):
        assert 300 < len("\n".join(said(app.searches.search("timeout", limit=limit)))) / 4 <= 600


def test_a_session_summary_says_what_the_session_was_for(app: Engram) -> None:
    app.episodes.summarize("## Goal\nBuild the CSV parser\n\n## Accomplished\n" + "Wrote some tests of it. " * 200)

    value = app.searches.search("csv parser")
    [title, line] = said(value)[1:]
    assert title.startswith("[#1] Session summary: widgets (session_summary, ")
    assert "Build the CSV parser" in line
    [title, line] = said(app.searches.search("tests wrote"))[1:]
    assert title.startswith("[#1] Session summary: widgets. Build the CSV parser (session_summary, ")
    assert "Build" not in line
    assert value.results[0].title == "Session summary: widgets"


@pytest.mark.parametrize(("rung", "said_of_it"), [
    ("filters", "2 matches, latest change first."), ("named", "2 matches, in the order given."),
    ("exact", "2 matches, the exact one first."), ("any word", "2 matches, best first."),
])  # fmt: skip
def test_hits_are_said_to_stand_in_the_order_they_have(rung: str, said_of_it: str) -> None:
    value = found(hit(), hit(13), rung=rung)
    assert said(value)[0] == f"{said_of_it} mem_get_observation(id=ID) shows one."


# Nothing


def test_an_empty_answer_names_unknown_words_and_the_next_step_in_two_lines() -> None:
    assert silent("does kafka rebalance?", unknown=("kafka", "rebalance")) == [
        'Nothing found for "does kafka rebalance?" in widgets (7 memories searched).',
        "No memory mentions: kafka, rebalance. Next: try other words, or search all projects (all_projects=true).",
    ]


def test_memories_and_documents_stand_in_one_order_at_most_three_of_a_kind_before_the_other() -> None:
    document = DocumentHit(
        "docs/adr/0007.md:12", "docs", "widgets", "repository", "7. Use Kafka", "We move to Kafka.", 0.3, 12, 10, 14,
        "1a2b3c", TIME,
    )  # fmt: skip
    hits = [hit(number, score=1.0 - number / 100) for number in range(1, 6)]
    lines = said(found(*hits, documents=(document,), unknown=("login",)))
    assert lines[1] == "No memory mentions: login."
    heads = [line for line in lines if line.startswith("[")]
    assert [line.partition("]")[0][1:] for line in heads] == ["#1", "#2", "#3", "docs/adr/0007.md:12", "#4", "#5"]
    assert "docs/adr/0007.md:12" in lines[0]
    assert lines[0].startswith("6 matches, best first.")
    first = said(found(*hits, documents=(replace(document, score=1.0),)))
    assert next(line for line in first if line.startswith("[")).startswith("[docs/adr/0007.md:12]")


def test_what_nearly_repeats_a_hit_stands_below_it_in_a_line() -> None:
    lines = said(found(hit(1), hit(2, like=1), hit(3, like=1)))
    assert lines[-1] == "  nearly the same, whatever the numbers: [#2] [#3]"
    assert sum(line.startswith("[#") for line in lines) == 1


ELSEWHERE = "or search all projects (all_projects=true)"
OPERATORS = "AND, OR, NOT and NEAR are words here, not operators"
POLICY: dict[str, Any] = {"filters": ("type:policy",)}


@pytest.mark.parametrize(
    ("query", "more", "step"),
    [
        ("zebra", {}, f"try other words, {ELSEWHERE}"),
        ("zebra", {"projects": None}, "try other words"),
        ('"access token"', {"marked": True}, "search without the quotes"),
        ("timeout -redis", {"marked": True}, "search without the -words"),
        ("“time out” -redis", {"marked": True}, "search without the quotes and the -words"),
        ("#12", {"numbered": True}, "search by words instead"),
        ("zebra", {"others": False}, "try other words"),
        ("-redis", {"marked": True, "unworded": True}, "add a word to search for; -word only excludes"),
        ('AND OR * ^ : ""', {}, f"give at least one more word; {OPERATORS}"),
        ('zebra ""', {}, f"try other words, {ELSEWHERE}"),
        ("who is", {"unworded": True}, "add a more specific word, or quote the words"),
        ("...", {}, "give at least one word, #id, or a filter such as type:decision"),
        ("zebra", {"memories": 0}, f"save a memory, there are none yet, {ELSEWHERE}"),
        ("timeout type:policy", POLICY, "search without type:policy"),
        ("zebra type:policy", {**POLICY, "unknown": ("zebra",), "projects": None}, "try other words"),
        ("file:x.py", {"filters": ("file:x.py",), "unworded": True}, "change file:, or search by words"),
        ("type:policy", {**POLICY, "unworded": True}, "change type:, or search by words"),
        ("kafka", {"elsewhere": ("kafka",)}, "search all projects (all_projects=true), or try other words"),
    ],
)  # fmt: skip
def test_an_empty_answer_ends_with_the_next_step(query: str, more: dict[str, Any], step: str) -> None:
    assert silent(query, **more)[-1].endswith(f". Next: {step}.")


@pytest.mark.parametrize(
    ("more", "fact"),
    [
        ({"elsewhere": ("kafka",)}, "Only other projects know: kafka; all_projects=true searches them."),
        ({**POLICY, "filtered": 1_200}, "1,200 memories with these words do not pass type:policy."),
    ],
)
def test_an_empty_answer_says_where_its_words_are_and_what_was_searched(more: dict[str, Any], fact: str) -> None:
    assert fact in "\n".join(silent("kafka plc", **more))


def test_many_long_words_and_lines_stay_two_short_lines() -> None:
    lines = silent(
        "one\ntwo\r\nthree " * 500,
        unknown=tuple(f"word{number}" + "x" * 80 for number in range(60)),
        filters=tuple(f"type:{number}\n" + "y" * 300 for number in range(16)),
        filtered=3,
    )

    assert len(lines) == 2
    assert max(map(len, lines)) < 2_000
    assert "and 52 more" in lines[1]


# How it went


def explained(title: str = "Raised the timeout", **more: Any) -> Results:
    numbers = Numbers(12, 2.125, 2.0, 0.5, 0.6, 1.0, None, 3.525, {"recency": 1.06, "pinned": 1.1}, 4.11, ("timeout",))
    standard: dict[str, Any] = {
        "rungs": (LadderStep("all words", 1, reason("in_one_passage")),),
        "words": (WordNote("timeout", 1_234, 0.693, reason("looked_up")),),
        "hits": (numbers,), "filters": ("type:bugfix",), "seconds": 0.0125,
    }  # fmt: skip
    return found(hit(title=title), explain=Explain(**standard | more))


def test_an_explained_search_is_aligned_tables_with_a_line_each_on_how_to_read_them() -> None:
    lines = said(explained())
    assert lines[0] == "1 match."
    assert [line.partition(":")[0] for line in lines if ": " in line][:3] == ["Hits", "Steps", "Words"]
    for line in (
        "  #12   4.11     2.12   2.00        0.50     0.60             1.000  recency 1.06, pinned 1.10",
        "  all words      1  every word in one passage",
        "  timeout     1,234  0.69  searched",
        "Filters: type:bugfix. It took 12.5 ms.",
    ):
        assert any(one.startswith(line) for one in lines), line
    value = replace(explained(), rung="filters", results=(hit(), hit(13)))
    assert said(value)[0] == "2 matches, latest change first."
    exact = Numbers(12, 0.0, 0.0, 0.0, 0.0, 1.0, None, 0.0, {}, 1.0, ())
    assert said(explained(hits=(exact,)))[4].endswith("named, not ranked  Raised the timeout")


@pytest.mark.parametrize(
    "title",
    [
        pytest.param("Clear \x1b[2J\x1b]0;owned\x07 \x9b31m", id="control-sequences"),
        pytest.param("two\nlines\r\tand\x0btabs\u2028", id="lines"),
        pytest.param("right \u202eot tfel\u2066", id="turned-around"),
        pytest.param("half \ud800 of a pair", id="surrogate"),
    ],
)
def test_no_title_breaks_the_table(title: str) -> None:
    lines = said(explained(title))
    line = lines[4]

    assert len(lines) == len(said(explained()))
    assert line.startswith("  #12   4.11")
    assert not set(line) & set("\x1b\x07\x9b\n\r\t\x0b\u202e\u2066\ud800")


def test_columns_after_wide_characters_stand_below_their_heading() -> None:
    words = (WordNote("令牌", 1, 1.0, reason("looked_up")), WordNote("token", 2, 1.0, reason("looked_up")))

    assert [line for line in said(explained(words=words)) if "searched" in line] == [
        "  令牌          1  1.00  searched",
        "  token         2  1.00  searched",
    ]
