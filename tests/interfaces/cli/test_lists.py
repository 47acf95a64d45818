"""One rule for every list: what a page leaves out is counted where that is known, and the next page is named."""

from __future__ import annotations

import pytest

from engram_py import Draft, Engram
from tests.interfaces.cli.conftest import Run

KNOWN = ("2 of ", "; `--page 2` shows the next"), ("3-4 of ", "; `--page 3` shows the next")
UNKNOWN = ("the first 2", "; `--page 2` shows the next"), ("3-4 of more", "; `--page 3` shows the next")


@pytest.fixture
def filled(app: Engram) -> Engram:
    for number, name in enumerate(("amber", "brass", "cedar", "delta", "ember")):
        app.save(Draft(f"Number {number}", f"Text {number}."), project=name)
        app.identity.add(f"I like number {number} a lot", origin="user")
        app.checkpoints.save(b"x", session_id=f"run-{number}")
        app.entities.link(name, "uses", "billing", kind="service", object_kind="service")
    return app


@pytest.mark.parametrize(
    ("command", "notes"),
    [
        pytest.param("projects list", KNOWN, id="projects"),
        pytest.param("list --all", KNOWN, id="memories"),
        pytest.param("sessions --all", KNOWN, id="sessions"),
        pytest.param("entity list", KNOWN, id="entities"),
        pytest.param("identity list", UNKNOWN, id="identity"),
        pytest.param("checkpoint list", UNKNOWN, id="checkpoints"),
        pytest.param("undo --list", UNKNOWN, id="changes"),
    ],
)
def test_every_list_says_what_it_leaves_out(
    filled: Engram, run: Run, command: str, notes: tuple[tuple[str, str], ...]
) -> None:
    for page, (begin, rest) in enumerate(notes, 1):
        said = run(*command.split(), "--limit", "2", "--page", str(page)).stderr
        assert said.startswith(f"note: {begin}")
        assert rest in said
    assert run(*command.split(), "--limit", "100").stderr == ""


def test_the_last_page_that_is_full_names_no_next_one(filled: Engram, run: Run) -> None:
    assert run("identity", "list", "--limit", "5").stderr == ""
    assert "number" not in run("identity", "list", "--limit", "5", "--page", "2").stdout
