"""Bring a person's edits into the memory, each by the write path of its kind."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING

from engram_py.errors import EngramError
from engram_py.observations.validation import title_of
from engram_py.observations.values import DEFAULT_TYPE, Change, Draft
from engram_py.times import to_text
from engram_py.vault.folder import digest
from engram_py.vault.layout import slug_of_page
from engram_py.vault.parsing import day_of
from engram_py.vault.values import Applied, Edit

if TYPE_CHECKING:
    from engram_py.entities.entities import Entities
    from engram_py.identity.identity import Identity
    from engram_py.observations.facts import Facts
    from engram_py.observations.notes import Notes
    from engram_py.observations.observations import Observations

_BOTH = "the memory had changed it as well; its text is a version now"


class Applying:
    """Applies edits one by one: one that is refused says why, and the others go on."""

    def __init__(
        self,
        observations: Observations,
        facts: Facts,
        notes: Notes,
        identity: Identity,
        entities: Entities,
        *,
        zone: tzinfo | None = None,
    ) -> None:
        self._observations = observations
        self._identity = identity
        self._entities = entities
        self._facts = facts
        self._notes = notes
        self._zone = zone

    def apply(self, edits: Sequence[Edit], *, project: str) -> list[Applied]:
        """Return what became of each, in order."""
        return [self._one(edit, project) for edit in edits]

    def _one(self, edit: Edit, project: str) -> Applied:
        title = edit.item.title or title_of(edit.item.content)
        if edit.action == "keep":
            return Applied(edit.path, "keep", "kept", title, said="no item; kept below its file")
        if edit.action != "describe" and not edit.item.content.strip():
            return Applied(edit.path, edit.action, "refused", title, said="an item without text; kept below its file")
        try:
            match edit.action:
                case "revise":
                    return self._revise(edit, title)
                case "delete":
                    assert edit.row is not None
                    self._observations.delete(edit.row.id)
                    return Applied(edit.path, "delete", "deleted", edit.row.title, edit.row.id)
                case "describe":
                    return self._describe(edit, project)
            return self._add(edit, title, project)
        except EngramError as exc:
            return Applied(edit.path, edit.action, "refused", title, said=f"{exc.message}; kept below its file")

    def _revise(self, edit: Edit, title: str) -> Applied:
        assert edit.row is not None
        item = edit.item
        made = edit.row.title == title_of(edit.row.content)
        change = Change(
            title=item.title or (title if made else None),
            content=item.content,
            type=item.type,
            topic_key=item.topic_key,
        )
        done = self._observations.update(edit.row.id, change, base=edit.row, by="person")
        return Applied(edit.path, "revise", done.outcome, done.title, done.id, _BOTH if edit.conflict else "")

    def _describe(self, edit: Edit, project: str) -> Applied:
        slug, item = slug_of_page(edit.path), edit.item
        aliases = [one for one in item.content.split(", ") if one]
        done = self._entities.describe(slug, kind=item.type, aliases=aliases, project=project)
        return Applied(edit.path, "describe", done.done, slug, done.id)

    def _add(self, edit: Edit, title: str, project: str) -> Applied:
        item, path = edit.item, edit.path
        # The same line again, after a crash in the middle, is the same save.
        once = f"vault:{path}:{digest(item.raw)}"
        if path.startswith("life/"):
            saved = self._facts.add(slug_of_page(path), item.content, project=project, origin="user")
        elif (day := day_of(path)) is not None:
            at = self._moment(day, item.raw)
            saved = self._notes.add(item.content, title=item.title, at=at, project=project, operation_id=once)
        elif path == "identity.md":
            saved = self._identity.add(item.content, project=project, origin="user")
        else:
            kind, topic = item.type or DEFAULT_TYPE, item.topic_key
            draft = Draft(title, item.content, kind, topic_key=topic, origin="user", operation_id=once)
            saved = self._observations.save(draft, project=project)
            if path == "MEMORY.md":
                self._observations.pin(saved.id)
        return Applied(path, "add", saved.outcome, saved.title, saved.id)

    def _moment(self, day: str, raw: str) -> str | None:
        """Return the time an entry names; None of one that names none."""
        try:
            local = datetime.fromisoformat(f"{day}T{raw[3:8]}")
        except ValueError:
            return None
        return to_text(local.replace(tzinfo=self._zone) if self._zone is not None else local.astimezone())
