"""Read the goal and the open steps of a session's summary."""

from __future__ import annotations

from collections.abc import Iterator

from engram_py.files import lines_of
from engram_py.observations.values import Observation
from engram_py.sessions.values import SUMMARY_TITLE

MOST_STEPS = 3
GOAL_CHARS = 80

_NAMES = """
next steps|next|next step|open|open items|open points|open questions|todo|to do|remaining|remaining work|left to do
pending|follow up|follow ups|action items|próximos pasos|pendiente|pendientes|nächste schritte|offen|offene punkte
prochaines étapes|reste à faire|próximos passos|prossimi passi|следующие шаги
下一步|下一步计划|待办|次のステップ|다음 단계
"""
_HEADINGS = frozenset(_NAMES.strip().replace("\n", "|").split("|"))
_DECISIONS = frozenset(
    """decisions|decision|key decisions|decisions made|entscheidungen|getroffene entscheidungen|decisiones
décisions|decisões|decisioni|решения|决定|決定|결정""".replace("\n", "|").split("|")
)
_GOALS = frozenset({"goal", "goals", "objetivo", "ziel", "objectif", "obiettivo", "цель", "目标", "目標", "목표"})
_NONE = frozenset(
    """none|none yet|n/a|nothing|no decisions|no|tbd|keine|nichts|ninguna|ninguno|nada|aucune|aucun|rien|nenhuma|nenhum
nessuna|nessuno|niente|нет|无|無|なし|없음""".replace("\n", "|").split("|")
)
_DONE = ("[x]", "[X]", "~~", "✅", "✔", "☑")
_BULLETS = ("-", "*", "+", "•")


def open_steps(summary: str, *, most: int | None = MOST_STEPS) -> tuple[str, ...]:
    """Return the first items under a heading such as ``## Next Steps`` that are not ticked off, each on one line."""
    items = (item for heading, item in _items(summary) if heading in _HEADINGS and not item.startswith(_DONE))
    items = (item for item in items if not _is_none(item))
    return tuple(item.removeprefix("[ ]").strip() for item in items)[:most]


def steps_listed(message: str) -> tuple[str, ...]:
    """Return the open steps that a message lists; unlike a summary it goes on with other things behind the list."""
    return tuple(item.removeprefix("[ ]").strip() for item in _listed(message, _HEADINGS) if not item.startswith(_DONE))


def decisions_listed(message: str) -> tuple[str, ...]:
    """Return the items of a message's lists under headings such as ``## Decisions``."""
    return tuple(_listed(message, _DECISIONS))


def unframed(summary: str) -> tuple[str, str]:
    """Return the headings of a summary, and the rest."""
    parts: tuple[list[str], list[str]] = ([], [])
    for line in lines_of(summary, ends=True):
        parts[not line.lstrip().startswith("#")].append(line)
    return "".join(parts[0]), "".join(parts[1])


def goal(summary: str) -> str:
    """Return the line of a summary that says what the session was for, else its first; cut after a word."""
    first = ""
    for heading, item in _items(summary):
        first = first or item
        if heading in _GOALS:
            first = item
            break
    cut = first[:GOAL_CHARS]
    return first if cut == first else f"{cut.rpartition(' ')[0] or cut}…"


def gist(summary: str) -> str:
    """Return a summary on one line, without its next steps: ``Goal: ship; Accomplished: the parser, the tests``."""
    sections: list[tuple[str, list[str]]] = []
    for heading, item in _items(summary):
        if heading not in _HEADINGS:
            if not sections or sections[-1][0] != heading:
                sections.append((heading, []))
            sections[-1][1].append(item)
    said = [
        f"{heading.capitalize()}: {', '.join(items)}" if heading else " ".join(items) for heading, items in sections
    ]
    return "; ".join([*(one.removesuffix(".") for one in said[:-1]), *said[-1:]])


def _items(summary: str) -> Iterator[tuple[str, str]]:
    """Yield the lines of a summary without their marks, each with the heading it stands under, "" before the first."""
    inside = ""
    for line in lines_of(summary):
        text = line.strip()
        heading, said = _heading(text)
        if heading is not None:
            inside, text = heading, said
        item = " ".join(_unmarked(text).split())
        if item:
            yield inside, item


def _listed(message: str, names: frozenset[str]) -> Iterator[str]:
    """Yield the items of the lists under these headings, and what a heading says in its own line."""
    inside = False
    for line in lines_of(message):
        text = line.strip()
        heading, said = _heading(text)
        item = said if heading is not None else _unmarked(text)
        if heading is not None:
            inside = heading in names
        if inside and item and (heading is not None or item != text):
            yield from () if _is_none(item) else (" ".join(item.split()),)
        elif inside and text and heading is None and not line[0].isspace():
            inside = False  # prose behind the list


def _is_none(item: str) -> bool:
    """Return whether an item says that there is none: ``Decision: none``."""
    return item.strip(" .!-–—()*_").lower() in _NONE


def _unmarked(text: str) -> str:
    """Return an item without its bullet or number; ``2026-01-31`` and ``2 servers`` begin with neither."""
    mark, blank, item = text.partition(" ")
    is_number = mark[-1:] in (".", ")") and mark[:-1].isdigit()
    return item if blank and (mark in _BULLETS or is_number) else text


def _heading(line: str) -> tuple[str | None, str]:
    """Return the section a line opens and what it says in the same line: ``## Next``, ``**Next**: ship``."""
    if line.startswith("#"):
        name, _, said = line.strip("# \t").partition(":")
        return name.strip("* \t").lower(), said.strip()
    if line.startswith(("**", "__")):
        name, closed, said = line[2:].partition(line[:2])
        if closed:
            return name.strip(" :：\t").lower(), said.strip(" :：\t")
    name, colon, said = line.partition(":")
    if colon and name.strip().lower() in _HEADINGS | _GOALS | _DECISIONS:
        return name.strip().lower(), said.strip()
    return None, ""


def goal_of(row: Observation) -> str:
    """Return what a summary was for whose title says no more than the project."""
    if not row.title.startswith(SUMMARY_TITLE):
        return ""
    said = goal(row.content)
    return "" if said.startswith(row.title.removeprefix(SUMMARY_TITLE).rstrip(" .…")) else said
