"""Find what a person changed in the files of a vault, by comparing three texts (the last export's, the file's, and that
of the memory as it is now), and bring each edit into the memory by the write path of its kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta, tzinfo
from typing import TYPE_CHECKING

from engram_py.base.dataclass import dataclass
from engram_py.base.errors import EngramError
from engram_py.base.lazy import regex
from engram_py.base.times import to_text
from engram_py.memory.observations.validation import title_of
from engram_py.memory.observations.values import DEFAULT_TYPE, Change, Draft, Observation
from engram_py.sharing.vault.folder import digest, slug_of_page
from engram_py.sharing.vault.markdown import day_of, own_lines
from engram_py.sharing.vault.values import Applied, Edit, Item, VaultPage

if TYPE_CHECKING:
    from engram_py.memory.identity.identity import Identity
    from engram_py.memory.writing.entities import Entities
    from engram_py.memory.writing.facts import Facts, Notes
    from engram_py.memory.writing.observations import Observations


# The memory writes when a page was updated; a person's date there says nothing.
_DATE = regex(r"|[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = regex(r"## (\d\d:\d\d)")


@dataclass(frozen=True, slots=True)
class Now:
    """An item as the memory would write it now."""

    path: str
    item: Item
    row: Observation


def edits(
    pages: list[VaultPage],
    before: Mapping[str, str],
    now: Mapping[str, Now],
    heads: Mapping[str, frozenset[str]],
) -> Iterator[Edit]:
    """Yield the edits in the ``pages`` that differ from the last export.

    ``before`` holds the digests of the items at the last export by anchor, ``now`` the items of the memory, ``heads``
    the digests of the lines of each file that are no items, and of the front matter. ``delete`` is what is missing of a
    page, ``describe`` an entity's kind and aliases, ``keep`` are lines of the person.
    """
    seen: set[str] = set()
    for page in pages:
        for item in page.items:
            if item.anchor.startswith("rel-"):
                continue
            current = now.get(item.anchor) if item.anchor else None
            if current is None or (item.anchor in seen and item.raw != current.item.raw):
                yield Edit("add", page.path, item)
            elif item.anchor not in seen and (conflict := _changed(item, current, before)) is not None:
                yield Edit("revise", page.path, item, current.row, conflict)
            seen.add(item.anchor)
        ours = heads.get(page.path, frozenset())
        front = {name: value for name, value in page.front.items() if front_line(name, value) not in ours}
        kind, aliases = front.get("type"), front.get("aliases")
        if kind or aliases:
            raw = "\n".join(f"{name}: {front[name]}" for name in ("type", "aliases") if name in front)
            yield Edit("describe", page.path, Item(raw, "", aliases or "", type=kind))
        lines = own_lines([line for line in page.heads if digest(line) not in ours])
        if not _DATE.fullmatch(front.get("updated", "0000-00-00")):
            lines.append(f"updated: {front['updated']}")
        if page.rest.strip():
            lines.append(page.rest)
        if lines:
            yield Edit("keep", page.path, Item("\n".join(lines), "", "\n".join(lines)))
    paths = {page.path for page in pages}
    for anchor, current in now.items():
        if current.path in paths and anchor in before and anchor not in seen:
            yield Edit("delete", current.path, current.item, current.row)


def front_line(name: str, value: str) -> str:
    """Return the digest of a value of the front matter, however YAML may write it."""
    return digest(f"{name}: {value}")


def _changed(item: Item, current: Now, before: Mapping[str, str]) -> bool | None:
    """Return None for an item that the person left as it was, else whether the memory changed it as well."""
    told, is_now, was = digest(item.raw), digest(current.item.raw), before.get(item.anchor)
    if told in (is_now, was):
        return None
    fields, has = (item.title, item.content, item.type, item.topic_key), current.item
    if fields == (has.title, has.content, has.type, has.topic_key):
        return None
    return was is not None and was != is_now


_BOTH = "the memory had changed too; its text is kept as a version"


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
        now: Callable[[], datetime],
        zone: tzinfo | None = None,
    ) -> None:
        self._observations = observations
        self._identity = identity
        self._entities = entities
        self._facts = facts
        self._notes = notes
        self._now = now
        self._zone = zone

    def apply(self, edits: Sequence[Edit], *, project: str) -> list[Applied]:
        """Return the outcome of each edit, in order."""
        return [self._one(edit, project, number) for number, edit in enumerate(edits)]

    def _one(self, edit: Edit, project: str, number: int) -> Applied:
        title = edit.item.title or title_of(edit.item.content)
        if edit.action == "keep":
            return Applied(edit.path, "keep", "kept", title, said="not an item; kept at the end of its file")
        if edit.action != "describe" and not edit.item.content.strip():
            return Applied(
                edit.path, edit.action, "refused", title, said="an item without text; kept at the end of its file"
            )
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
            return self._add(edit, title, project, number)
        except EngramError as exc:
            return Applied(edit.path, edit.action, "refused", title, said=f"{exc.message}; kept at the end of its file")

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
        aliases = [alias for alias in item.content.split(", ") if alias]
        done = self._entities.describe(slug, kind=item.type, aliases=aliases, project=project)
        return Applied(edit.path, "describe", done.done, slug, done.id)

    def _add(self, edit: Edit, title: str, project: str, number: int) -> Applied:
        item, path = edit.item, edit.path
        # The same line again, after a crash in the middle, is the same save.
        once = f"vault:{path}:{digest(item.raw)}"
        if path.startswith("life/"):
            saved = self._facts.add(slug_of_page(path), item.content, project=project, origin="user")
        elif (day := day_of(path)) is not None:
            at = self._moment(day, item.raw, number)
            saved = self._notes.add(item.content, title=item.title, at=at, project=project, operation_id=once)
        elif path == "identity.md":
            saved = self._identity.add(item.content, project=project, origin="user")
        else:
            kind, topic = item.type or DEFAULT_TYPE, item.topic_key
            at = self._moment(item.day, "", number) if item.day else None
            draft = Draft(title, item.content, kind, topic_key=topic, origin="user", operation_id=once, said_at=at)
            saved = self._observations.save(draft, project=project)
            if path == "MEMORY.md":
                self._observations.pin(saved.id)
        return Applied(path, "add", saved.outcome, saved.title, saved.id)

    def _moment(self, day: str, raw: str, number: int) -> str | None:
        """Return the time an entry names, else one of its day: None, which is now, of today, and noon of another.

        The ``number`` of the edit keeps the order of a file. None of what is no day.
        """
        named = _TIME.match(raw)
        try:
            local = datetime.fromisoformat(f"{day}T{named[1] if named else '12:00'}")
        except ValueError:
            return None
        if named is None and day == self._now().astimezone(self._zone).date().isoformat():
            return None
        local += timedelta(0) if named else timedelta(milliseconds=number)
        return to_text(local.replace(tzinfo=self._zone) if self._zone is not None else local.astimezone())


def digests_beside_items(page: VaultPage) -> list[str]:
    """Return the digests of what a file says besides its items."""
    return [*map(digest, page.heads), *(front_line(name, value) for name, value in page.front.items())]


def kept_beside(path: str, outcome: str, kept: str) -> Applied:
    reason = f"the memory writes this file and never reads it; your text is kept as {kept}"
    return Applied(path, "keep", outcome, path, said=reason)


def with_conflict(path: str) -> Applied:
    return Applied(path, "keep", "refused", path, said="it holds a merge conflict: mend it, then import again")


def unreadable(path: str, why: str) -> Applied:
    return Applied(path, "keep", "refused", path, said=f"it cannot be read ({why}), and is left as it is")


def not_claimed(path: str) -> Applied:
    said = "git shares this folder, so somebody else may have edited it: `engram vault import --mine` if you did"
    return Applied(path, "keep", "refused", path, said=said)


def plan_of(edit: Edit) -> Applied:
    title = edit.item.title or edit.item.content.split("\n")[0][:100]
    note = "the memory changed too; its text is kept as a version" if edit.conflict else ""
    row = edit.row.id if edit.row is not None else None
    return Applied(edit.path, edit.action, f"would {edit.action}", title, row, note)
