"""Search over HTTP: Engram's list as it was, the header of notes beside it, and queries of a megabyte."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from engram_py import Engram
from engram_py.interfaces.http.answers import HEADER, MOST_BYTES, header, hit_notes
from engram_py.memory.observations.values import AnchorState, RelationNote
from engram_py.recall.search import MOST
from tests.interfaces.cli.test_same_as_mcp import told
from tests.interfaces.http.asking import Asker, Running, notes_of, serving_many
from tests.recall.searching import kept

# Every field that Engram's clients read, and the three that were always beside them.
LISTED = {
    "id", "sync_id", "session_id", "type", "title", "content", "project", "scope", "revision_count",
    "duplicate_count", "last_seen_at", "pinned", "state", "created_at", "updated_at", "rank", "score", "snippet",
}  # fmt: skip


@pytest.fixture(autouse=True)
def memories(app: Engram) -> None:
    kept(app, "From 5 to 30 seconds, since the pool was slow.", title="Raised the login timeout", type="bugfix")
    kept(app, "Installs are fast.", title="Chose uv", type="decision", topic_key="arch/uv")


def test_the_list_is_engrams_and_an_empty_one_is_two_bytes(ask: Asker) -> None:
    found = ask("GET", "/search?q=timeout")
    assert (found.status, [set(row) for row in found.value]) == (200, [LISTED])
    assert HEADER.lower() not in found.headers
    listed = ask.ok("POST", "/search", {"query": "timeout", "response_format": "list"})
    assert [set(row) for row in listed] == [LISTED]
    assert ask("GET", "/search?q=kubernetes").body == b"[]"


@pytest.mark.parametrize(
    ("query", "said"),
    [
        pytest.param("kubernetes+ingress", "No memory mentions: kubernetes, ingress.", id="never-seen"),
        pytest.param(
            "timeout+type:decision", "1 memory with these words does not pass type:decision", id="filtered-away"
        ),
        pytest.param("timeout+colour:red", "colour: is not a filter", id="unknown-filter"),
        pytest.param("timeout+since:2026-02-30", "since:2026-02-30 is not a date", id="impossible-date"),
        pytest.param("timeout+-redis", "excluded: memories with redis", id="excluded"),
        pytest.param("timeout+xylophone", "No memory mentions: xylophone.", id="unknown-beside-a-hit"),
        pytest.param("kubernetes", "No memory mentions: kubernetes. Next: ", id="next-step"),
        pytest.param(quote("почему мы перенесли сервис " * 8), "Nothing found for", id="any-script"),
        pytest.param("🦄" * 200, "The query has no words. Next: ", id="any-script-to-the-end"),
    ],
)
def test_the_header_says_what_the_list_has_no_place_for(ask: Asker, query: str, said: str) -> None:
    reply = ask("GET", f"/search?q={quote(query, safe='+%:')}")
    assert any(note.startswith(said) for note in notes_of(reply))
    assert len(reply.headers[HEADER.lower()]) <= MOST_BYTES


def test_an_empty_context_says_why_beside_it(ask: Asker) -> None:
    reply = ask("GET", "/context?query=sort+a+list")
    assert reply.value == {"context": ""}
    assert "GET /search searches anyway" in notes_of(reply)[0]
    assert "is about this" in notes_of(ask("GET", "/context?mode=cascade&query=kubernetes"))[0]


@pytest.mark.parametrize("explain", ["false", "true"])
@pytest.mark.parametrize("query", ["kubernetes ingress", "timeout colour:red -redis"])
def test_json_is_what_mem_search_answers(
    ask: Asker, data_dir: Path, monkeypatch: pytest.MonkeyPatch, query: str, explain: str
) -> None:
    monkeypatch.chdir(data_dir.parent / "widgets")
    called = told(data_dir, "mem_search", {"query": query, "explain": explain})
    asked = ask.ok("GET", f"/search?response_format=json&explain={explain}&q={quote(query)}")
    posted = ask.ok("POST", "/search", {"query": query, "explain": explain == "true"})

    assert ("explain" in called) == (explain == "true")
    assert comparable(asked) == comparable(posted) == comparable(called)


def comparable(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer without what every search changes: its time, and the use that it counts."""
    found = json.loads(json.dumps(answer))
    for hit in found["results"]:
        del hit["score"]
    if "explain" in found:
        del found["explain"]["seconds"]
        for numbers in found["explain"]["hits"]:
            del numbers["score"], numbers["factors"]
    return dict(found)


@pytest.fixture
def several(tmp_path: Path) -> Path:
    """A directory with two repositories, which names no project."""
    folder = tmp_path / "several"
    for name in ("one", "two"):
        (folder / name / ".git").mkdir(parents=True)
        (folder / name / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("form", ["list", "json"])
@pytest.mark.parametrize(
    ("more", "ids"),
    [("+project:widgets", [1]), ("+project:*", [1]), ("+scope:personal", []), ("&scope=personal", [])],
)
def test_a_query_that_says_whose_memory_it_is_about_needs_no_directory(
    ask: Asker, several: Path, form: str, more: str, ids: list[int]
) -> None:
    found = ask.ok("GET", f"/search?cwd={several}&response_format={form}&q=timeout{more}")
    assert [hit["id"] for hit in (found if form == "list" else found["results"])] == ids


@pytest.mark.parametrize(("more", "status"), [("", 409), ("&project=nowhere", 404)])
def test_only_engrams_list_refuses_where_the_other_doors_answer_with_a_note(
    ask: Asker, several: Path, more: str, status: int
) -> None:
    address = f"/search?cwd={several}&q=timeout{more}"
    assert ask("GET", address).status == status
    found = ask.ok("GET", f"{address}&response_format=json")
    assert (found["results"], len(found["warnings"])) == ([], 1)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("/search?q=timeout&limit=abc", "limit 'abc' is not a whole number above 0; the default was used"),
        ("/search?q=timeout&limit=-1", "limit '-1' is not a whole number above 0; the default was used"),
        ("/search?q=timeout&limit=99999", f"limit 99999 is outside 1..{MOST}; used {MOST}"),
        ("/search?q=timeout&matchmode=any", 'unknown parameter "matchmode" was ignored, did you mean "match_mode"?'),
        ("/observations?limit=9999", "limit 9999 is outside 1..500; used 500"),
        ("/observations/recent?limit=x", "limit 'x' is not a whole number above 0; the default was used"),
        ("/observations/1?full=1", 'unknown parameter "full" was ignored'),
        ("/sessions/recent?limit=9999", "limit 9999 is outside 1..200; used 200"),
        ("/prompts/recent?limit=9999", "limit 9999 is outside 1..200; used 200"),
        ("/prompts/search?q=a&limit=0", "limit '0' is not a whole number above 0; the default was used"),
        ("/review?limit=9999", "limit 9999 is outside 1..100; used 100"),
        ("/timeline?observation_id=1&before=x", "before 'x' is not a whole number; the default was used"),
        ("/timeline?observation_id=1&after=99", "after 99 is outside 0..50; used 50"),
        ("/context?compact=perhaps", "compact 'perhaps' is not true or false; the default was used"),
        ("/context?max_bytes=-4", "max_bytes '-4' is not a whole number above 0; the default was used"),
        ("/context?observations=500", "observations 500 is more than a context holds; used 20"),
        ("/context?mode=full&sessions=1", "sessions belongs to mode session; in mode full it was ignored"),
        ("/conflicts?limit=9999", "limit 9999 is outside 1..500; used 500"),
        ("/conflicts?status=foo", "status 'foo' is not one of pending, judged, orphaned, ignored"),
        ("/conflicts?offset=-3", "offset '-3' is not zero or a whole number above it; the default was used"),
        ("/conflicts/deferred?limit=9999", "limit 9999 is outside 1..500; used 500"),
        ("/stats?since=1d", 'unknown parameter "since" was ignored'),
    ],
)  # fmt: skip
def test_what_an_address_asks_for_and_does_not_get_is_said(ask: Asker, address: str, said: str) -> None:
    reply = ask("GET", address)
    assert (reply.status, notes_of(reply)) == (200, [said])


@pytest.mark.parametrize("address", ["/search?q=timeout&limit=", "/search?q=timeout&limit=5&type=bugfix&cwd=/",
                                     "/context?compact=1&prompts=-1", "/observations/1?cwd=/", "/health"])  # fmt: skip
def test_what_was_understood_is_not_remarked_upon(ask: Asker, address: str) -> None:
    reply = ask("GET", address)
    assert HEADER.lower() not in reply.headers, reply.headers


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("/search?q=timeout&match_mode=foo", "one of all, any"),
        ("/search?q=timeout&explain=maybe", "true or false"),
        ("/search?q=timeout&response_format=xml", "'list' or 'json'"),
        ("/search?q=timeout&all_projects=perhaps", "true or false"),
        ("/search?q=timeout&scope=galaxy", "one of project, personal, global"),
        ("/search?q=timeout&explain=1&response_format=list", "json"),
        ("/context?mode=foo", "one of session, query"),
    ],
)
def test_a_setting_that_is_a_choice_is_refused_with_the_choices(ask: Asker, address: str, expected: str) -> None:
    refused = ask("GET", address)
    assert (refused.status, refused.code, HEADER.lower() in refused.headers) == (400, "invalid_argument", False)
    assert expected in refused.value["hint"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"query": "timeout", "limit": "abc"}, "invalid_argument"),
        ({"query": "timeout", "explain": "yes"}, "invalid_argument"),
        ({"query": "timeout", "match_mode": "foo"}, "invalid_argument"),
        ({"query": "timeout", "response_format": 7}, "invalid_argument"),
        ({}, "empty_query"),
        ({"query": None, "q": " "}, "empty_query"),
    ],
)
def test_a_body_that_cannot_be_asked_is_refused(ask: Asker, body: dict[str, Any], code: str) -> None:
    refused = ask("POST", "/search", body)
    assert (refused.status, refused.code) == (400, code)


def test_half_a_character_in_the_name_of_a_field_is_answered(ask: Asker) -> None:
    reply = ask("POST", "/search", b'{"query": "timeout", "\\ud83d": 1}')
    assert (reply.status, reply.value["warnings"]) == (200, ['unknown field "?" was ignored'])

    reply = ask("POST", "/search", b'{"query": "timeout", "\\ud83d": "\\ud83d", "response_format": "list"}')
    assert reply.status == 200
    assert notes_of(reply) == ['unknown field "?" was ignored', '? held half a character, which was read as "?"']


def test_a_filter_beside_the_query_is_told_where_it_belongs(ask: Asker) -> None:
    said = "since was ignored: filters belong into q, as in q=... since:..."
    assert notes_of(ask("GET", "/search?q=timeout&since=7d")) == [said]

    posted = ask("POST", "/search", {"query": "timeout", "topic": "arch", "limt": 1})
    assert notes_of(posted) == posted.value["warnings"]
    assert posted.value["warnings"] == [
        'unknown field "limt" was ignored, did you mean "limit"?',
        "topic was ignored: filters belong into query, as in query=... topic:...",
    ]


@pytest.mark.parametrize("types", ["decision,bugfix", "Bugfix, decision", ",bugfix,"])
def test_types_with_commas_are_alternatives_beside_the_query_as_within_it(ask: Asker, types: str) -> None:
    reply = ask("GET", f"/search?q=timeout&type={quote(types)}")
    assert ([row["type"] for row in reply.value], notes_of(reply)) == (["bugfix"], [])
    assert ask.ok("GET", "/search?q=timeout&type=decision,pattern") == []


def test_every_list_says_what_replaced_a_memory_and_engrams_state_stays(ask: Asker, app: Engram) -> None:
    new = kept(app, "Ten seconds: the pool is fast now.", title="Lowered the login timeout", type="bugfix")
    for path in ("/search?q=timeout", "/observations", "/timeline?observation_id=1", "/observations/1"):
        assert b"superseded_by" not in ask("GET", path).body
    app.relations.compare(new, 1, "supersedes", confidence=1.0, reasoning="Newer.")

    hits = {row["id"]: row for row in ask.ok("GET", "/search?q=timeout")}
    rows = {row["id"]: row for row in ask.ok("GET", "/observations")}
    timeline = ask.ok("GET", "/timeline?observation_id=1")
    [asked_for] = ask.ok("GET", "/search?q=timeout+is:superseded")
    for old in (asked_for, ask.ok("GET", "/observations/1"), timeline["focus"]):
        assert (old["id"], old["superseded_by"], old.get("state", "active")) == (1, new, "active")
    assert not any("superseded_by" in row for row in (hits[new], rows[new]))
    assert not {1} & (hits.keys() | rows.keys())


def test_the_header_says_which_hit_supersedes_which(ask: Asker, app: Engram) -> None:
    old = kept(app, "The cookie lives an hour.", title="Session cookie")
    new = kept(app, "It lives longer.", title="Session cookie of eight hours")
    app.relations.compare(new, old, "supersedes", confidence=1.0, reasoning="Newer.")

    said = notes_of(ask("GET", "/search?q=session+cookie"))

    assert said == [f"#{new}: replaced #{old}"]
    assert f"#{old}: historical; superseded_by #{new}" in notes_of(ask("GET", "/search?q=session+cookie+is:superseded"))


def test_a_hit_says_in_short_what_became_of_its_files(app: Engram) -> None:
    number = kept(app, "The cookie lives an hour.", title="Session cookie")
    [hit] = app.searches.search("session cookie").results
    changed = AnchorState("src/auth/session.ts", 3, 9, "changed", uncommitted=True)
    fresh = AnchorState("src/auth/login.ts", None, None, "fresh")

    assert hit_notes([replace(hit, anchors=(fresh, changed))]) == [
        f"#{number}: session.ts changed, not committed yet",
    ]
    assert hit_notes([replace(hit, anchors=(fresh,))]) == []
    within = AnchorState("src/auth/session.ts", 3, 9, "moved", "src/auth/session.ts", 5, 11)
    away = AnchorState("src/auth/login.ts", None, None, "moved", "src/login/form.ts")
    assert hit_notes([replace(hit, anchors=(within, away))]) == [
        f"#{number}: session.ts moved to lines 5-11; src/auth/login.ts moved to src/login/form.ts",
    ]


def test_what_is_said_of_many_hits_is_short(app: Engram) -> None:
    kept(app, "The cookie lives an hour.", title="Session cookie")
    [hit] = app.searches.search("session cookie").results
    related = tuple(RelationNote("related", number, "ü" * 200) for number in range(1, 30))
    notes = hit_notes([replace(hit, relations=related)] * 20)

    assert notes[0] == f"#{hit.id}: related to #1; related to #2; related to #3; and 26 more"
    assert notes[-1] == "and 12 more with notes: response_format=json shows them"
    assert len(json.loads(header(notes)[HEADER])) == len(notes) == 9
    assert len(header(notes)[HEADER]) <= MOST_BYTES


@pytest.mark.parametrize(
    "text", ["naïve 🎉", "a\r\nSet-Cookie: x", "\x7f\x00\x1b[2J", "\x7f" * 60, "\u202egnp", "x" * 100_000]
)
def test_the_header_is_ascii_and_bounded_whatever_somebody_typed(text: str) -> None:
    [line] = header([f"since:{text} is not a date"] * 40).values()

    assert line.isascii()
    assert line.isprintable()
    assert len(line) <= MOST_BYTES
    assert json.loads(line)[0].startswith("since:")


def test_notes_are_shortened_by_bytes_and_the_last_left_out_where_they_are_too_many() -> None:
    for letter in "aя🦄":
        several = json.loads(header([letter * 399] * 3)[HEADER])
        assert len(several) == 3
        many = header([letter * 399] * 40)[HEADER]
        assert 0 < len(json.loads(many)) < 40
        assert len(many) <= MOST_BYTES
    assert json.loads(header(["a" * 399] * 2)[HEADER]) == ["a" * 399] * 2


MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with serving_many(tmp_path_factory.mktemp("long")) as running:
        saved = {"title": "Raised the timeout", "content": "To 30 seconds."}
        assert running.ask("POST", "/observations", saved).status == 201
        yield running


@pytest.mark.parametrize("size", [5 * MEGABYTE, 30 * MEGABYTE])
def test_an_address_that_is_too_long_is_refused_and_the_server_lives_on(server: Running, size: int) -> None:
    with contextlib.suppress(ConnectionError):  # the rest is not read, so the refusal may be lost
        assert server.ask("GET", f"/search?q={'x' * size}").status == 400
    assert server.ask("GET", "/health").status == 200


@pytest.mark.parametrize("size", [9 * MEGABYTE, 30 * MEGABYTE])
def test_who_still_sends_a_body_that_is_too_large_reads_the_refusal(server: Running, size: int) -> None:
    refused = server.ask("POST", "/search", b'{"query": "' + b"x" * size + b'"}')
    assert (refused.status, refused.code) == (413, "body_too_large")
