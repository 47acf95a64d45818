"""Write the files of a vault from its rows: the same rows give the same bytes. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from itertools import groupby

from engram_py.lazy import regex
from engram_py.observations.validation import title_of
from engram_py.observations.values import Observation
from engram_py.times import parse_time
from engram_py.vault.layout import INDEX, entity_folder
from engram_py.vault.parsing import TAIL, escape, is_bold, plain_lines
from engram_py.vault.values import EntityPage, Shelf

_ANCHOR = regex(r"obs-[\w.-]{1,80}")


def anchor_of(row: Observation) -> str:
    """Return what stands behind a row's item: its sync id, or a digest where that is no plain name."""
    if _ANCHOR.fullmatch(row.sync_id):
        return row.sync_id
    return f"obs-{hashlib.sha256(row.sync_id.encode()).hexdigest()[:16]}"


def rendered(shelf: Shelf, zone: tzinfo | None) -> dict[str, str]:
    """Return the text of each file by its path, without what a person wrote below it."""
    files = {
        "identity.md": _listing("Identity", shelf.identity),
        "MEMORY.md": _listing("Memory", shelf.memory, typed=True),
        "observations.md": _log(shelf.log, zone),
    }
    for day, rows in groupby(shelf.days, key=lambda row: _local(row.created_at, zone).date()):
        files[f"memory/{day}.md"] = _day(rows, zone)
    links = {page.slug: _link(page) for page in shelf.entities}
    for page in shelf.entities:
        folder = f"{entity_folder(page)}/"
        files[f"{folder}summary.md"] = _entity(page, links, zone)
        files[f"{folder}items.json"] = _json([_fact(row, page) for row in (*page.facts, *page.history)])
    for folder, pages in groupby(
        sorted(shelf.entities, key=entity_folder), key=lambda one: entity_folder(one).rpartition("/")[0]
    ):
        lines = "".join(f"- {links[one.slug]}\n" for one in pages)
        files[f"{folder}/_index.md"] = f"# {folder.rpartition('/')[2].capitalize()}\n\n{lines}"
    if shelf.entities:
        files[INDEX] = _json([_entry(page) for page in shelf.entities])
    return files


def with_tail(text: str, tail: str) -> str:
    """Return a file with what the person wrote, below a line that says so."""
    return f"{text.rstrip()}\n\n{TAIL}\n\n{tail}\n" if tail.strip() else text


def bullet(row: Observation, *, typed: bool = False, said: str = "") -> str:
    """Return a row as an item of a list. ``typed``: with its type and topic; ``said`` stands behind its first line."""
    content = plain_lines(row.content).strip("\n")
    mark = f"{said} <!-- {anchor_of(row)} -->"
    first, _, rest = content.partition("\n")
    if not typed and row.title == title_of(content) and not is_bold(first):
        lines = [f"{first}{mark}", *(rest.split("\n") if rest else ())]
    else:
        names = [row.type, *filter(None, [row.topic_key])] if typed else []
        head = f"**{row.title}**" + "".join(f" `{name}`" for name in names if "`" not in name)
        lines = [f"{head}{mark}", *(content.split("\n") if content != row.title else ())]
    return "- " + "\n".join((lines[0], *(f"  {line}" if line else "" for line in lines[1:])))


def _listing(title: str, rows: Iterable[Observation], *, typed: bool = False) -> str:
    return f"# {title}\n\n" + "".join(f"{bullet(row, typed=typed)}\n" for row in rows)


def _log(rows: Sequence[Observation], zone: tzinfo | None) -> str:
    parts = ["# Observations\n"]
    for day, of_day in groupby(rows, key=lambda row: _local(row.created_at, zone).date()):
        parts.append(f"\n## {day}\n\n" + "".join(f"{bullet(row, typed=True)}\n" for row in of_day))
    return "".join(parts)


def _day(rows: Iterable[Observation], zone: tzinfo | None) -> str:
    parts: list[str] = []
    for row in rows:
        local = _local(row.created_at, zone)
        if not parts:
            parts.append(f"# {local:%A, %B} {local.day}, {local.year}\n")
        content = plain_lines(row.content).strip("\n")
        name = "" if row.title == title_of(content) else f" {row.title}"
        body = "" if content == row.title and name else "\n".join(map(escape, content.split("\n"))) + "\n"
        parts.append(f"\n## {local:%H:%M}{name} <!-- {anchor_of(row)} -->\n\n{body}")
    return "".join(parts)


def _entity(page: EntityPage, links: Mapping[str, str], zone: tzinfo | None) -> str:
    rows = [*page.facts, *page.history, *filter(None, [page.row])]
    updated = max((_local(row.updated_at, zone).date().isoformat() for row in rows), default="")
    front = {"type": page.kind, "updated": updated, "aliases": list(page.aliases)}
    # YAML reads JSON values.
    head = "".join(f"{name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in front.items())
    parts = [f"---\n{head}---\n\n# {page.name}\n"]
    if page.row is not None and page.row.origin != "derived" and page.row.content != page.row.title:
        parts.append(f"\n## Summary\n\n{bullet(page.row)}\n")
    for title, facts, word in (("Facts", page.facts, ""), ("History", page.history, "until ")):
        if facts:
            lines = (bullet(row, said=f" ({word}{_local(row.updated_at, zone).date()})") for row in facts)
            parts.append(f"\n## {title}\n\n" + "".join(f"{line}\n" for line in lines))
    if page.edges:
        lines = (
            f"- {edge.predicate} {links.get(edge.target, f'[[{edge.target}]]')} <!-- rel-{edge.sync_id} -->\n"
            for edge in page.edges
        )
        parts.append("\n## Links\n\n" + "".join(lines))
    return "".join(parts)


def _link(page: EntityPage) -> str:
    return f"[[{entity_folder(page)}/summary|{page.name}]]"


def _fact(row: Observation, page: EntityPage) -> dict[str, object]:
    return {
        "id": row.sync_id,
        "fact": row.content,
        "status": "active" if row.lifecycle == "active" else "superseded",
        "timestamp": row.created_at,
        "relatedEntities": [edge.target for edge in page.edges],
        "lastAccessed": row.last_accessed_at,
        "accessCount": row.access_count,
    }


def _entry(page: EntityPage) -> dict[str, object]:
    values = {"slug": page.slug, "name": page.name, "kind": page.kind, "aliases": list(page.aliases)}
    return values | {"archived": page.archived, "path": entity_folder(page), "facts": len(page.facts)}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _local(time: str, zone: tzinfo | None) -> datetime:
    moment = parse_time(time) or datetime(1970, 1, 1, tzinfo=UTC)
    try:
        return moment.astimezone(zone)
    except (OverflowError, ValueError, OSError):  # the first and the last day there is
        return moment
