"""The files of a vault as texts. ``rendered`` writes them from rows: the same rows give the same bytes. ``parse`` reads
one: its items, the lines between them, and what the person wrote below. Pure.

Bullets are those of CommonMark (markdown-it). An entry of a day ends where the next begins: a fence that is open in
one must not take the others, so those headings are found by line, and the same line in a text is escaped.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from functools import cache
from itertools import chain, groupby
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from engram_py.base.dataclass import replace
from engram_py.base.lazy import regex
from engram_py.base.text.normalize import plain_lines
from engram_py.base.times import parse_time
from engram_py.memory.entities.names import runs, words_of
from engram_py.memory.observations.validation import title_of
from engram_py.memory.observations.values import Observation
from engram_py.recall.documents.passages import front_matter
from engram_py.sharing.vault.folder import INDEX, SHELVES, digest, entity_folder
from engram_py.sharing.vault.values import EntityPage, Item, Shelf, VaultPage, is_entity

if TYPE_CHECKING:
    from markdown_it import MarkdownIt


TAIL = "<!-- yours: what stands below is kept as it is -->"

_ANCHOR = regex(r" ?<!-- ((?:obs|rel)-[\w.-]{1,80}) -->$")
_BOLD = regex(r"\*\*(.+)\*\*((?: `[^`]+`){0,2})")
_MARKER = regex(r"([-*+])( {1,4}|\t|$)")
_DATED = regex(r" \((?:until )?\d{4}-\d\d-\d\d\)$")
_ENTRY = regex(r"## (\d\d:\d\d)(?: (.*?))?$")
_DAY_TITLE = r"# [A-Z][a-z]+day, [A-Z][a-z]+ \d{1,2}, \d{4}"
_ESCAPED = regex(rf"\\*(?:## \d\d:\d\d|{_DAY_TITLE}|{re.escape(TAIL)})")
_OPENS = regex(rf"{_DAY_TITLE}\s*")
# What the memory writes before the page of an entity; Obsidian writes a list below its name.
_WRITTEN = regex(r"(type|aliases|updated):")
_LISTED = regex(r"\s*- \S")
_NAMES_CHARS = 1_000
_DAY = regex(r"memory/(\d{4}-\d\d-\d\d)\.md")
_DAY_HEAD = regex(r"#{1,3} (\d{4}-\d\d-\d\d)\s*")
_TITLE = regex(rf"(?:{_DAY_TITLE}|# (?:Identity|Memory|Observations))\s*")
_STRUCTURE = regex(rf"(?:{_DAY_HEAD.pattern}|## (?:Summary|Facts|History|Links))\s*")
# Of these a paragraph is an item as well, and each of its lines where all are as "Location: Bordeaux".
_OF_PERSON = ("identity.md", "MEMORY.md")
_NAMED = regex(r"[^\W\d_][^:.]{0,40}: \S.*")
_GAP = regex(r"\n{3,}")


def day_of(path: str) -> str | None:
    """Return the date of a day's file, None of any other path."""
    match = _DAY.fullmatch(path)
    return match[1] if match else None


def parse(path: str, text: str) -> VaultPage:
    """Return the page that a file's text makes."""
    whole, _, tail = f"\n{plain_lines(text).removeprefix(chr(0xFEFF))}".partition(f"\n{TAIL}\n")
    front, others, whole = _front(whole[1:]) if is_entity(path) else ({}, (), whole[1:])
    page = _body(path, whole)
    return replace(page, path=path, heads=(*others, *page.heads), text=text, tail=tail.strip("\n"), front=front)


def _body(path: str, text: str) -> VaultPage:
    if path.endswith("_index.md"):  # a view: nothing of it is an item
        return VaultPage("", (), _not_blank(text.split("\n")))
    return _entries(text) if day_of(path) else _bullets(text, dated=path.startswith("life/"), prose=path in _OF_PERSON)


def tail_mark(tail: str) -> str:
    """Return what a manifest keeps of the person's text below a file."""
    return f"{len(tail)} {digest(tail)}"


def with_appended(page: VaultPage, mark: str) -> VaultPage:
    """Return a page with the items that stand below the text of the person's that the last export left, and had
    ``mark``: a line put at the end of a file lands there."""
    length = mark.partition(" ")[0]
    known = page.tail[: int(length) if length.isdecimal() else 0]
    known = known if tail_mark(known) == mark else ""
    rest = page.tail[len(known) :].removeprefix("\n")
    more = _body(page.path, rest)
    for item in more.items:
        rest = rest.replace(item.raw, "", 1)
    rest = "\n".join(own_lines(rest.split("\n"))).rstrip()
    return replace(page, items=(*page.items, *more.items), tail=known, rest=_GAP.sub("\n\n", rest))


def own_lines(lines: Sequence[str]) -> list[str]:
    """Return the lines without the headings that the memory writes itself and that nothing else stands below."""
    kept: list[str] = []
    for line in reversed(lines):
        below = next((one for one in reversed(kept) if one.strip()), None)
        is_own = not _STRUCTURE.fullmatch(line) or (below is not None and not below.startswith("#"))
        if is_own and not _TITLE.fullmatch(line):
            kept.append(line)
    return kept[::-1]


def _front(text: str) -> tuple[Mapping[str, str], tuple[str, ...], str]:
    """Return the front matter of an entity's page, its lines that say something else, and the text behind it."""
    lines = text.split("\n")
    end = next((at for at, line in enumerate(lines[1:], 1) if line.strip() == "---"), 0)
    if lines[0].strip() != "---" or not end:
        return {}, (), text
    ours: list[str] = []
    others: list[str] = []
    name = ""
    for line in lines[1:end]:
        pair = _WRITTEN.match(line)
        if pair and not any(earlier.startswith(pair[0]) for earlier in ours):
            name = pair[1]
        elif not (name == "aliases" and _LISTED.match(line)):
            others.append(line)
            continue
        ours.append(line)
    return front_matter("\n".join(["---", *ours, "---"]))[0], _not_blank(others), "\n".join(lines[end + 1 :])


def escape(line: str) -> str:
    """Return a line of a text that would be read as the heading of an entry, so that it is not."""
    return f"\\{line}" if _ESCAPED.match(line) else line


def _unescape(line: str) -> str:
    return line[1:] if line.startswith("\\") and _ESCAPED.match(line[1:]) else line


def _entries(text: str) -> VaultPage:
    """Return the entries of a day, and what stands before the first or below a title of the day, each a note."""
    blocks: list[list[str]] = [[]]
    for line in text.split("\n"):
        if _ENTRY.match(line) or _OPENS.fullmatch(line):
            blocks.append([])
        blocks[-1].append(line)
    pages = [
        VaultPage("", (_entry(block),), ()) if _ENTRY.match(block[0]) else _bullets("\n".join(block), prose=True)
        for block in blocks
        if block
    ]
    return VaultPage(
        "", tuple(item for page in pages for item in page.items), tuple(chain(*(page.heads for page in pages)))
    )


def _not_blank(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(line for line in lines if line.strip())


def _entry(lines: list[str]) -> Item:
    head, anchor = _anchored(lines[0])
    title = (_ENTRY.fullmatch(head) or ["", "", None])[2]
    body = "\n".join(map(_unescape, lines[1:])).strip("\n")
    return Item("\n".join(lines).rstrip("\n"), anchor, body or title or "", title or None)


@cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark")
    reader.core.ruler.enableOnly(["normalize", "block"])
    return reader


def _bullets(text: str, *, dated: bool = False, prose: bool = False) -> VaultPage:
    lines = text.split("\n")
    items: dict[int, Item] = {}
    of_items: set[int] = set()
    for start, end in _spans(text, lines, prose=prose):
        last = max(number for number in range(start, end) if number == start or lines[number].strip())
        of_items.update(range(start, last + 1))
        is_bullet = not prose or _MARKER.match(lines[start].lstrip(" "))
        items[start] = (_bullet if is_bullet else _paragraph)(lines[start : last + 1], dated=dated)
    heads = {number: line for number, line in enumerate(lines) if number not in of_items}
    return VaultPage("", tuple(_on_days(items, heads)), _not_blank(heads.values()))


def _on_days(items: Mapping[int, Item], heads: Mapping[int, str]) -> Iterator[Item]:
    """Yield the items, by their first lines, each with the day it stands below.

    What is put behind the last items of the memory is of no day, whichever those are of.
    """
    days = {number: found[1] for number, line in heads.items() if (found := _DAY_HEAD.fullmatch(line))}
    if days and any(item.anchor for start, item in items.items() if start > max(days)):
        days[max(days)] = ""
    for start, item in items.items():
        above = max((number for number in days if number < start), default=None)
        yield replace(item, day=days[above] or None) if above is not None else item


def _paragraph(lines: list[str], *, dated: bool) -> Item:
    head, anchor = _anchored(lines[0])
    return Item("\n".join(lines), anchor, "\n".join((head, *lines[1:])))


def _spans(text: str, lines: Sequence[str], *, prose: bool) -> Iterator[tuple[int, int]]:
    """Yield the first line and the end of each bullet, with ``prose`` of the paragraphs between them too."""
    for start, end, is_bullet in _blocks(text):
        cut = start
        if is_bullet:
            # The memory indents all that is of a bullet: a line that is not was put below its item.
            beside = (number for number in range(start + 1, end) if lines[number][:1].strip())
            cut = next(beside, end) if prose and _ANCHOR.search(lines[start]) else end
            yield start, cut
        said = [number for number in range(cut, end) if lines[number].strip() and lines[number] != _TACIT.strip()]
        if prose and said:
            apart = all(_NAMED.fullmatch(lines[number]) for number in said)
            yield from ((number, number + 1) for number in said) if apart else [(said[0], said[-1] + 1)]


def _blocks(text: str) -> Iterator[tuple[int, int, bool]]:
    depth = 0
    for token in _markdown().parse(text):
        if token.type == "bullet_list_open":
            depth += 1
        elif token.type == "bullet_list_close":
            depth -= 1
        elif token.type == "list_item_open" and token.level == 1 and depth == 1 and token.map:
            yield token.map[0], token.map[1], True
        elif token.type == "paragraph_open" and token.level == 0 and token.map:
            yield token.map[0], token.map[1], False


def _bullet(lines: list[str], *, dated: bool) -> Item:
    marker = _MARKER.match(lines[0])
    width = 2 if marker is None else len(marker[0])
    head, anchor = _anchored(lines[0][width:].rstrip())
    if dated and anchor:
        head = _DATED.sub("", head)
    body = [line[: len(line) - len(line.lstrip(" "))][width:] + line.lstrip(" ") for line in lines[1:]]
    raw = "\n".join(lines)
    if bold := _BOLD.fullmatch(head):
        names = [name.strip("`") for name in bold[2].split()]
        return Item(raw, anchor, "\n".join(body).strip("\n") or bold[1], bold[1], *names)
    return Item(raw, anchor, "\n".join((head, *body)).strip("\n"))


def _anchored(line: str) -> tuple[str, str]:
    match = _ANCHOR.search(line)
    return (line[: match.start()], match[1]) if match else (line, "")


_SYNC_ID = regex(r"obs-[\w.-]{1,80}")


def anchor_of(row: Observation) -> str:
    """Return the anchor behind a row's item: its sync id, or a digest where that is no plain name."""
    if _SYNC_ID.fullmatch(row.sync_id):
        return row.sync_id
    return f"obs-{hashlib.sha256(row.sync_id.encode()).hexdigest()[:16]}"


def rendered(shelf: Shelf, zone: tzinfo | None) -> dict[str, str]:
    """Return the text of each file by its path, without what a person wrote below it."""
    files = {
        "identity.md": _listing("Identity", shelf.identity),
        "MEMORY.md": _listing("Memory", shelf.memory, typed=True, head=_TACIT),
        "observations.md": _log(shelf.log, zone),
    }
    for day, rows in groupby(shelf.days, key=lambda row: _local(row.created_at, zone).date()):
        files[f"memory/{day}.md"] = _day(rows, zone)
    links = {page.slug: f"[[{entity_folder(page)}/summary|{page.name}]]" for page in shelf.entities}
    for page in shelf.entities:
        folder = f"{entity_folder(page)}/"
        files[f"{folder}summary.md"] = _entity(page, links, zone)
        facts = (*page.facts, *page.history)
        files[f"{folder}items.json"] = _json([_fact(row, page, links.keys()) for row in facts])
    if shelf.entities:
        files |= _indexes(shelf.entities, links)
        files[INDEX] = _json([_listed_entity(page) for page in shelf.entities])
    return files


def _indexes(pages: Sequence[EntityPage], links: Mapping[str, str]) -> dict[str, str]:
    """Return the ``_index.md`` of every level: the folders below it, with how many entities each has, and its own."""
    own: dict[str, list[str]] = {"life": [], **{f"life/{shelf}": [] for shelf in SHELVES}}
    count: Counter[str] = Counter()
    for page in sorted(pages, key=entity_folder):
        folder = entity_folder(page).rpartition("/")[0]
        own.setdefault(folder, []).append(f"- {links[page.slug]}\n")
        count.update([folder, *(str(parent) for parent in PurePosixPath(folder).parents)])
    files = {}
    for folder, lines in own.items():
        below = (name for name in sorted(own) if name.rpartition("/")[0] == folder)
        folders = [f"- [[{name}/_index|{name.rpartition('/')[2]}]] ({count[name]})\n" for name in below]
        files[f"{folder}/_index.md"] = f"# {folder.rpartition('/')[2].capitalize()}\n\n{''.join([*folders, *lines])}"
    return files


_TACIT = (
    "What is pinned, your profile, and how you work: preferences and policies (other programs keep these in ME.md).\n\n"
)


def with_tail(text: str, tail: str) -> str:
    """Return a file with what the person wrote, below a line that says so."""
    return f"{text.rstrip()}\n\n{TAIL}\n\n{tail}\n" if tail.strip() else text


def bullet(row: Observation, *, typed: bool = False, suffix: str = "") -> str:
    """Return a row as an item of a list. ``typed``: with its type and topic; ``suffix`` ends its first line."""
    content = plain_lines(row.content).strip("\n")
    mark = f"{suffix} <!-- {anchor_of(row)} -->"
    first, _, rest = content.partition("\n")
    if not typed and row.title == title_of(content) and not _BOLD.fullmatch(first):
        lines = [f"{first}{mark}", *(rest.split("\n") if rest else ())]
    else:
        names = [row.type, *filter(None, [row.topic_key])] if typed else []
        head = f"**{row.title}**" + "".join(f" `{name}`" for name in names if "`" not in name)
        lines = [f"{head}{mark}", *(content.split("\n") if content != row.title else ())]
    return "- " + "\n".join((lines[0], *(f"  {line}" if line else "" for line in lines[1:])))


def _listing(title: str, rows: Iterable[Observation], *, typed: bool = False, head: str = "") -> str:
    return f"# {title}\n\n{head}" + "".join(f"{bullet(row, typed=typed)}\n" for row in rows)


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
            lines = (bullet(row, suffix=f" ({word}{_local(row.updated_at, zone).date()})") for row in facts)
            parts.append(f"\n## {title}\n\n" + "".join(f"{line}\n" for line in lines))
    if page.edges:
        lines = (
            f"- {edge.predicate} {links.get(edge.target, f'[[{edge.target}]]')} <!-- rel-{edge.sync_id} -->\n"
            for edge in page.edges
        )
        parts.append("\n## Links\n\n" + "".join(lines))
    return "".join(parts)


def _fact(row: Observation, page: EntityPage, slugs: Collection[str]) -> dict[str, object]:
    related = [edge.target for edge in page.edges if edge.evidence == row.sync_id]
    return {
        "id": row.sync_id,
        "fact": row.content,
        "category": row.category,
        "source": row.source,
        "sourceRef": row.source_ref,
        "status": "active" if row.lifecycle == "active" else "superseded",
        "supersededBy": page.replaced_by.get(row.sync_id),
        "timestamp": row.created_at,
        "relatedEntities": list(dict.fromkeys([*related, *_named(row.content, page.slug, slugs)])),
        "lastAccessed": row.last_accessed_at,
        "accessCount": row.access_count,
    }


def _named(text: str, own: str, slugs: Collection[str]) -> list[str]:
    """Return the entities that a fact names, besides its own."""
    return [slug for slug in dict.fromkeys(runs(words_of(text[:_NAMES_CHARS]))) if slug in slugs and slug != own]


def _listed_entity(page: EntityPage) -> dict[str, object]:
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
