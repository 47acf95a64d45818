"""The header of notes, and queries of a megabyte."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from engram_py import Engram
from engram_py.anchors.values import AnchorState
from engram_py.interfaces.http.answers import HEADER, MOST_BYTES, header, hit_notes
from engram_py.observations.values import RelationNote
from tests.interfaces.http.asking import Asker, Running, notes_of, serving_many
from tests.recall.searching import kept


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
