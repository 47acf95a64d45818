"""What a person changed in the files of a vault, found by comparing three texts: the last export's, the file's, and
that of the memory as it is now. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from engram_py.dataclass import dataclass
from engram_py.lazy import regex
from engram_py.observations.values import Observation
from engram_py.vault.folder import digest
from engram_py.vault.values import Edit, Item, Page

# The memory writes when a page was updated; a person's date there says nothing.
_DATE = regex(r"|[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True, slots=True)
class Now:
    """An item as the memory would write it now."""

    path: str
    item: Item
    row: Observation


def edits(
    pages: list[Page],
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
            known = now.get(item.anchor) if item.anchor else None
            if known is None or (item.anchor in seen and item.raw != known.item.raw):
                yield Edit("add", page.path, item)
            elif item.anchor not in seen and (conflict := _changed(item, known, before)) is not None:
                yield Edit("revise", page.path, item, known.row, conflict)
            seen.add(item.anchor)
        ours = heads.get(page.path, frozenset())
        front = {name: value for name, value in page.front.items() if front_line(name, value) not in ours}
        kind, aliases = front.get("type"), front.get("aliases")
        if kind or aliases:
            raw = "\n".join(f"{name}: {front[name]}" for name in ("type", "aliases") if name in front)
            yield Edit("describe", page.path, Item(raw, "", aliases or "", type=kind))
        lines = [line for line in page.heads if digest(line) not in ours]
        if not _DATE.fullmatch(front.get("updated", "0000-00-00")):
            lines.append(f"updated: {front['updated']}")
        if lines:
            yield Edit("keep", page.path, Item("\n".join(lines), "", "\n".join(lines)))
    paths = {page.path for page in pages}
    for anchor, one in now.items():
        if one.path in paths and anchor in before and anchor not in seen:
            yield Edit("delete", one.path, one.item, one.row)


def front_line(name: str, value: str) -> str:
    """Return the digest of a value of the front matter, however YAML may write it."""
    return digest(f"{name}: {value}")


def _changed(item: Item, known: Now, before: Mapping[str, str]) -> bool | None:
    """None of an item that the person left as it was, else whether the memory changed it as well."""
    told, is_now, was = digest(item.raw), digest(known.item.raw), before.get(item.anchor)
    if told in (is_now, was):
        return None
    said, has = (item.title, item.content, item.type, item.topic_key), known.item
    if said == (has.title, has.content, has.type, has.topic_key):
        return None
    return was is not None and was != is_now
