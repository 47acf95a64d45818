"""The words of what was said and found again, of all layers together, and of conversations taken over."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from engram_py.distill.ingesting import Ingested
from engram_py.interfaces.wording import documents, search
from engram_py.interfaces.wording.phrases import Words, age, amount
from engram_py.recall.layers import Layered, SaidResults
from engram_py.recall.values import DocumentResults, Results
from engram_py.sessions.agents import AgentLine
from engram_py.sessions.values import Said

_KINDS = {"turns": "turn", "prompts": "prompt"}
_QUERY_CHARS = 200


def _said_results(value: SaidResults, now: datetime) -> str:
    kind = _KINDS[value.layer]
    where = "all projects" if value.projects is None else ", ".join(value.projects)
    if not value.results:
        query = search.plain_line(value.query, _QUERY_CHARS)
        return f'No {kind} has "{query}" in {where} ({amount(value.kept or 0, kind)} kept there).'
    head = f"{amount(len(value.results), kind)} of {where}, best first:"
    return "\n".join([head, *(line for one in value.results for line in _said(one, now))])


def _said(one: Said, now: datetime) -> Iterator[str]:
    who = f"{one.role} ({one.agent})" if one.agent else one.role
    yield f"{one.session_id} {who}, {one.said_at[:10]} ({age(one.said_at, now)}):"
    yield f"  {one.content}"


def _layered(value: Layered, now: datetime) -> str:
    parts = []
    for name, found in value.layers.items():
        said = search.results(found, now=now) if isinstance(found, Results) else _OTHERS[type(found)](found, now)
        parts.append(f"## {name.capitalize()}\n{said}")
    return "\n\n".join(parts)


def _ingested(value: Ingested, now: datetime) -> str:
    handle = f" [#{value.episode_id}]" if value.episode_id is not None else ""
    turns = amount(value.turns_ingested, "turn")
    return f"{turns} of {value.session_id} kept in {value.project}: {value.distillation}{handle}"


def _agent(one: AgentLine, now: datetime) -> str:
    counts = [amount(one.sessions, "session"), amount(one.memories, "memory").replace("memorys", "memories")]
    counts += [amount(one.facts, "fact"), amount(one.episodes, "episode"), amount(one.turns, "turn")]
    return f"{one.id or '(no name)'} {age(one.last_active_at, now)}: {', '.join(counts)}"


_OTHERS: Words = {SaidResults: _said_results, DocumentResults: documents.WORDS[DocumentResults]}
WORDS: Words = {SaidResults: _said_results, Layered: _layered, Ingested: _ingested, AgentLine: _agent}
