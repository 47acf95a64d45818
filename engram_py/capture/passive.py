"""Reads the learnings an agent listed at the end of its message."""

from __future__ import annotations

import re
from collections.abc import Iterator

from engram_py.capture.host_formats import without_memory_blocks
from engram_py.files import lines_of
from engram_py.lazy import regex

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
# What is to be done: an item of that kind, and the heading of a list of them.
_TODO = regex(r"(?i)(?:\[ \]|to-?do\b|fixme\b|next(?: steps?)?:|follow[- ]?up:|still open:)[\s:]*")
_STEPS = regex(
    r"(?i)[\s#*_]*(?:next(?: steps?)?|to-?dos?|open (?:points|questions|items)|follow[- ]?ups?|action items)[\s*_:]*"
)
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
        if _STEPS.fullmatch(line):
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
