"""The words of observations, one by one or several at once, of entities and of the person."""

from __future__ import annotations

from datetime import datetime
from itertools import takewhile

from engram_py.interfaces.wording.phrases import (
    SpelledWords,
    Words,
    age,
    amount,
    anchors,
    beyond_project,
    clock,
    filled,
    joined,
    plain_line,
    whence,
)
from engram_py.interfaces.wording.reasons import Door, call
from engram_py.interfaces.wording.relations import relation
from engram_py.memory.entities.values import (
    Counted,
    Edge,
    EntityChanged,
    EntityDetail,
    EntityLine,
    EntityList,
    Graph,
    Linked,
    Reached,
    Rewritten,
)
from engram_py.memory.identity.table import Profile, Statement
from engram_py.memory.observations.listing import (
    BulkDone,
    Fact,
    HandEditLine,
    Made,
    Note,
    ObservationLine,
    ReviewLine,
    Selection,
    Stats,
    Suggestion,
    UntakenLine,
)
from engram_py.memory.observations.values import (
    MOST_COUNTED,
    Changed,
    Detail,
    Neighbour,
    Saved,
    Timeline,
)

_MOST_PROJECTS, _MOST_TYPES = 8, 10
_SIDE_CHARS = 400
_DAY, _MINUTE = "%Y-%m-%d", "%H:%M"


def _saved(value: Saved, now: datetime, door: Door) -> str:
    verb = {"updated": f"Revised (revision {value.revision_count})", "duplicate": "Already known"}
    verb["deduped"] = f"Already known ({value.likeness or 1:.0%} same words)"
    kind = f"fact about {value.about}" if value.about else value.type
    lines = [f'{verb.get(value.outcome, "Saved")} [#{value.id}] "{value.title}" ({kind}) in {value.project}']
    if value.scope != "project":
        lines[0] += f", {value.scope}"
    lines += [f"It replaces [#{note.id}] {note.title}" for note in value.replaced]
    topic = call(door, "topic", key=value.suggested_topic_key)
    if value.topic_holder is not None:
        lines.append(f"Similar: [#{value.topic_holder}]. To revise that one instead, save with {topic}.")
    elif value.suggested_topic_key:
        lines.append(f"To revise it later, save with {topic}.")
    if value.candidates:
        verdict = call(door, "verdict", id=value.candidates[0].judgment_id)
        lines += [f'Is this instead of [#{one.id}] "{one.title}"? Answer with {verdict}.' for one in value.candidates]
    return "\n".join(lines)


def _change(value: Changed, now: datetime, door: Door) -> str:
    whom = f'[#{value.id}] "{value.title}"'
    match value.outcome:
        case "updated":
            return f"Updated {whom} in {value.project}: {', '.join(value.changed)} (revision {value.revision_count})"
        case "unchanged":
            return f"No change to {whom}: it has these values already"
        case "reviewed":
            due = f"next review {clock(value.review_after, now, _DAY)}" if value.review_after else ""
            return f"Reviewed {whom}; {due or 'no date for a next one'}"
        case "deleted":
            return f"Deleted {whom}; it is hidden. {call(door, 'destroy')} destroys it"
        case "destroyed":
            orphans = value.relations_orphaned
            remain = f"{amount(orphans, 'relation')} to it {'remains' if orphans == 1 else 'remain'} without a target"
            rest = f"; {remain}" if orphans else ""
            return f"Destroyed {whom} and its versions; this cannot be undone{rest}"
        case "restored":
            return f"Restored {whom} in {value.project}"
        case "unaccepted":
            return f"No longer accepted: {whom}"
        case "pinned" | "unpinned" | "accepted":
            return f"{value.outcome.capitalize()} {whom}"


# What the JSON of each outcome holds; of an update everything but what belongs to another outcome.
_DELETED = ("id", "sync_id", "title", "hard", "relations_orphaned")
_ACCEPTED, _PINNED = ("id", "title", "origin", "before", "arrival"), ("id", "pinned", "title")
_UPDATED = (
    *("outcome", "id", "sync_id", "title", "type", "scope", "topic_key", "project", "revision_count", "changed"),
    *("truncation", "redacted", "warnings"),
)
_FIELDS: dict[str, tuple[str, ...]] = {
    "deleted": _DELETED,
    "destroyed": _DELETED,
    "accepted": _ACCEPTED,
    "unaccepted": _ACCEPTED,
    "pinned": _PINNED,
    "unpinned": _PINNED,
    "reviewed": ("id", "title", "review_after"),
    "restored": ("id", "title", "project"),
}


def changed_values(value: Changed) -> dict[str, object]:
    """Return what a program is told of a change."""
    return {name: getattr(value, name) for name in _FIELDS.get(value.outcome, _UPDATED)}


def _history(value: Detail, now: datetime) -> list[str]:
    """Return the earlier texts and supersessions as one line of events, newest first."""
    events = []
    for one in value.versions:
        about = filled((f"of {clock(one.created_at, now)}", *whence(one.unchecked)))
        events.append((one.created_at, f"--- version {one.version}, {about}: {one.title}", one.content))
    for step in value.line:
        why = f": {step.reason}" if step.reason else ""
        replaced = f"[#{step.newer}] {step.newer_title} replaced [#{step.older}] {step.older_title}"
        older = step.older_content if step.older != value.observation.id else ""
        events.append((step.at, f"--- {clock(step.at, now)}: {replaced}{why}", older))
    events.sort(key=lambda event: event[0], reverse=True)
    return [line for _, head, body in events for line in ("", head, *([body] if body else []))]


def _detail(value: Detail, now: datetime, door: Door) -> str:
    row = value.observation
    marks = (
        row.type,
        row.project,
        f"{clock(row.updated_at, now)}, {age(row.updated_at, now)}",
        beyond_project(row.scope),
        "pinned" if row.pinned else "",
        f"revision {row.revision_count}" if row.revision_count > 1 else "",
        "NEEDS REVIEW" if value.state == "needs_review" else "",
        *whence(row.unchecked, row.author),
    )
    lines = [f"[#{row.id}] {row.title}", f"({filled(marks, ' · ')})"]
    facts = {"topic": row.topic_key, "aliases": row.aliases, "branch": row.git_branch, "session": row.session_id}
    lines.append(" ".join(f"{name}: {fact}" for name, fact in facts.items() if fact))
    if value.anchors:
        lines.append(f"files: {anchors(value.anchors)}")
    lines += [relation(note) for note in value.relations]
    lines += ["", row.content]
    if value.version_total and not value.versions:
        lines += [
            "",
            f"{amount(value.version_total, 'earlier version')}; {call(door, 'history', id=row.id)} shows all.",
        ]
    lines += _history(value, now)
    if value.next_cursor is not None:
        lines += ["", f"older versions: {call(door, 'older', id=row.id, cursor=value.next_cursor)}"]
    return "\n".join(lines)


def _timeline(value: Timeline, now: datetime) -> str:
    focus = value.focus
    head = f"Session {value.session_id} ({clock(value.session_started_at, now)})"
    head += f", {amount(value.total_in_session, 'observation')}"
    lines = [head, *(_neighbour(row, now) for row in value.before)]
    kind = filled((focus.type, *whence(focus.unchecked, focus.author)))
    lines += [f">>> [#{focus.id}] [{kind}] {focus.title} <<<", focus.content]
    return "\n".join([*lines, *(_neighbour(row, now) for row in value.after)])


def _neighbour(row: Neighbour, now: datetime) -> str:
    kind = filled((row.type, *whence(row.unchecked)))
    return f"[#{row.id}] {clock(row.created_at, now, _MINUTE)} [{kind}] {row.title}"


def _line(value: ObservationLine, now: datetime) -> str:
    deleted = f"deleted {age(value.deleted_at, now)}" if value.deleted_at else ""
    pinned = "pinned" if value.pinned else ""
    about = (value.type, age(value.updated_at, now), value.project, beyond_project(value.scope), pinned, deleted)
    return f"[#{value.id}] {value.title} ({filled((*about, *whence(value.unchecked, value.author)))})"


def _suggestion(value: Suggestion, now: datetime) -> str:
    if value.existing_id is None:
        return value.topic_key
    return (
        f'{value.topic_key} (topic of [#{value.existing_id}] "{value.existing_title}"; saving to it revises that one)'
    )


def reached(value: Selection) -> str:
    """Return the counts of a selection: ``14 observations, 2 prompts and 1 session``."""
    counts = {"observation": value.ids, "prompt": value.prompts, "session": value.sessions}
    return joined([amount(len(rows), thing) for thing, rows in counts.items() if rows or thing == "observation"])


def _selection(value: Selection, now: datetime) -> str:
    about = [f"{count} {name}" for name, count in value.types.items()]
    about += [f"{value.pinned} pinned"] if value.pinned else []
    head = f"{value.what}: {reached(value)}" + (f" ({', '.join(about)})" if about else "")
    lines = [head, *(f"  [#{row_id}] {title}" for row_id, title in value.titles)]
    more = len(value.ids) - len(value.titles)
    lines += [f"  and {more} more"] if more else []
    if value.prompts or value.sessions:
        lines.append("  Prompts and the summaries and raw messages of sessions are removed for good.")
    return "\n".join(lines)


def _done(value: BulkDone, now: datetime, door: Door) -> str:
    if not (value.ids or value.prompts or value.sessions):
        return f"Nothing to change in {value.what}."
    line = f"{value.action.capitalize()} {amount(len(value.ids), 'observation')} of {value.what}"
    line += f", {amount(value.prompts, 'prompt')}" if value.prompts else ""
    line += f", {amount(value.sessions, 'session')}" if value.sessions else ""
    line += f"; {value.unchanged} needed no change" if value.unchanged else ""
    if value.action == "deleted" and value.ids:
        line += f". {call(door, 'deleted')} lists them, {call(door, 'undelete', id='ID')} brings one back"
    return f"{line}."


def _stats(value: Stats, now: datetime) -> str:
    kinds = ("observation", "session", "prompt", "relation")
    hidden = len(value.projects) - _MOST_PROJECTS
    types = ", ".join(f"{name} {count}" for name, count in list(value.types.items())[:_MOST_TYPES])
    facts = amount(value.facts_since_synthesis, "new fact")
    changes = value.queued_mutations
    queued = amount(changes, "change") if changes <= MOST_COUNTED else f"more than {MOST_COUNTED:,} changes"
    projects = ", ".join(value.projects[:_MOST_PROJECTS]) + (f" +{hidden} more" if hidden > 0 else "")
    return "\n".join(
        [
            ", ".join(amount(getattr(value, f"total_{kind}s"), kind) for kind in kinds),
            f"{amount(value.versions, 'earlier version')}, {amount(value.deleted_observations, 'deleted observation')}"
            + (f", {queued} kept for sync" if value.syncs else ""),
            f"types: {types or 'none'}; {facts} since summaries were last written",
            f"projects: {projects or 'none'}",
            f"{value.database_path}: {value.database_bytes / 1024:,.0f} KB",
        ]
    )


def _entity_line(value: EntityLine, now: datetime) -> str:
    about = (
        value.kind or "",
        amount(value.facts, "fact") if value.facts else "",
        amount(value.mentions, "mention") if value.mentions else "",
        value.state if value.state != "active" else "",
        age(value.last_updated, now) if value.last_updated else "",
    )
    name = f" {value.name}" if value.name != value.slug else ""
    aliases = f", also {', '.join(value.aliases)}" if value.aliases else ""
    return f"{value.slug}{name}{aliases} ({filled(about)})"


def _list(value: EntityList, now: datetime) -> str:
    if not value.entities:
        return "No entities"
    archived = [_entity_line(one, now) for one in value.entities if one.state == "archived"]
    lines = [_entity_line(one, now) for one in value.entities if one.state != "archived"]
    lines += ["Archived:", *archived] if archived else []
    if value.without_summary:
        lines.append(f"{value.without_summary} of {amount(len(value.entities), 'entity')} without a summary")
    return "\n".join(lines)


def _edge(value: Edge, now: datetime) -> str:
    return f"{value.subject} {value.predicate} {value.object} [#{value.fact}]"


def _entity_detail(value: EntityDetail, now: datetime) -> str:
    fact = WORDS[Fact]
    lines = [_entity_line(value.entity, now)]
    lines += [f"[#{value.entity.id}]", value.summary] if value.summary else []
    lines += ["", "Facts:", *(fact(one, now) for one in value.facts)] if value.facts else []
    lines += ["", "Edges:", *(_edge(one, now) for one in value.edges)] if value.edges else []
    said = (f"[#{one.id}] {one.title} ({one.type}, {age(one.created_at, now)})" for one in value.mentioned)
    lines += ["", "Mentioned in:", *said] if value.mentioned else []
    return "\n".join(lines)


def _reached(value: Reached, now: datetime) -> str:
    path = "; ".join(f"{one.subject} {one.predicate} {one.object}" for one in value.path)
    return f"{value.depth} {value.slug}: {path}"


def _graph(value: Graph, now: datetime) -> str:
    head = f"From {value.slug}, depth {value.depth}:" if value.reached else f"{value.slug} has no edges"
    return "\n".join((head, *(_reached(one, now) for one in value.reached)))


def _changed(value: EntityChanged, now: datetime) -> str:
    names = ", ".join(value.aliases) or "no other name"
    said = {
        "aliases": f"{value.slug} is also called {names}",
        "merged": f"Merged {value.merged} into {value.slug}, also called {names}",
        "archived": f"Archived {value.slug}",
        "restored": f"Restored {value.slug}",
    }
    return f"{said.get(value.done, f'No change to {value.slug}')} [#{value.id}]"


def _rewritten(value: Rewritten, now: datetime) -> str:
    did = f"{value.written} rewritten, {amount(value.superseded, 'fact')} superseded, {value.shortened} shortened"
    return f"{amount(value.entities, 'entity')}: {did}{'' if value.done else '; some entities are left'}"


def _statement(value: Statement, now: datetime) -> str:
    where = f", only in {value.project}" if value.scope == "project" else ""
    learned = ", derived" if value.origin == "derived" else ""
    return f"[#{value.id}] {value.text} ({age(value.said_at, now)}{where}{learned})"


def _said_of(value: Fact, now: datetime) -> list[str]:
    source = " ".join(
        filter(None, ["from" if value.source or value.source_ref else "", value.source, value.source_ref])
    )
    said = (age(value.said_at, now), "replaced" if value.past else "", value.category, source)
    return [one for one in said if one]


def _profile(value: Profile, now: datetime, door: Door) -> str:
    if value.id is None:
        if value.scope == "project":
            return f"No profile of the user in {value.project or 'no project'}; {call(door, 'profile')} writes one."
        return (
            f"No profile of the user yet; {call(door, 'profile')} writes one. Upkeep also writes one, from known facts."
        )
    where = f"in {value.project}, " if value.scope == "project" else ""
    return f"[#{value.id}] ({where}{value.origin}, {age(value.written_at, now)})\n{value.text}"


def _due(value: ReviewLine, now: datetime) -> str:
    return f"due {clock(value.review_after, now, _DAY)}" if value.review_after else "did more harm than good"


def _untaken(value: UntakenLine, now: datetime, door: Door) -> str:
    text, other = (value.title, *value.text.split("\n")), (value.other_title, *value.other.split("\n"))
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(text, other, strict=False)))
    taken, left = (plain_line(" ".join(lines[same:]), _SIDE_CHARS) for lines in (text, other))
    sides = f"  taken: {taken}\n  other: {left}\n"
    if value.unchecked and door == "mcp":  # an agent is not given what a stranger wrote
        sides = "  one of the texts is from elsewhere and not checked: `engram review` shows both to a person\n"
    step = f"`engram review {value.id}` keeps it, `engram revert {value.id} --version {value.version}` takes the other"
    about = f"{value.type}, {value.project}, two edits that did not know of each other"
    return f"[#{value.id}] {value.title} ({about})\n{sides}  {step}"


def _made(value: Made, now: datetime) -> str:
    rest = value.count - len(value.named)
    whom = joined([*value.named, *([f"{rest:,} more"] if rest > 0 else [])])
    of = {"verdict": f"verdict that {whom}", "merge": f"merge of {value.before} into {value.after}"}
    said = f"the {of.get(value.kind, f'{value.kind} of {whom}')}"
    if value.before and value.kind != "merge":
        said += f" from {value.before} to {value.after}"
    when = age(value.made_at, now)
    ago = "just now" if when == "now" else f"{when} ago"
    return f"Took back {said}, made {ago}." if value.undone else (f"{value.change} {said} ({when})")


WORDS: Words = {
    Fact: lambda value, now: f"[#{value.id}] {value.text} ({', '.join(_said_of(value, now))})",
    Note: lambda value, now: f"[#{value.id}] {clock(value.said_at, now, _MINUTE)} {value.text}",
    Timeline: _timeline,
    ReviewLine: lambda value, now: f"[#{value.id}] {value.title} ({value.type}, {value.project}, {_due(value, now)})",
    HandEditLine: lambda value, now: (
        f"[#{value.id}] {value.title} ({value.type}, {value.project}): somebody edited {value.file}; "
        "`engram sync --mine` if you did"
    ),
    ObservationLine: _line,
    Suggestion: _suggestion,
    Selection: _selection,
    Stats: _stats,
    EntityLine: _entity_line,
    EntityList: _list,
    EntityDetail: _entity_detail,
    Edge: _edge,
    Reached: _reached,
    Graph: _graph,
    Linked: lambda value, now: (
        f"{'Already known' if value.outcome == 'duplicate' else 'Linked'}: {_edge(value.edge, now)} {value.edge.said}"
    ),
    EntityChanged: _changed,
    Counted: lambda value, now: (
        f"Read {amount(value.rows, 'row')}: {amount(value.mentions, 'mention')}, "
        f"{amount(value.promoted, 'name')} became {'an entity' if value.promoted == 1 else 'entities'}"
        f"{'' if value.done else '; some rows are left'}"
    ),
    Rewritten: _rewritten,
    Statement: _statement,
    Made: _made,
}


SPELLED: SpelledWords = {
    Saved: _saved,
    Detail: _detail,
    Changed: _change,
    BulkDone: _done,
    Profile: _profile,
    UntakenLine: _untaken,
}
