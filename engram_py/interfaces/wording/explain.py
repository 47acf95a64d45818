"""How a search went, as tables of text: ``engram search --explain`` prints them with or without a terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from engram_py.dataclass import dataclass
from engram_py.interfaces.wording.search import match_count, nothing, plain_line
from engram_py.recall.values import Explain, Numbers, Results

_TITLE_CHARS, _WHY_CHARS, _WORD_CHARS = 60, 160, 40
_FIGURES = ("score", "own words", "lent", "close", "session", "tells", "answers", "recency", "found", "rows", "idf")


@dataclass(frozen=True, slots=True)
class Section:
    """A table with a heading, and a line that says how to read it. The last column is the wide one."""

    title: str
    legend: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def figures(self) -> tuple[bool, ...]:
        """Which columns hold numbers."""
        return tuple(name in _FIGURES for name in self.columns)


def sections(value: Results) -> list[Section]:
    """Return the hits with their numbers, the steps of the search, the words of the query; empty ones are left out."""
    if value.explain is None:
        return []
    explain = value.explain
    found = [_hits(value, explain.hits), _steps(explain), _words(explain)]
    return [section for section in found if section.rows]


def head(value: Results) -> list[str]:
    """Return what was found, in a line, or why there is nothing."""
    return [f"{match_count(value)}."] if value.results else nothing(value)


def foot(explain: Explain) -> str:
    """Return what held for the whole search: what is asked of an answer, the filters, the time."""
    parts = [f"An answer needs a probability of {explain.floor:.0%}"]
    if explain.below_floor:
        parts.append(f"{explain.below_floor:,} below that were held back")
    if explain.filters:
        parts.append(f"filters: {', '.join(plain_line(one, _WORD_CHARS) for one in explain.filters)}")
    return f"{'; '.join(parts)}. It took {explain.seconds * 1000:.1f} ms."


def text(value: Results) -> str:
    """Return all of it as aligned plain text."""
    lines = head(value)
    for section in sections(value):
        lines += ["", f"{section.title}: {section.legend}", *_aligned(section)]
    if value.explain is not None:
        lines += ["", foot(value.explain)]
    return "\n".join(lines)


def _hits(value: Results, numbers: Sequence[Numbers]) -> Section:
    titles = {hit.id: hit.title for hit in value.results}
    rows = tuple(
        (
            f"#{one.id}",
            f"{one.score:.2f}",
            f"{one.bm25:.2f}",
            f"{one.lent:.2f}",
            f"{one.closeness:.2f}",
            f"{one.session:.2f}",
            f"{one.passage:.0%}",
            f"{one.probability:.0%}",
            f"{one.recency:.3f}",
            _factors(one),
            plain_line(titles.get(one.id, "(left out by a filter)"), _TITLE_CHARS),
        )
        for one in numbers
    )
    legend = "score = (own words + neighbours' words + closeness of the words + share of the session's best) x factors."
    legend += " tells = how much of the question its best passage holds; answers = how likely it answers."
    legend += " recency = 1 now, half of it after each half-life."
    columns = (
        "hit",
        "score",
        "own words",
        "lent",
        "close",
        "session",
        "tells",
        "answers",
        "recency",
        "factors",
        "title",
    )
    return Section("Hits", legend, columns, rows)


def _factors(one: Numbers) -> str:
    if not one.factors:
        return "none" if one.relevance else "named, not ranked"
    return ", ".join(f"{name} {factor:.2f}" for name, factor in one.factors.items())


def _steps(explain: Explain) -> Section:
    rows = tuple((rung.name, str(rung.found), plain_line(rung.why, _WHY_CHARS)) for rung in explain.rungs)
    return Section("Steps", "in the order they ran; found = rows the step added.", ("step", "found", "why"), rows)


def _words(explain: Explain) -> Section:
    rows = tuple(
        (plain_line(note.word, _WORD_CHARS), f"{note.rows:,}", f"{note.idf:.2f}", plain_line(note.use, _WHY_CHARS))
        for note in explain.words
    )
    legend = "rows = how many memories hold it; idf = how much it tells, more when it is rare."
    return Section("Words", legend, ("word", "rows", "idf", "use"), rows)


def _aligned(section: Section) -> list[str]:
    rows = [section.columns, *section.rows]
    widths = [max(_width(row[number]) for row in rows) for number in range(len(section.columns))]
    return ["  " + "  ".join(_padded(row, widths, section.figures)).rstrip() for row in rows]


def _padded(row: Sequence[str], widths: Sequence[int], figures: Sequence[bool]) -> list[str]:
    return [
        " " * (width - _width(cell)) + cell if figure else cell + " " * (width - _width(cell))
        for cell, width, figure in zip(row, widths, figures, strict=True)
    ]


def _width(words: str) -> int:
    """Return the columns that a terminal gives ``words``."""
    return sum(
        0
        if unicodedata.category(char) in ("Mn", "Me", "Cf")
        else 2
        if unicodedata.east_asian_width(char) in "WF"
        else 1
        for char in words
    )
