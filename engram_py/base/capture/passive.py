"""Read what an agent lists: the learnings at the end of its message, and the goal, the decisions and the open steps of
a session's summary.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from engram_py.base.capture.host_formats import without_memory_blocks
from engram_py.base.files import lines_of
from engram_py.base.lazy import regex

TITLE_LIMIT_CHARS = 60

_HEADINGS = """
    key learning|key learnings|learning|learnings|lessons learned|key takeaways|takeaways
    aprendizajes|aprendizajes clave|lecciones aprendidas
    erkenntnisse|wichtige erkenntnisse|wichtigste erkenntnisse|gelerntes|lernpunkte
    apprentissages|apprentissages clés|enseignements|leçons apprises|points clés appris
    aprendizados|aprendizados principais|principais aprendizados|aprendizagens|lições aprendidas
    apprendimenti|apprendimenti chiave|lezioni apprese|cosa ho imparato
    学到的|学到的东西|关键学习|关键经验|经验教训|要点总结|學到的|關鍵學習|經驗教訓
    学び|学んだこと|主な学び|重要な学び|教訓
    выводы|ключевые выводы|уроки|извлечённые уроки|извлеченные уроки
"""
_NAMES = frozenset(name.strip() for line in _HEADINGS.split("\n") for name in line.split("|") if name.strip())

# Of each place only one way to match: an expression that also took the closing marks was cubic in the blanks.
_HEADING = regex(r"^ {0,3}(#{1,6})[ \t]+(.*)$")
_BOLD_LINE = regex(r"^ {0,3}(\*\*|__)(?P<name>[^*_\n]{1,80})\1[ \t]*[:：]?[ \t]*$")
_FENCE = regex(r"^ {0,3}(`{3,}|~{3,})")
_NUMBERED = regex(r"^ {0,3}\d{1,3}[.)、．][ \t]*(?=\S)(.*)$")
_BULLET = regex(r"^ {0,3}[-*+•][ \t]+(?=\S)(.*)$")
_NESTED = regex(r"^\s{2,}(?:[-*+•]|\d{1,3}[.)])[ \t]+")
_RULE = regex(r"^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$")
_EMPHASIS = regex(r"\*\*|__|`|(?<![\w*])\*(?=\S)|(?<=\S)\*(?![\w*])|(?<!\w)_(?=\S)|(?<=\S)_(?!\w)")
# An item that is to be done.
_TODO = regex(r"(?i)(?:\[ \]|to-?do\b|fixme\b|next(?: steps?)?:|follow[- ]?up:|still open:)[\s:]*")
_CJK = regex(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")


def parse_learnings(text: str) -> list[str]:
    """Return the items of the last section of learnings that has any; without such a section, none.

    A section is a heading such as ``## Key Learnings`` or ``**Erkenntnisse:**`` and the list below it, numbered
    or else bulleted. An item is kept when it says something: 20 bytes and 4 words, or 8 characters of CJK. What stands
    in a memory block was learned before, and what is to be done is not learned.
    """
    for lines in reversed(list(_sections(without_memory_blocks(text)))):
        items = [item for item in _items(lines, _NUMBERED) or _items(lines, _BULLET) if not _TODO.match(item)]
        if items:
            return items
    return []


def todos_listed(text: str) -> list[str]:
    """Return what sections of learnings list as to be done."""
    sections = [_items(lines, _NUMBERED) or _items(lines, _BULLET) for lines in _sections(without_memory_blocks(text))]
    return [_TODO.sub("", item) for items in sections for item in items if _TODO.match(item)]


def learning_title(text: str) -> str:
    """Return the first 60 characters of ``text``, cut after a word, and ``...`` when that is not all of it."""
    text = " ".join(text.split())
    if len(text) <= TITLE_LIMIT_CHARS:
        return text
    cut = text.rfind(" ", TITLE_LIMIT_CHARS // 2, TITLE_LIMIT_CHARS + 1)
    return text[: cut if cut > 0 else TITLE_LIMIT_CHARS].rstrip(" ,;:") + "..."


def _sections(text: str) -> Iterator[list[str]]:
    """Yield the lines below each heading of learnings, without fenced code."""
    section: list[str] | None = None
    level = 0
    for line in _outside_fences(text):
        heading = _HEADING.match(line)
        bold = None if heading else _BOLD_LINE.match(line)
        name = heading[2] if heading and len(heading[1]) <= 4 else bold["name"] if bold else ""
        if line.strip(" \t#*_:：").lower() in OPEN_STEPS:
            if section is not None:
                yield section
            section = None
        elif name.strip(" \t*_:：#").lower() in _NAMES:
            if section is not None:
                yield section
            section, level = [], len(heading[1]) if heading else 4
        elif section is not None:
            if (heading and len(heading[1]) <= max(level, 3)) or (bold and level == 4):
                yield section
                section = None
            else:
                section.append("" if heading else line)
    if section is not None:
        yield section


def _outside_fences(text: str) -> Iterator[str]:
    fence = ""
    for line in lines_of(text):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence):
                fence = ""
        elif mark:
            fence = mark[1]
            yield ""
        else:
            yield line


def _items(lines: list[str], start: re.Pattern[str]) -> list[str]:
    """Return the list items that ``start`` recognises, with the lines that continue each."""
    items: list[str] = []
    other = _BULLET if start is _NUMBERED else _NUMBERED
    open_item = after_blank = False
    for line in lines:
        if match := start.match(line):
            if not _RULE.match(line):
                items.append(match[1])
            open_item, after_blank = not _RULE.match(line), False
        elif not line.strip():
            after_blank = True
        elif open_item and (line[0] in " \t" or not (after_blank or other.match(line))):
            items[-1] += " " + _NESTED.sub("", line).strip()
            after_blank = False
        else:
            open_item = False
    plain = (" ".join(_EMPHASIS.sub("", item).split()) for item in items)
    return [item for item in plain if _says_something(item)]


def _says_something(item: str) -> bool:
    if len(_CJK.findall(item)) >= 8:
        return True
    return len(item.encode("utf-8", "replace")) >= 20 and len(item.split()) >= 4


MOST_STEPS = 3
GOAL_CHARS = 80

_STEP_NAMES = """
next steps|next|next step|open|open items|open points|open questions|todo|todos|to-do|to-dos|to do|remaining
remaining work|left to do|pending|follow up|follow ups|follow-up|follow-ups|followup|followups|action items
próximos pasos|pendiente|pendientes|nächste schritte|offen|offene punkte
prochaines étapes|reste à faire|próximos passos|prossimi passi|следующие шаги
下一步|下一步计划|待办|次のステップ|다음 단계
"""
OPEN_STEPS = frozenset(_STEP_NAMES.strip().replace("\n", "|").split("|"))
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
    items = (item for heading, item in _summary_items(summary) if heading in OPEN_STEPS and not item.startswith(_DONE))
    items = (item for item in items if not _is_none(item))
    return tuple(item.removeprefix("[ ]").strip() for item in items)[:most]


def steps_listed(message: str) -> tuple[str, ...]:
    """Return the open steps that a message lists; unlike a summary it goes on with other things behind the list."""
    return tuple(
        item.removeprefix("[ ]").strip() for item in _listed(message, OPEN_STEPS) if not item.startswith(_DONE)
    )


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
    for heading, item in _summary_items(summary):
        first = first or item
        if heading in _GOALS:
            first = item
            break
    cut = first[:GOAL_CHARS]
    return first if cut == first else f"{cut.rpartition(' ')[0] or cut}…"


def gist(summary: str) -> str:
    """Return a summary on one line, without its next steps: ``Goal: ship; Accomplished: the parser, the tests``."""
    sections: list[tuple[str, list[str]]] = []
    for heading, item in _summary_items(summary):
        if heading not in OPEN_STEPS:
            if not sections or sections[-1][0] != heading:
                sections.append((heading, []))
            sections[-1][1].append(item)
    said = [
        f"{heading.capitalize()}: {', '.join(items)}" if heading else " ".join(items) for heading, items in sections
    ]
    return "; ".join([*(one.removesuffix(".") for one in said[:-1]), *said[-1:]])


def _summary_items(summary: str) -> Iterator[tuple[str, str]]:
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
    """Return whether an item says "none": ``Decision: none``."""
    return item.strip(" .!-–—()*_").lower() in _NONE


def _unmarked(text: str) -> str:
    """Return an item without its bullet or number; ``2026-01-31`` and ``2 servers`` begin with neither."""
    mark, blank, item = text.partition(" ")
    is_number = mark[-1:] in (".", ")") and mark[:-1].isdigit()
    return item if blank and (mark in _BULLETS or is_number) else text


def _heading(line: str) -> tuple[str | None, str]:
    """Return the section that a line opens, and the text after it on the same line: ``## Next``, ``**Next**: ship``."""
    if line.startswith("#"):
        name, _, said = line.strip("# \t").partition(":")
        return name.strip("* \t").lower(), said.strip()
    if line.startswith(("**", "__")):
        name, closed, said = line[2:].partition(line[:2])
        if closed:
            return name.strip(" :：\t").lower(), said.strip(" :：\t")
    name, colon, said = line.partition(":")
    if colon and name.strip().lower() in OPEN_STEPS | _GOALS | _DECISIONS:
        return name.strip().lower(), said.strip()
    return None, ""
