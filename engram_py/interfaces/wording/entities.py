"""The words of entities: a list, one with what is known of it, its edges, and what was done."""

from __future__ import annotations

from datetime import datetime

from engram_py.entities.values import (
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
from engram_py.interfaces.wording.observations import WORDS as OBSERVATIONS
from engram_py.interfaces.wording.phrases import Words, age, amount, filled
from engram_py.observations.listing import Fact


def _line(value: EntityLine, now: datetime) -> str:
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
    lines = [_line(one, now) for one in value.entities]
    if value.without_summary:
        lines.append(f"{value.without_summary} of {len(value.entities)} without a summary")
    return "\n".join(lines)


def _edge(value: Edge, now: datetime) -> str:
    return f"{value.subject} {value.predicate} {value.object} [#{value.fact}]"


def _detail(value: EntityDetail, now: datetime) -> str:
    fact = OBSERVATIONS[Fact]
    lines = [_line(value.entity, now)]
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
    head = f"From {value.slug}, depth {value.depth}:" if value.reached else f"No edge at {value.slug}"
    return "\n".join((head, *(_reached(one, now) for one in value.reached)))


def _changed(value: EntityChanged, now: datetime) -> str:
    names = ", ".join(value.aliases) or "no other name"
    said = {
        "aliases": f"{value.slug} is also called {names}",
        "merged": f"{value.merged} is {value.slug} now, also called {names}",
        "archived": f"Archived {value.slug}",
        "restored": f"Restored {value.slug}",
    }
    return f"{said.get(value.done, f'Unchanged: {value.slug}')} [#{value.id}]"


def _rewritten(value: Rewritten, now: datetime) -> str:
    did = f"{value.written} rewritten, {value.superseded} facts superseded, {value.shortened} shortened"
    return f"{value.entities} entities: {did}{'' if value.done else '; more are left'}"


WORDS: Words = {
    EntityLine: _line,
    EntityList: _list,
    EntityDetail: _detail,
    Edge: _edge,
    Reached: _reached,
    Graph: _graph,
    Linked: lambda value, now: (
        f"{'Already known' if value.outcome == 'duplicate' else 'Linked'}: {_edge(value.edge, now)} {value.edge.said}"
    ),
    EntityChanged: _changed,
    Counted: lambda value, now: (
        f"Read {value.rows}: {amount(value.mentions, 'mention')}, {value.promoted} promoted"
        f"{'' if value.done else '; more is left to read'}"
    ),
    Rewritten: _rewritten,
}
