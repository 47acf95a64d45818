"""A digest that has all words of a prompt is not shown for one and does not keep out what is, unless the prompt orders
a step that it left open."""

from __future__ import annotations

import pytest

from engram_py import Draft, Engram
from engram_py.context.values import Context
from engram_py.observations.values import Observation


def shown(context: Context) -> list[str]:
    return [item.title for item in context.sections[-1].items if isinstance(item, Observation)]


@pytest.fixture
def calendar(app: Engram) -> Engram:
    app.save(Draft("Debits bounced on bank holidays", "TARGET2 days count now; Easter is still missing.", "bugfix"))
    app.save(Draft("Exponential backoff of invoices", "Eight attempts for each of them.", "decision"))
    app.save(Draft("Blur limit 60", "Frames under it are not classified.", "decision"))
    app.save(Draft("The calendar of the team", "Joost is away on Fridays.", "fact"))
    app.episodes.summarize("Done: TARGET2 days. Next: put Easter into the calendar, export of invoices", session_id="a")
    app.episodes.summarize("Next: let the classifier skip blurry frames, all of them", session_id="b")
    return app


@pytest.mark.parametrize(
    ("prompt", "found"),
    [
        ("add Easter to the TARGET2 calendar", ["Debits bounced on bank holidays"]),
        ("please make the classifier skip blurry frames", ["Session summary: widgets", "Blur limit 60"]),
        ("I'd like to improve the export of invoices", []),
        ("please make the classifier skip frames of whales", []),
    ],
)
def test_what_a_digest_covers_better_is_held_to_the_floor_without_it(
    calendar: Engram, prompt: str, found: list[str]
) -> None:
    assert shown(calendar.contexts.assemble(query=prompt)) == found


def test_what_is_injected_begins_with_what_was_done(app: Engram) -> None:
    fix = "**What**: `pnpm prisma generate` is a step of its own before the build of everything else that is there."
    why = "**Why**: with a hit of the cache the db package is skipped, so the client has no types at all on the runner."
    end = "**Where**: .github/workflows/ci.yml\n**Learned**: do not add generated clients to the outputs of ci, ever."
    row = app.save(Draft("Fixed CI on a cold cache", f"{fix}\n{why}\n{end}", "bugfix")).id

    context = app.contexts.assemble(query="can you check why CI is red")

    assert context.remarks.excerpts[row].startswith(fix)
    assert "ci.yml" not in context.remarks.excerpts[row]
