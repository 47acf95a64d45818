"""A memory as a Markdown file that people review: ``.engram/memories/<topic or title>-<8 hex>.md``. Pure.

``compose`` gives the same bytes for the same state on every machine. ``parse`` reads what it wrote and what a person
made of it: ``digest`` in the front matter says which of the two it is. ``merge`` joins two edits of one file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from engram_py.base.clock import MOST_DEVICE_CHARS, ZERO, Stamp, parse_stamp
from engram_py.base.dataclass import dataclass, field, replace
from engram_py.base.lazy import regex
from engram_py.base.text.normalize import dashed, folded, has_conflict
from engram_py.sharing.sync.mutation import OWN_BLOCK, SIGNATURE, UNCHECKED, Mutation, precedence

# A content of 50,000 bytes, its title, and what stands in the front matter.
MOST_FILE_BYTES = 2**19
_SLUG_CHARS = 60
_NOTE = "# Written by engram: edit the text below, or type, topic and files; the rest is how copies are joined."
_DIGEST = regex(r"^digest: ([0-9a-f]{16})\n(?:signature: ([\w.-]{1,200})\n)?", 8)  # re.MULTILINE
_PLAIN = regex(r"[A-Za-z0-9_./@](?:[\w ./@+=~-]|:(?=\w))*")
_SPAN = regex(r"(.+):(\d+)-(\d+)")
_ID = regex(r"obs-[\w.-]{1,60}")
# Columns of Engram's own JSON that stand in ``state``; every other one of it is of our block.
_ENGRAM = ("session_id", "tool_name", "revision_count", "duplicate_count", "pinned", "org")
# What is not written, because its absence says the same.
_USUAL = {"revision_count": 1, "duplicate_count": 1, "pinned": False, "lifecycle": "active", "salience": 0.5}
_TIMES = ("created_at", "last_seen_at")
_RELATION = ("sync_id", "relation", "target_id", "reason", "evidence", "confidence", "judgment_status",
             "marked_by_actor", "marked_by_kind", "marked_by_model", "session_id")  # fmt: skip
# The verdicts that a reviewer should see, each a line.
_SHOWN = ("supersedes", "conflicts_with")


class MemoryFileError(ValueError):
    """A file that is no memory; the text is the reason, and what to do."""


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """A memory as its file tells it. ``sync_id`` is empty in a file that a person began. ``state`` has the columns that
    nobody reads, ``edited`` says that a person changed the file after it was written at ``clock``; ``signature`` is
    that of its person, as it stands there."""

    sync_id: str
    type: str
    title: str
    content: str
    clock: str = ZERO
    topic: str = ""
    scope: str = "project"
    files: tuple[str, ...] = ()
    guards: str = ""
    shown: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    state: Mapping[str, Any] = field(default_factory=dict)
    edited: bool = False
    signature: str = ""


# What people write of a memory: a review names what differs, and a merge decides on each.
WRITTEN = ("title", "content", "type", "topic", "files", "guards", "shown", "scope")


def blob(data: bytes) -> str:
    """Return git's name of a file with these bytes, as a repository with SHA-1 has it."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def file_name(title: str, topic: str, sync_id: str) -> str:
    """Return the name a memory's file gets when it is written first; later it stays as it is."""
    slug = dashed(folded(topic or title)).encode("ascii", "ignore").decode()
    slug = "-".join(part for part in slug.split("-") if part)[:_SLUG_CHARS].strip("-")
    return f"{slug or 'memory'}-{hashlib.sha256(sync_id.encode()).hexdigest()[:8]}.md"


# --- writing ----------------------------------------------------------------------------------------------


def compose(observation: Mutation, relations: Iterable[Mutation] = ()) -> bytes:
    """Return the file of an observation and of the verdicts on it that were given from its side."""
    payload, own = observation.payload, observation.payload.get(OWN_BLOCK, {})
    state = {name: payload.get(name) for name in _ENGRAM} | {
        name: value for name, value in own.items() if name not in ("guards", "clock", "format", UNCHECKED, SIGNATURE)
    }
    anchors = own.get("anchors") or []
    verdicts = sorted((_verdict(one) for one in relations), key=lambda one: one["sync_id"])
    state["relations"] = verdicts
    return _text(
        MemoryFile(
            observation.entity_key,
            str(payload["type"]),
            str(payload["title"]),
            str(payload["content"]),
            observation.clock,
            payload.get("topic_key") or "",
            str(payload["scope"]),
            tuple(_span(one) for one in anchors),
            own.get("guards") or "",
            {verb: _targets(verdicts, verb) for verb in _SHOWN},
            _without_usual(state),
            signature=own.get(SIGNATURE, ""),
        )
    ).encode()


def _text(file: MemoryFile) -> str:
    scope = "" if file.scope == "project" else file.scope
    head: list[tuple[str, str | tuple[str, ...]]] = [("id", file.sync_id), ("type", file.type), ("topic", file.topic)]
    head += [("scope", scope), ("files", file.files), *((verb, file.shown.get(verb, ())) for verb in _SHOWN)]
    lines = [f"{name}: {_value(value)}" for name, value in head if value]
    lines += [f"guards: {file.guards}"] if file.guards else []
    lines += [_NOTE, f"clock: {file.clock}", *_state_lines(file.state)]
    begin, end = "---\n" + "".join(f"{line}\n" for line in lines), f"---\n\n# {file.title}\n\n{file.content}\n"
    signature = f"signature: {file.signature}\n" if file.signature else ""
    return f"{begin}digest: {_digest(begin + end)}\n{signature}{end}"


def _state_lines(state: Mapping[str, Any]) -> list[str]:
    """Return the columns that nobody reads, a short line each, so that two edits of a file meet in few of them; each
    part of a list has its own."""
    lines = ["state:"] if state else []
    for name, value in sorted(state.items()):
        if isinstance(value, list):
            lines += [f"  {name}[]: {_json(one)}" for one in value]
        else:
            lines.append(f"  {name}: {_json(value)}")
    return lines


def _value(value: str | Sequence[str]) -> str:
    if isinstance(value, str):
        return value if _PLAIN.fullmatch(value) and value == value.strip() else _json(value)
    return f"[{', '.join(_value(one) for one in value)}]"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _span(anchor: Mapping[str, Any]) -> str:
    lines = f":{anchor['start_line']}-{anchor['end_line']}" if anchor.get("start_line") else ""
    return f"{anchor['path']}{lines}"


def _verdict(relation: Mutation) -> dict[str, Any]:
    said = {name: relation.payload.get(name) for name in _RELATION} | relation.payload.get(OWN_BLOCK, {})
    said.pop(UNCHECKED, None)
    return {name: value for name, value in said.items() if value is not None} | {"clock": relation.clock}


def _targets(verdicts: Sequence[Mapping[str, Any]], verb: str) -> tuple[str, ...]:
    said = [one for one in verdicts if (one.get("relation"), one.get("judgment_status")) == (verb, "judged")]
    return tuple(sorted(one["target_id"] for one in said))


def _without_usual(state: Mapping[str, Any]) -> dict[str, Any]:
    updated = state.get("updated_at")
    same = {name for name in _TIMES if state.get(name) == updated}
    return {
        name: value
        for name, value in state.items()
        if name not in same and value not in (None, "", []) and _USUAL.get(name) != value
    }


# --- reading ----------------------------------------------------------------------------------------------


def parse(data: bytes, name: str) -> MemoryFile:
    """Return the memory that a file of this ``name`` tells. Raises MemoryFileError."""
    try:
        text = data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as exc:
        raise MemoryFileError(f"byte {exc.start} is not UTF-8: save it as UTF-8") from None
    if has_conflict(text):
        raise MemoryFileError("git left conflict markers in it: choose a side, then run `engram sync`")
    if "\r\n" in text.partition("\n---")[0]:
        text = text.replace("\r\n", "\n")
    begin = text.removeprefix("---\n")
    head, found, body = begin.partition("\n---\n")
    if begin is text or not found:
        return _begun({}, text, name)
    values = _values(head)
    digest = _DIGEST.search(text)
    rest = text[: digest.start()] + text[digest.end() :] if digest else text
    if digest is None or _digest(rest) != digest[1]:
        return _begun(values, body, name)
    title, _, content = body.removeprefix("\n# ").partition("\n\n")
    return replace(_memory(values, title, content[:-1], edited=False), signature=digest[2] or "")


def parse_named(data: bytes, name: str) -> MemoryFile:
    """Do as ``parse``, and give a file that a person began the id it has in every clone. Raises MemoryFileError."""
    file = parse(data, name)
    return file if file.sync_id else replace(file, sync_id=id_of(name))


def id_of(name: str) -> str:
    """Return the id of a memory whose file a person began."""
    return f"obs-{hashlib.sha256(name.encode()).hexdigest()[:16]}"


def _begun(values: Mapping[str, Any], body: str, name: str) -> MemoryFile:
    """Return the memory of a file that a person wrote or changed: a title and a text, wherever blank lines stand."""
    lines = body.strip().split("\n")
    titled = lines[0].startswith("# ")
    title = lines[0][2:].strip() if titled else name.removesuffix(".md").replace("-", " ").strip().capitalize()
    content = "\n".join(lines[1:] if titled else lines).strip()
    if not content and not titled:
        raise MemoryFileError("it has no text: write a title (`# …`) and a text below the front matter")
    return _memory(values, title, content or title, edited=True)


def _memory(values: Mapping[str, Any], title: str, content: str, *, edited: bool) -> MemoryFile:
    sync_id, clock = _line(values, "id"), _line(values, "clock") or ZERO
    if sync_id and not _ID.fullmatch(sync_id):
        raise MemoryFileError(f"id: {sync_id[:40]!r} is no id of a memory; in a new file, remove this line")
    try:
        parse_stamp(clock)
    except ValueError as exc:
        raise MemoryFileError(f"clock: {exc}; restore the line from git") from None
    if (scope := _line(values, "scope")) not in ("", "project", "global"):
        raise MemoryFileError(f"scope: {scope[:40]!r} is neither project nor global; what is personal has no file")
    state = values.get("state", {})
    if not isinstance(state, dict):
        raise MemoryFileError("state: not a JSON object; restore the line from git")
    return MemoryFile(
        sync_id,
        _line(values, "type") or "manual",
        title,
        content,
        clock,
        _line(values, "topic"),
        _line(values, "scope") or "project",
        _list(values, "files"),
        _line(values, "guards"),
        {verb: _list(values, verb) for verb in _SHOWN},
        state,
        edited,
    )


def _values(head: str) -> dict[str, Any]:
    """Return the front matter: ``state`` and ``guards`` are JSON, the rest is YAML. Raises MemoryFileError."""
    import yaml

    state, rest = _state_of(head.split("\n"))
    lines = [line for line in rest if not line.startswith(("state:", "guards:"))]
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        said = yaml.load("\n".join(lines), Loader=loader) or {}  # noqa: S506 (the base loader makes plain texts alone)
    except (yaml.YAMLError, RecursionError) as exc:
        raise MemoryFileError(f"the lines between --- are not YAML ({str(exc).splitlines()[0][:80]})") from None
    if not isinstance(said, dict):
        raise MemoryFileError("the lines between --- are no names with values")
    for line in rest:
        name, _, value = line.partition(":")
        if name in ("state", "guards"):
            read = _json_value(name, value)
            said[name] = read if name == "state" else value.strip()
    return said | ({"state": state} if state else {})


def _state_of(lines: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """Return the columns of the lines below ``state:``, and the other lines. Raises MemoryFileError."""
    if "state:" not in lines:
        return {}, list(lines)
    begin = lines.index("state:") + 1
    end = next((at for at in range(begin, len(lines)) if not lines[at].startswith("  ")), len(lines))
    state: dict[str, Any] = {}
    for line in lines[begin:end]:
        name, _, value = line.strip().partition(": ")
        read = _json_value(name, value)
        if name.endswith("[]"):
            state.setdefault(name[:-2], []).append(read)
        else:
            state[name] = read
    return state, [*lines[: begin - 1], *lines[end:]]


def _json_value(name: str, text: str) -> Any:
    """Raises MemoryFileError."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise MemoryFileError(f"{name}: not JSON; restore the line from git") from None


def _line(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name) or ""
    if not isinstance(value, str):
        raise MemoryFileError(f"{name}: one value is expected")
    return value.strip()


def _list(values: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = values.get(name) or []
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise MemoryFileError(f"{name}: a list of names is expected, as in [a, b]")
    return tuple(one.strip() for one in found if one.strip())


# --- what a file says, as mutations -------------------------------------------------------------------------


def after(clock: str, *, milliseconds: int, steps: int, of: str) -> str:
    """Return the clock of a change that git alone knows of: right after ``clock``, or when it was committed.

    ``steps`` counts the commits of the file, so that of two in one second the later one wins. ``of`` is hexadecimal and
    names the change: every clone comes to the same clock.
    """
    seen = parse_stamp(clock)
    counter = min(seen.counter + steps, 0xFFFF) if milliseconds <= seen.milliseconds else min(steps, 0xFFFF)
    return str(Stamp(max(milliseconds, seen.milliseconds), counter, of[:MOST_DEVICE_CHARS]))


def mutations(file: MemoryFile, project: str, clock: str = "", moment: str = "") -> list[Mutation]:
    """Return the observation that a file tells, and the verdicts on it.

    ``clock`` and ``moment`` (UTC text) are those of a person's edit, where the file is one.
    """
    clock = clock or file.clock
    state = {name: value for name, value in file.state.items() if name != "relations"}
    payload = {name: state.pop(name) for name in _ENGRAM if name in state}
    if moment:
        state = {"created_at": state.get("created_at") or state.get("updated_at") or moment} | state
        state["updated_at"] = moment
        payload["revision_count"] = payload.get("revision_count", 1) + bool(file.state)
    payload |= {"sync_id": file.sync_id, "type": file.type, "title": file.title, "content": file.content}
    payload |= {"scope": file.scope, "topic_key": file.topic or None, "project": project}
    own = state | ({"guards": file.guards} if file.guards else {})
    payload[OWN_BLOCK] = own | {"anchors": _anchors(file, moment), "format": 1}
    if file.signature:
        payload[OWN_BLOCK][SIGNATURE] = file.signature
    found = [Mutation("observation", file.sync_id, "upsert", project, payload, clock)]
    kept = [_relation(file.sync_id, one, project) for one in file.state.get("relations", []) if isinstance(one, dict)]
    return [*found, *kept, *_new_verdicts(file, project, clock, moment)]


def _anchors(file: MemoryFile, moment: str) -> list[dict[str, Any]]:
    known = {_span(one): one for one in file.state.get("anchors", []) if isinstance(one, dict) and "path" in one}
    found: list[dict[str, Any]] = []
    for name in file.files:
        span = _SPAN.fullmatch(name)
        place = {"path": span[1], "start_line": int(span[2]), "end_line": int(span[3])} if span else {"path": name}
        found.append(known.get(name) or {**place, "recorded_at": moment or None})
    return found


def _relation(source: str, said: Mapping[str, Any], project: str) -> Mutation:
    own = {name: said[name] for name in ("created_at", "updated_at", "superseded_at", SIGNATURE) if name in said}
    payload = {name: said.get(name) for name in _RELATION} | {"source_id": source, "project": project, OWN_BLOCK: own}
    return Mutation("relation", str(said.get("sync_id")), "upsert", project, payload, str(said.get("clock")))


def _new_verdicts(file: MemoryFile, project: str, clock: str, moment: str) -> list[Mutation]:
    """Return the verdicts that a person added to the front matter."""
    said = [one for one in file.state.get("relations", []) if isinstance(one, dict)]
    found: list[Mutation] = []
    for verb in _SHOWN:
        for target in sorted(set(file.shown.get(verb, ())) - set(_targets(said, verb))):
            name = hashlib.sha256(f"{file.sync_id} {verb} {target}".encode()).hexdigest()[:16]
            verdict = {"sync_id": f"rel-{name}", "relation": verb, "target_id": target, "judgment_status": "judged"}
            more = {"marked_by_kind": "human", "created_at": moment, "updated_at": moment, "clock": clock}
            found.append(_relation(file.sync_id, verdict | more, project))
    return found


# --- joining two edits --------------------------------------------------------------------------------------


def merge(base: bytes, ours: bytes, theirs: bytes, join: Callable[[str, str, str], str | None]) -> bytes | None:
    """Return the file that two edits of one file make, None where a person has to choose.

    Of two states that machines wrote the later one holds, as between any two machines, with the verdicts of both. What
    a person changed is joined by lines, with ``join`` (base, ours, theirs), which gives None for a conflict.
    """
    try:
        mine, other = parse(ours, ""), parse(theirs, "")
        before = parse(base, "") if base else None
    except MemoryFileError:
        return None
    if mine.sync_id != other.sync_id or not mine.sync_id:
        return None
    if mine.edited or other.edited:
        whole = None if before is None else _joined(before, mine, other, join)
    else:
        whole = max(mine, other, key=lambda one: (_precedence(one), _text(one)))
    if whole is None:
        return None
    verdicts = {str(one.get("sync_id")): one for one in _verdicts(mine, other)}
    relations = sorted(verdicts.values(), key=lambda one: str(one.get("sync_id")))
    state = dict(whole.state) | ({"relations": relations} if relations else {})
    shown = {verb: tuple(sorted({*whole.shown.get(verb, ()), *_targets(relations, verb)})) for verb in _SHOWN}
    text = _text(replace(whole, state=state, shown=shown))
    # Without its digest a text is a person's: no machine wrote what was joined by lines.
    return (_DIGEST.sub("", text, count=1) if whole.edited else text).encode()


def _precedence(file: MemoryFile) -> str:
    named = file.state.get("above")
    return precedence(file.clock, named if isinstance(named, str) else "")


def _verdicts(*files: MemoryFile) -> list[Mapping[str, Any]]:
    """Return the verdicts of all files, of one that both have the later state last."""
    said = [one for file in files for one in file.state.get("relations", []) if isinstance(one, dict)]
    return sorted(said, key=lambda one: str(one.get("clock")))


def _joined(
    base: MemoryFile, ours: MemoryFile, theirs: MemoryFile, join: Callable[[str, str, str], str | None]
) -> MemoryFile | None:
    """Return what two edits make of which a person made one at least, None where both changed the same."""
    content = join(base.content, ours.content, theirs.content)
    if content is None:
        return None
    chosen: dict[str, Any] = {"content": content, "edited": True}
    for name in WRITTEN:
        if name == "content":  # joined line by line
            continue
        mine, other, old = (getattr(one, name) for one in (ours, theirs, base))
        if mine != other and old not in (mine, other):
            return None
        chosen[name] = other if mine == old else mine
    return replace(max(ours, theirs, key=_precedence), **chosen)
