"""A digest that has all words of a prompt is not shown for one and does not keep out what is, unless the prompt orders
a step that it left open."""

from __future__ import annotations

from engram_py import Draft, Engram
from engram_py.context.values import Context
from engram_py.observations.values import Observation


def shown(context: Context) -> list[str]:
    return [item.title for item in context.sections[-1].items if isinstance(item, Observation)]


def test_what_is_injected_begins_with_what_was_done(app: Engram) -> None:
    fix = "**What**: `pnpm prisma generate` is a step of its own before the build of everything else that is there."
    why = "**Why**: with a hit of the cache the db package is skipped, so the client has no types at all on the runner."
    end = "**Where**: .github/workflows/ci.yml\n**Learned**: do not add generated clients to the outputs of ci, ever."
    row = app.save(Draft("Fixed CI on a cold cache", f"{fix}\n{why}\n{end}", "bugfix")).id

    context = app.contexts.assemble(query="why is CI red on a cold cache?")

    assert context.remarks.excerpts[row].startswith(fix)
