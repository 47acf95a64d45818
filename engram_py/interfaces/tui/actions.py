"""What a person changes in the terminal, and how each change is taken back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engram_py.app import Engram
from engram_py.dataclass import dataclass
from engram_py.interfaces.tui.reading import View
from engram_py.interfaces.tui.rows import Row
from engram_py.interfaces.waiting import Waiting
from engram_py.interfaces.wording import render
from engram_py.observations.lookup import live_observation
from engram_py.observations.values import Change, Observation, Updated

_EDITED = ("title", "content", "type", "scope", "topic_key")


@dataclass(frozen=True, slots=True)
class Done:
    """What a change did, in words, and what takes it back; None where nothing does."""

    said: str
    take_back: Callable[[Engram], object] | None = None


def take_back(view: View, done: Done) -> Done:
    assert done.take_back is not None
    return Done(_said(done.take_back(view.app), view))


def delete(view: View, observation_id: int) -> Done:
    deleted = view.app.observations.delete(observation_id)
    return Done(f'Deleted [#{deleted.id}] "{deleted.title}"', lambda app: app.observations.undelete(observation_id))


def pin(view: View, observation_id: int) -> Done:
    """Pin what is not pinned, and unpin what is."""
    to = not live_observation(view.app.store, observation_id).pinned
    pinned = view.app.observations.pin(observation_id, pinned=to)
    return Done(_said(pinned, view), lambda app: app.observations.pin(observation_id, pinned=not to))


def archive(view: View, observation_id: int) -> Done:
    """Archive what is not archived, and take out what is."""
    to = live_observation(view.app.store, observation_id).lifecycle != "archived"
    title = view.app.observations.update(observation_id, Change(archived=to)).title
    said = "Archived, searches and contexts leave it out:" if to else "Taken out of the archive:"
    return Done(
        f'{said} [#{observation_id}] "{title}"',
        lambda app: app.observations.update(observation_id, Change(archived=not to)),
    )


def accept(view: View, row: Row) -> Done:
    """Stand for what was derived, imported or sent; say of what is overdue or changed that it still holds."""
    _, one = row.value
    if not isinstance(one, Waiting):
        return Done("v says how the two relate")
    if row.head in ("overdue", "changed"):
        return Done(_said(view.app.observations.mark_reviewed(one.row.id), view))
    accepted = view.app.observations.accept(one.row.id)
    return Done(_said(accepted, view), lambda app: app.observations.unaccept(accepted))


def judge(view: View, relation: str, verdict: str) -> Done:
    return Done(_said(view.app.relations.judge(relation, verdict), view))


def update(view: View, base: Observation, change: Change) -> Done:
    """Keep an edit of ``base``. Raises ChangedMeanwhileError."""
    updated = view.app.observations.update(base.id, change, base=base, by="person")
    if updated.outcome == "unchanged":
        return Done(_said(updated, view))
    before: dict[str, Any] = {name: getattr(base, name) or "" for name in updated.changed if name in _EDITED}
    now = live_observation(view.app.store, base.id)

    def put_back(app: Engram) -> Updated:
        return app.observations.update(base.id, Change(**before), base=now)

    return Done(_said(updated, view), put_back)


def _said(value: object, view: View) -> str:
    return render.text(value, now=view.now).replace("\n", "; ")
