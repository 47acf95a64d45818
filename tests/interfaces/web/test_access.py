"""Who may see the page, and whose forms are taken."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from engram_py import Draft, Engram
from engram_py.base.database.errors import DataDirError
from engram_py.interfaces.serve import build_application
from engram_py.interfaces.web.access import COOKIE_SECONDS, KEY_NAME, LINK_SECONDS, Access
from tests.interfaces.http.asking import HOST, PORT, Asker, bearer
from tests.interfaces.web.visiting import Visitor


class Moving:
    """A clock in seconds."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def test_a_link_opens_once_at_any_server_and_within_ten_minutes(tmp_path: Path) -> None:
    clock = Moving()
    access = Access(tmp_path, now=clock)
    first, late = access.link_token(), access.link_token()
    assert access.enter(first) is not None
    assert access.enter(first) is None
    clock.now += LINK_SECONDS
    assert access.enter(late) is None
    assert access.enter(access.link_token()) is not None
    link = Access(tmp_path).link_token()
    assert Access(tmp_path).enter(link) is not None
    assert Access(tmp_path).enter(link) is None


def test_the_file_that_leads_to_a_link_is_this_users_alone_and_goes_with_it(tmp_path: Path) -> None:
    access = Access(tmp_path)
    token = access.link_token()
    page = access.leading_to(f"http://127.0.0.1:1/ui/enter?token={token}&project=a%22b", token)
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert f"url=http://127.0.0.1:1/ui/enter?token={token}&amp;project=a%22b" in page.read_text()
    assert access.enter(token) is not None
    assert not page.exists()


def test_a_cookie_ends_after_a_week_or_with_the_key(tmp_path: Path) -> None:
    clock = Moving()
    access = Access(tmp_path, now=clock)
    cookie = access.enter(access.link_token())
    assert cookie is not None
    assert access.visitor(cookie)
    assert Access(tmp_path, now=clock).visitor(cookie), "another process of this memory reads it, too"
    clock.now += COOKIE_SECONDS
    assert access.visitor(cookie) is None
    clock.now -= COOKIE_SECONDS
    (tmp_path / KEY_NAME).unlink()
    assert access.visitor(cookie) is None


def test_the_key_is_this_users_alone_and_an_empty_one_lets_nobody_in(tmp_path: Path) -> None:
    access = Access(tmp_path)
    token = access.link_token()
    assert stat.S_IMODE((tmp_path / KEY_NAME).stat().st_mode) == 0o600
    (tmp_path / KEY_NAME).write_bytes(b"")
    with pytest.raises(DataDirError):
        access.enter(token)


@pytest.mark.parametrize("token", ["", ".", "..", "x", "9999999999.abc.", "9999999999.abc.00", "1.2.3.4"])
def test_a_made_up_token_opens_nothing(stranger: Visitor, token: str) -> None:
    refused = stranger.raw("GET", f"/ui/enter?token={token}")
    assert refused.status == 401
    assert "set-cookie" not in refused.headers


def test_a_token_of_one_kind_is_no_token_of_another(app: Engram, stranger: Visitor) -> None:
    access = Access(app.settings.data_dir)
    link = access.link_token()
    stranger.cookie = f"engram_page_{PORT}={link}"
    assert stranger.look("/ui/").status == 401
    cookie = access.enter(link)
    assert cookie is not None
    assert access.enter(cookie) is None


@pytest.mark.parametrize("path", ["/ui/", "/ui/memory/1", "/ui/memory/1/edit", "/ui/given", "/ui/session?id=x",
                                  "/ui/ask?prompt=tea", "/ui/today", "/ui/review", "/ui/worth", "/ui/projects",
                                  "/ui/timeline"])  # fmt: skip
def test_a_stranger_is_shown_nothing_of_the_memory(app: Engram, stranger: Visitor, path: str) -> None:
    app.save(Draft("The tea is in the kitchen", "Second shelf."))
    seen = stranger.look(path)
    assert seen.status == 401
    assert "engram open" in seen.text
    assert "kitchen" not in seen.text
    assert "widgets" not in seen.text


def test_a_link_that_was_used_says_so(app: Engram, stranger: Visitor) -> None:
    link = f"/ui/enter?token={Access(app.settings.data_dir).link_token()}&project=widgets"
    app.save(Draft("Tea", "Second shelf."))
    first = stranger.raw("GET", link)
    assert (first.status, first.headers["refresh"]) == (200, "0; url=/ui/?project=widgets")
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert cookie.endswith("Path=/; SameSite=strict")
    seen = stranger.look(link)
    assert seen.status == 401
    assert "each works once" in seen.text


def test_a_link_that_is_only_asked_about_or_loaded_again_still_leads_in(app: Engram, stranger: Visitor) -> None:
    link = f"/ui/enter?token={Access(app.settings.data_dir).link_token()}"
    assert stranger.raw("HEAD", link).status == 401
    assert stranger.look(link).status == 200
    assert stranger.look(link).path == "/ui/"


def test_a_failure_of_the_memory_is_a_page(
    app: Engram, visitor: Visitor, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("swordfish")

    monkeypatch.setattr(app.store, "rows", fails)
    monkeypatch.setattr(app.store, "tuples", fails)
    seen = visitor.look("/ui/")
    assert seen.status == 500
    assert "the request failed" in seen.text
    assert "swordfish" not in seen.text


def test_the_page_needs_its_cookie_whole(app: Engram, visitor: Visitor) -> None:
    assert visitor.look("/ui/").status == 200
    visitor.cookie = visitor.cookie[:-1] + ("0" if visitor.cookie[-1] != "0" else "1")
    assert visitor.look("/ui/").status == 401


@pytest.mark.parametrize("other", ['layout={"side": 1}', "a b=1", "x[1]=2", "lang=\xfc"])
def test_a_cookie_of_another_program_on_this_machine_does_not_hide_that_of_the_page(
    visitor: Visitor, other: str
) -> None:
    visitor.cookie = f"{other}; {visitor.cookie}"
    assert visitor.look("/ui/").status == 200


def test_a_server_with_a_token_shows_the_page_to_a_cookie_and_nothing_else_to_it(app: Engram) -> None:
    guarded = Visitor(Asker(build_application(app, port=PORT)), f"http://{HOST}")
    assert guarded.look("/ui/").status == 401
    assert guarded.look(f"/ui/enter?token={Access(app.settings.data_dir).link_token()}").status == 200
    assert guarded.raw("GET", "/export").status == 401
    assert guarded.raw("GET", "/ui/../export").status == 404
    assert guarded.raw("GET", "/uix").status == 401


def test_where_others_can_reach_the_server_there_is_no_page(app: Engram) -> None:
    open_to_others = Asker(build_application(app, port=None))
    assert open_to_others("GET", "/ui/").status == 401
    assert open_to_others("GET", "/ui/", headers=bearer(app.settings.data_dir)).code == "unknown_route"


@pytest.mark.parametrize(
    "headers",
    [{"origin": "https://evil.example"}, {"origin": "null"}, {"origin": "http://127.0.0.1:5173"},
     {"origin": "http://localhost:7437"}, {"origin": ""}, {"host": "evil.example"}],
)  # fmt: skip
def test_a_form_of_another_origin_changes_nothing(app: Engram, visitor: Visitor, headers: dict[str, str]) -> None:
    """The whole of it, cookie and token included: another server of this machine is the same site to a browser."""
    row = app.save(Draft("Tea", "Second shelf.")).id
    form = visitor.look(f"/ui/memory/{row}").page.form("Delete")
    assert visitor.raw("POST", form.action, form.fields, headers).status in (403, 421)
    assert app.get(row).observation.deleted_at is None


def test_a_form_without_this_visitors_token_changes_nothing(app: Engram, visitor: Visitor) -> None:
    row = app.save(Draft("Tea", "Second shelf.")).id
    form = visitor.look(f"/ui/memory/{row}").page.form("Delete")
    other = Access(app.settings.data_dir).form_token("somebody else")
    for token in ("", "x", other):
        assert visitor.send(form, form_token=token).status == 403
    visitor_cookie, visitor.cookie = visitor.cookie, ""
    assert visitor.send(form).status == 401
    visitor.cookie = visitor_cookie
    assert app.get(row).observation.deleted_at is None
    assert visitor.send(form).status == 410


def test_looking_changes_nothing(app: Engram, visitor: Visitor) -> None:
    row = app.save(Draft("Tea", "Second shelf.")).id
    for action in ("pin", "archive", "delete", "undelete", "revert", "reviewed", "undo"):
        assert visitor.raw("GET", f"/ui/memory/{row}/{action}").status == 405
    assert visitor.raw("GET", "/ui/judge").status == 405


def test_what_a_person_looks_at_counts_as_no_use(app: Engram, visitor: Visitor) -> None:
    row = app.save(Draft("Tea", "Second shelf.")).id
    for path in ("/ui/?q=tea", f"/ui/memory/{row}", "/ui/ask?prompt=where+is+the+tea&project=widgets", "/ui/today"):
        assert visitor.look(path).status == 200
    app.usage.flush()
    assert app.browsing.whole([row])[0].access_count == 0
    assert app.costs.of().doors == ()
