"""What a person changes in the terminal, each by the service that page and command line call, and what takes it back:
the log of ``engram undo``, or for what that does not hold a call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

from engram_py.app import Engram
from engram_py.base.dataclass import dataclass
from engram_py.base.errors import EmptyFieldError, InvalidArgumentError
from engram_py.guidance.guards.values import GuardLine
from engram_py.interfaces.wording import render
from engram_py.memory.observations.arguments import live_observation
from engram_py.memory.observations.values import DEFAULT_TYPE, Change, Draft, Observation, Version

T = TypeVar("T")
_REASON = "merged in the terminal"
_VERSIONS = 20


@dataclass(frozen=True, slots=True)
class View:
    """The source of a list or a preview: the memory, the time, and the project it is narrowed to, None for all."""

    app: Engram
    now: datetime
    project: str | None

    @property
    def place(self) -> dict[str, Any]:
        """The project, as most services take it."""
        return {"project": self.project, "all_projects": self.project is None}


class Reader:
    """Runs calls of services in threads, so that keys are answered meanwhile.

    Reading counts nothing as shown and teaches no search, as on the page: each call has a view of its own.
    """

    def __init__(self, app: Engram, project: str | None) -> None:
        self._app = app
        self.project = project

    async def ask(self, work: Callable[[View], T]) -> T:
        """Return what ``work`` makes of the memory. Raises what it raises."""
        return await asyncio.to_thread(self.ask_here, work)

    def ask_here(self, work: Callable[[View], T]) -> T:
        """Do the same in this thread."""
        app = self._app.for_caller(None)
        with app.usage.paused():
            return work(View(app, app.settings.clock().astimezone(app.settings.zone), self.project))

    async def version(self) -> object:
        """Return what is another value after every write of any process."""
        return await asyncio.to_thread(self._app.store.version)


@dataclass(frozen=True, slots=True)
class ChangeDone:
    """A change that was made, in words, and the call that takes it back; None where nothing does."""

    said: str
    take_back: Callable[[Engram], object] | None = None


Work = Callable[[View], ChangeDone]


def recorded(view: View, work: Work) -> ChangeDone:
    """Do ``work``; what it writes into the log of changes is taken back as ``engram undo --change`` does."""
    with view.app.store.transaction():
        before = view.app.changes.listed(1)
        made = work(view)
        after = view.app.changes.listed(1)
    if not after or after == before:
        return made
    number = after[0].change
    return ChangeDone(made.said, lambda app: app.changes.undo(change=number))


def done(value: object, view: View, take_back: Callable[[Engram], object] | None = None) -> ChangeDone:
    """Return a change in the words of what a service returned."""
    said = value if isinstance(value, str) else render.text(value, now=view.now, door="cli").replace("\n", "; ")
    return ChangeDone(said, take_back)


# --- one memory -----------------------------------------------------------------------------------------------


def delete(view: View, observation_id: int) -> ChangeDone:
    deleted = view.app.observations.delete(observation_id)
    return ChangeDone(f'Deleted [#{deleted.id}] "{deleted.title}"')


def pin(view: View, observation_id: int) -> ChangeDone:
    """Pin what is not pinned, and unpin what is."""
    to = not live_observation(view.app.store, observation_id).pinned
    return done(view.app.observations.pin(observation_id, pinned=to), view)


def archive(view: View, observation_id: int) -> ChangeDone:
    """Archive what is not archived, and take out what is."""
    to = live_observation(view.app.store, observation_id).lifecycle != "archived"
    title = view.app.observations.update(observation_id, Change(archived=to)).title
    verb = "Archived, searches and contexts exclude it:" if to else "Unarchived:"
    return ChangeDone(f'{verb} [#{observation_id}] "{title}"')


def move(view: View, observation_id: int, project: str) -> ChangeDone:
    moved = view.app.observations.move(observation_id, project)
    return ChangeDone(f'Moved to {moved.project}: [#{moved.id}] "{moved.title}"')


def merge(view: View, observation_id: int, into: int) -> ChangeDone:
    """Let another memory replace this one: searches find that one, and both texts stay."""
    if into == observation_id:
        raise InvalidArgumentError("number", said="this is the number of the memory itself", step="give another one")
    view.app.relations.compare(into, observation_id, "supersedes", confidence=1.0, reasoning=_REASON)
    return ChangeDone(f"Replaced: searches find [#{into}] instead of [#{observation_id}]")


def versions(view: View, observation_id: int) -> tuple[Version, ...]:
    """Return the earlier texts of a memory, newest first."""
    return tuple(view.app.observations.get(observation_id, history=True).versions[:_VERSIONS])


def blank(project: str) -> Observation:
    """Return an empty memory, as the editor shows it."""
    return Observation(
        0, "", "", project, "project", DEFAULT_TYPE, "", "", None, "", None, "user", "active", False, 1.0, 0, None,
        None, None, None, None, 1, 0, None, "", "", None,
    )  # fmt: skip


def save(view: View, base: Observation, change: Change) -> object:
    """Save what was written into a blank one as the user's own. Raises EmptyFieldError."""
    if not (change.title or "").strip():
        raise EmptyFieldError("title")
    draft = Draft(
        change.title or "",
        change.content or "",
        change.type or base.type,
        change.scope or base.scope,
        change.topic_key,
        origin="user",
    )
    return view.app.observations.save(draft, project=base.project)


def accept(view: View, observation_id: int, head: str) -> ChangeDone:
    """Let an offered guard speak; stand for a memory that was derived, imported or sent; of any other one say that it
    still holds. ``head`` is that of its row."""
    app = view.app
    if head in ("rule", "offered"):
        return done(app.guards.accept(observation_id), view, lambda app: app.guards.unaccept(observation_id))
    if head == "hand edit":
        app.git_sync.sync(mine=lambda edits: True)
        return ChangeDone("The edits of files here are yours now.")
    row = live_observation(app.store, observation_id)
    waits = head in ("order", "unchecked", "derived") or row.unchecked or row.origin in ("derived", "import")
    if head in ("two edits", "overdue", "changed") or not waits:
        return done(app.observations.mark_reviewed(observation_id), view)
    accepted = app.observations.accept(observation_id)
    return done(accepted, view, lambda app: app.observations.unaccept(accepted))


# --- guards, projects, upkeep ---------------------------------------------------------------------------------


def remove_guard(view: View, one: GuardLine) -> ChangeDone:
    return done(view.app.guards.remove(one.id, one.number), view, lambda app: app.guards.add(one.id, one.rule))


def silence(view: View, one: GuardLine) -> ChangeDone:
    """Switch a guard off in the session it spoke in last."""
    return done(view.app.guards.off(one.id), view, lambda app: app.guards.on(one.id))


def decline(view: View, observation_id: int) -> ChangeDone:
    """Never offer the guard of a memory again."""
    return done(
        view.app.guards.decline(observation_id),
        view,
        lambda app: f"The guard of [#{app.observations.guard(observation_id, None).id}] is a suggestion again",
    )


def state(view: View, text: str) -> object:
    """Keep what holds of the person always."""
    where = view.project or next((one.name for one in view.app.projects.list()), None)
    return view.app.identity.add(text, project=where, origin="user")


def turn(view: View, switch: str) -> ChangeDone:
    """Switch the hooks on or off, in the project or everywhere."""
    to = not getattr(view.app.switches.allowed(view.project or ""), switch)
    view.app.switches.turn([switch], on=to, project=view.project)

    where = f"in {view.project}" if view.project else "everywhere"

    def back(app: Engram) -> str:
        app.switches.turn([switch], on=not to, project=view.project)
        return f"Turned {'off' if to else 'on'} again {where}"

    return ChangeDone(f"Turned {'on' if to else 'off'} {where}", back)


# The key of a row of upkeep, what it does, and the service that does it.
RUNS: dict[str, tuple[str, Callable[[Engram], object]]] = {
    "consolidate": ("Archive unused derived memories now", lambda app: app.maintenance.run("consolidate")),
    "synthesize": ("Write entity summaries now", lambda app: app.maintenance.run("synthesize")),
    "flush": ("Summarize waiting sessions", lambda app: app.distilling.flush()),
    "sync": ("Sync now with the server", lambda app: app.autosync.sync_now()),
}
