"""A text offers a guard where it says a rule that can be matched; it is silent about everything else."""

from __future__ import annotations

import pytest

from engram_py import Draft, Engram
from engram_py.guidance.guards.proposals import proposal
from engram_py.guidance.guards.values import Guard, NoGuardError
from tests.support import names, words

COMMANDS = [
    ("Use pnpm, not npm", "npm *", "pnpm"),
    ("pnpm over npm", "npm *", "pnpm"),
    ("We use uv instead of pip for speed.", "pip *", "uv"),
    ("Always use `make test` rather than `pytest`.", "pytest *", "make test"),
    ("Stop using yarn.", "yarn *", ""),
    (
        "Never run `git push --force`; use `git push --force-with-lease`.",
        "git push --force",
        "git push --force-with-lease",
    ),
    ("Use docker compose, not docker-compose", "docker-compose *", "docker compose"),
    ("Run tests via make test, not pytest", "pytest *", "make test"),
    ("Install with uv pip, never plain pip", "pip *", "uv pip"),
    ("Install packages with `hatch`, not pip", "pip *", "hatch"),
    ("Never run pytest directly; run the tests through tox.", "pytest *", "tox"),
    ("Run pytest with coverage, not tox", "tox *", "pytest with coverage"),
    ("Use vite with plugins instead of webpack", "webpack *", "vite with plugins"),
    ("Run migrations by hand, not with npm", "npm *", "migrations by hand"),
]
SILENT = [
    "Use Postgres instead of MySQL", "Use tabs, not spaces", "Never use print() in library code",
    "Avoid npm workspaces",
    "Use httpx instead of requests for async calls", "We could use npm instead of pnpm", "No `any` in TypeScript",
    "Use Rust, not Go", "Do not make promises", "Don't change existing migrations in migrations/",
    "Use npm if pnpm fails",
    "We considered pnpm instead of npm", "Should we use pnpm instead of npm?", "Use `npm ci` instead of npm",
    "Never use npm when offline", "Use pnpm, not npm, unless CI is old", "Requests are retried, not dropped",
    "Run tests with uv run pytest, never plain pytest", "Install packages with npm ci, not npm",
    "Run the tests through uv run pytest instead of pytest", "Use uv run pytest, not pytest",
    "Run tests with `hatch run pytest`, not pytest", "Tests with uv run pytest, not pytest",
    "Prefer composition over inheritance", "Use SSO rather than passwords", "", "Never", "Use , not ,",
]  # fmt: skip


@pytest.mark.parametrize(("text", "command", "use"), COMMANDS)
def test_a_program_that_is_not_to_be_run_is_guarded(text: str, command: str, use: str) -> None:
    for found in (
        proposal(text, "Why: it was agreed."),
        proposal("Tools", f"**Decision**: {text.rstrip('.')}. It is so."),
    ):
        if found is not None or " over " not in text:
            assert found == Guard(command=command, use=use)


@pytest.mark.parametrize("text", SILENT)
def test_what_cannot_be_matched_for_certain_is_not_offered(text: str) -> None:
    assert proposal(text, "") is None
    assert proposal("Title", f"## Decision\n\n{text}.\n") is None


def test_no_guard_is_offered_against_what_another_sentence_prescribes() -> None:
    assert proposal("Run tests with uv run pytest", "Never use pytest directly. It has no environment.") is None
    assert proposal("Tests", "Never run pytest here.\nAlways run `uv run pytest`.") is None
    assert proposal("Run tests with make", "Never use pytest directly.") == Guard(command="pytest *")
    assert proposal("Tests via make test, not pytest", "") == Guard(command="pytest *", use="make test")


def test_packages_calls_paths_and_branches_are_guarded() -> None:
    requests = proposal("Use httpx instead of requests", "")
    assert requests is not None
    assert (requests.within, requests.regex, requests.use) == (("**/*.py",), True, "httpx")
    said = proposal("Logging", "- Never use `print()` in `src/**`; use the logger.")
    assert said == Guard(added="print(", within=("src/**",), use="the logger")
    assert proposal("x", "Do not edit files in `migrations/`; add a new one.") == Guard(
        paths=("migrations/**",), use="a new one"
    )
    assert proposal("Never edit package-lock.json by hand", "") == Guard(paths=("package-lock.json",))
    assert proposal("Never commit directly to main.", "") == Guard(command="git commit", branch="main", use="a branch")
    assert proposal("No force-pushes", "") == Guard(command="git push --force")


def test_what_was_considered_or_quoted_is_no_rule() -> None:
    assert proposal("Tools", "## Alternatives considered\n\nUse pnpm instead of npm.\n") is None
    assert proposal("Tools", "```\nUse pnpm instead of npm.\n```\n") is None
    assert proposal("Tools", "## Context\nnpm\n## Decision\nUse pnpm instead of npm.\n") is not None


def test_a_save_and_a_review_offer_a_guard_until_it_is_answered(app: Engram) -> None:
    saved = app.save(Draft("Use pnpm, not npm", "Agreed.", "decision"))
    assert "guard_offered" in names(saved.warnings)
    assert f"Turn it on: `engram guard accept {saved.id}`" in words(*saved.warnings)
    assert "guards_offered" in names(app.observations.due_for_review().warnings)
    assert [one.id for one in app.guards.offered()] == [saved.id]

    assert app.guards.accept(saved.id).outcome == "accepted"
    assert app.guards.listed()[0].rule.command == "npm *"
    assert app.guards.offered() == []
    assert "guards_offered" not in names(app.observations.due_for_review().warnings)


def test_an_offer_that_is_declined_is_not_made_again(app: Engram) -> None:
    saved = app.save(Draft("Use pnpm, not npm", "Agreed.", "decision", topic_key="tools"))
    app.guards.decline(saved.id)
    assert app.guards.offered() == []
    again = app.save(Draft("Use pnpm, not npm", "Agreed again.", "decision", topic_key="tools"))
    assert "guard_offered" not in names(again.warnings)


def test_what_is_no_rule_offers_nothing(app: Engram) -> None:
    saved = app.save(Draft("Use pnpm, not npm", "Seen in a log.", "discovery"))
    assert "guard_offered" not in names(saved.warnings)
    with pytest.raises(NoGuardError):
        app.guards.accept(app.save(Draft("Postgres", "For its types.", "decision")).id)
