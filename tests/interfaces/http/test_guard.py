"""Who may ask: a name that was pointed here, a page from elsewhere, somebody without the token."""

from __future__ import annotations

import pytest

from engram_py import Engram
from engram_py.interfaces.http.application import build_application
from tests.interfaces.http.asking import PORT, Asker


@pytest.mark.parametrize("host", [f"127.0.0.1:{PORT}", f"localhost:{PORT}", f"LOCALHOST:{PORT}", f"[::1]:{PORT}"])
def test_the_names_of_this_machine_are_answered(ask: Asker, host: str) -> None:
    assert ask("GET", "/health", headers={"host": host}).status == 200


@pytest.mark.parametrize(
    "host",
    ["", "evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:80", f"localhost.evil.example:{PORT}",
     f"127.0.0.1:{PORT}@evil.example", f"127.0.0.1.:{PORT}", f"0.0.0.0:{PORT}", f"[::]:{PORT}", f"127.0.0.1:{PORT}0"],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/health", "/export", "/mcp"])
def test_a_name_that_was_pointed_at_this_machine_is_refused(ask: Asker, host: str, path: str) -> None:
    refused = ask("GET", path, headers={"host": host})
    assert (refused.status, refused.code) == (421, "wrong_host")


@pytest.mark.parametrize(("host", "named"), [("127.0.0.2", "127.0.0.2"), ("0:0:0:0:0:0:0:1", "[0:0:0:0:0:0:0:1]")])
def test_the_address_that_was_asked_for_is_answered_and_no_other(app: Engram, host: str, named: str) -> None:
    ask = Asker(build_application(app, port=PORT, host=host))
    assert ask("GET", "/health", headers={"host": f"{named}:{PORT}"}).status == 200
    assert ask("GET", "/health", headers={"host": f"localhost:{PORT}"}).status == 200
    assert ask("GET", "/health", headers={"host": f"127.0.0.3:{PORT}"}).code == "wrong_host"


@pytest.mark.parametrize(
    "origin",
    ["null", "", "https://evil.example", "http://localhost.evil.example", "http://127.0.0.1.nip.io",
     "http://localhost@evil.example", "http://[::1", "http://localhost:port", "file://", "chrome-extension://abc",
     "http://127.0.0.2:7437", "javascript://localhost"],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/health", "/import", "/mcp"])
def test_a_page_from_elsewhere_is_refused(ask: Asker, origin: str, path: str) -> None:
    refused = ask("POST", path, headers={"origin": origin})
    assert (refused.status, refused.code) == (403, "foreign_origin")


@pytest.mark.parametrize(
    "origin", ["http://localhost", "http://localhost:5173", "https://127.0.0.1:8443", "http://[::1]:1"]
)
def test_a_page_that_this_machine_serves_may_ask(ask: Asker, origin: str) -> None:
    assert ask("GET", "/health", headers={"origin": origin}).status == 200


def test_an_image_on_a_page_from_elsewhere_is_refused_although_it_has_no_origin(ask: Asker) -> None:
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
    assert ask("GET", "/context", headers=headers).status == 403
    assert ask("GET", "/context", headers={"sec-fetch-site": "none"}).status == 200


@pytest.mark.parametrize("path", ["/search?q=x", "/export", "/openapi.json", "/project/current", "/nowhere", "/mcp",
                                  "/health/", "//health", "/%68ealth", "/sessions/..%2fhealth"])  # fmt: skip
@pytest.mark.parametrize("given", [None, "", "swordfish", "Bearer", "Bearer ", "Bearer swordfis", "Bearer swordfish2",
                                   "Basic swordfish", "Bearer \xe9"])  # fmt: skip
def test_with_a_token_everything_but_health_asks_for_it(guarded: Asker, path: str, given: str | None) -> None:
    refused = guarded("GET", path, headers={} if given is None else {"authorization": given})
    assert (refused.status, refused.code) == (401, "unauthorized")
    assert refused.headers["www-authenticate"].startswith("Bearer")
    assert b"swordfish" not in refused.body


def test_the_token_opens_and_health_needs_none(guarded: Asker) -> None:
    assert guarded("GET", "/health").status == 200
    assert guarded("GET", "/health?x=1").status == 200
    assert guarded("GET", "/stats", headers={"authorization": "Bearer swordfish"}).status == 200
    assert guarded("GET", "/stats", headers={"authorization": "bearer  swordfish"}).status == 200
    assert guarded("GET", "/stats", headers={"authorization": "Bearer swordfish", "origin": "null"}).status == 403


def test_without_a_token_nothing_asks_for_one(ask: Asker) -> None:
    ask.ok("POST", "/prompts", {"content": "Go."})
    assert ask("DELETE", "/prompts/1").status == 200
    assert ask("GET", "/export").status == 200


def test_behind_a_socket_no_name_decides_and_a_page_is_refused_all_the_same(app: Engram) -> None:
    ask = Asker(build_application(app, port=None))
    assert ask("GET", "/health", headers={"host": "anything"}).status == 200
    assert ask("GET", "/health", headers={"host": "anything", "origin": "https://evil.example"}).status == 403
