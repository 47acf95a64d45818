"""The words of what a search found, of why it found nothing, and of how it went: ``engram search --explain`` prints
tables of text with or without a terminal.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from datetime import datetime

from engram_py.base.dataclass import dataclass
from engram_py.base.lazy import regex
from engram_py.interfaces.wording.phrases import age, amount, anchors, plain_line, whence
from engram_py.interfaces.wording.reasons import Door, call, spelled
from engram_py.interfaces.wording.relations import relation
from engram_py.recall.values import DocumentHit, Explain, Hit, NoResults, Numbers, Results, counted

_QUERY_CHARS, _WORD_CHARS = 200, 40
_MOST_NAMED = 8
_LATEST = "latest change first"
_SORTED = {"recency": _LATEST, "salience": "the most salient first"}
_WORD = regex(r"\w+")
_QUOTE, _MINUS = regex(r"""["“”„«»]"""), regex(r"(?<!\S)-\S")
_OPERATORS = frozenset({"AND", "OR", "NOT", "NEAR"})


def results(value: Results, *, now: datetime, door: Door, full: bool = False) -> str:
    """Return memories and documents in one order, best first, the first with the passages that answer; without any, why
    there is nothing and what to do next."""
    if not (value.results or value.documents):
        return "\n".join(nothing(value, door))
    shown = {hit.id for hit in value.results}
    page = [one for one in value.page if not (isinstance(one, Hit) and one.like in shown)]
    lines = [line for one in page for line in _on_page(one, value, now, full)]
    return "\n".join([f"{match_count(value)}. {_opened_by(value, door)}", *unknown_words(value), *lines])


def _on_page(one: Hit | DocumentHit, value: Results, now: datetime, full: bool) -> Iterator[str]:
    if isinstance(one, Hit):
        yield from _hit(one, value, now, full)
    else:
        from engram_py.interfaces.wording.documents import hit_lines

        yield from hit_lines(one, now)


def _opened_by(value: Results, door: Door) -> str:
    """Return how the hits are opened, and what a quoted document is."""
    one = len(value.results) == 1 and not value.documents
    shown = call(door, "get", id=value.results[0].id if one else "ID") if value.results else ""
    if not value.documents:
        return f"{shown} shows {'it' if one else 'one'}."
    from engram_py.interfaces.wording.documents import QUOTED

    opens = call(door, "open", source=value.documents[0].source)
    said = f"{shown} shows a memory, {opens} a document" if shown else f"{opens} opens one"
    return f"{said}; documents are {QUOTED}."


def match_count(value: Results) -> str:
    """Return how many hits there are, and in which order they stand: ``3 matches, best first``."""
    count = len(value.results) + len(value.documents)
    if count == 1:
        return "1 match"
    orders = {"named": "in the order given", "filters": _LATEST, "exact": "the exact one first"}
    order = _SORTED[value.sort] if value.sort else orders.get(value.rung, "best first")
    return f"{count} matches, {order}"


def unknown_words(value: Results) -> list[str]:
    """Return the words of the question that no memory has, as a line."""
    return [f"No memory mentions: {_named(value.unknown)}."] if value.unknown else []


def marks(hit: Hit) -> list[str]:
    """Return what to know of a hit before its text is believed, besides its type, age and project."""
    superseded = any(note.label == "superseded_by" and not note.deleted for note in hit.relations)
    superseded = superseded or hit.lifecycle == "historical"
    found: list[str] = [hit.scope] if hit.scope != "project" else []
    found += ["pinned"] if hit.pinned else []
    found += ["superseded"] if superseded else []
    found += ["archived"] if hit.lifecycle == "archived" else []
    found += ["needs review"] if hit.state == "needs_review" else []
    found += [f"on branch {hit.branch}"] if hit.branch else []
    found += whence(hit.unchecked, hit.author)
    found += [f"nearly the same as [#{hit.like}]"] if hit.like is not None else []
    found += ["fresh"] if hit.anchors and all(anchor.state == "fresh" for anchor in hit.anchors) else []
    return found


def places(hit: Hit, *, full: bool = False) -> str:
    """Return what became of the files of a hit, without fresh ones; unreadable ones last."""
    states = [anchor for anchor in hit.anchors if anchor.state in ("changed", "moved", "gone")]
    states += [anchor for anchor in hit.anchors if anchor.unreadable or (full and anchor.state == "unknown")]
    return anchors(states) if states else ""


def _hit(hit: Hit, value: Results, now: datetime, full: bool) -> Iterator[str]:
    several = value.projects is None or hit.project not in value.projects or len(value.projects) > 1
    about = [hit.type, age(hit.updated_at, now), *([hit.project] if several else []), *marks(hit)]
    yield f"[#{hit.id}] {named(hit)} ({', '.join(about)})"
    old = hit.instead_of
    if old is not None:
        yield f'  replaced [#{old.id}] "{old.title}"'
    if hit.snippet:
        yield f"  {hit.snippet}"
    if found := places(hit, full=full):
        yield f"  {found}"
    yield from (f"  {relation(note)}" for note in hit.relations if old is None or note.id != old.id)
    if repeated := [f"[#{one.id}]" for one in value.results if one.like == hit.id]:
        yield f"  nearly the same, whatever the numbers: {' '.join(repeated)}"


def named(hit: Hit) -> str:
    """Return the title, with what it does not say of a session's summary unless the passage says it."""
    return hit.title if hit.goal.removesuffix("…") in hit.snippet else f"{hit.title}. {hit.goal}"


def nothing(value: Results, door: Door) -> list[str]:
    """Return in two lines where was searched, why it is empty, and what to do next."""
    where = "all projects" if value.projects is None else ", ".join(value.projects)
    query = plain_line(value.query[: 2 * _QUERY_CHARS], _QUERY_CHARS)
    head = f'Nothing found for "{query}" in {where} ({counted(value.memories)} searched).'
    silence = value.silence
    return [head] if silence is None else [head, f"{_why(silence, door)} {_next_step(value, silence, door)}"]


def _why(silence: NoResults, door: Door) -> str:
    said = spelled(silence.reason, door)
    why = f"{said[:1].upper()}{said[1:]}."
    if silence.filtered:
        do = "does" if silence.filtered == 1 else "do"
        why = f"{amount(silence.filtered, 'memory')} with these words {do} not pass {_named(silence.filters)}."
    unseen = [f"No memory mentions: {_named(silence.unknown)}."] if silence.unknown else []
    if silence.elsewhere:
        unseen.append(
            f"Only other projects know: {_named(silence.elsewhere)}; {call(door, 'everywhere')} searches them."
        )
    if silence.unknown and silence.reason.name == "unknown_words" and not silence.filtered:
        return " ".join(unseen)
    return " ".join([*unseen, why])


def _next_step(value: Results, silence: NoResults, door: Door) -> str:
    if silence.reason.name == "only_archived":
        return "Next: add is:archived."
    if silence.filters and silence.unworded:
        keys = dict.fromkeys(f"{one.partition(':')[0]}:" for one in silence.filters)
        return f"Next: change {' or '.join(keys)}, or search by words."
    if silence.numbered:
        return "Next: search by words instead."
    if silence.filters and (silence.filtered or not (silence.unknown or silence.elsewhere)):
        return f"Next: search without {_named(silence.filters)}."
    if silence.unworded and silence.marked:
        return "Next: add a word to search for; -word only excludes."
    words = _WORD.findall(value.query)
    if words and _OPERATORS.issuperset(words):
        return "Next: give at least one more word; AND, OR, NOT and NEAR are words here, not operators."
    if not any(char.isalnum() for char in value.query):
        return "Next: give at least one word, #id, or a filter such as type:decision."
    if not value.memories:
        return f"Next: save a memory, there are none yet{_elsewhere(value, door)}."
    if silence.unworded:
        return "Next: add a more specific word, or quote the words."
    if silence.marked:
        return f"Next: search without {_marks(value.query)}."
    if silence.elsewhere:
        return f"Next: search all projects ({call(door, 'everywhere')}), or try other words."
    return f"Next: try other words{_elsewhere(value, door)}."


def _marks(query: str) -> str:
    found = [*(["the quotes"] if _QUOTE.search(query) else []), *(["the -words"] if _MINUS.search(query) else [])]
    return " and ".join(found)


def _elsewhere(value: Results, door: Door) -> str:
    there = value.silence is not None and value.silence.others and value.projects is not None
    return f", or search all projects ({call(door, 'everywhere')})" if there else ""


def _named(words: Sequence[str]) -> str:
    """Return the first eight, each on one line and not longer than a word is."""
    shown = [plain_line(word, _WORD_CHARS) for word in words[:_MOST_NAMED]]
    more = f" and {len(words) - _MOST_NAMED} more" if len(words) > _MOST_NAMED else ""
    return ", ".join(shown) + more


_TITLE_CHARS, _WHY_CHARS, _NOTED_WORD_CHARS = 60, 160, 40
_HIT_FIGURES = ("score", "passage", "whole", "neighbours", "session", "meaning", "recency")
_FIGURES = (*_HIT_FIGURES, "found", "memories", "idf")


@dataclass(frozen=True, slots=True)
class TableSection:
    """A table with a heading, and a line that says how to read it. The last column is the wide one."""

    title: str
    legend: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def figures(self) -> tuple[bool, ...]:
        """Return the columns that hold numbers."""
        return tuple(name in _FIGURES for name in self.columns)


def sections(value: Results) -> list[TableSection]:
    """Return the hits with their numbers, the steps of the search, the words of the query; empty ones are left out."""
    if value.explain is None:
        return []
    explain = value.explain
    found = [_hits(value, explain.hits), _steps(explain), _words(explain)]
    return [section for section in found if section.rows]


def head(value: Results, door: Door) -> list[str]:
    """Return what was found, in a line, or why there is nothing."""
    return [f"{match_count(value)}."] if value.results or value.documents else nothing(value, door)


def foot(explain: Explain) -> str:
    """Return what held for the whole search: the filters, the time."""
    took = f"It took {explain.seconds * 1000:.1f} ms."
    filters = ", ".join(plain_line(one, _NOTED_WORD_CHARS) for one in explain.filters)
    return f"Filters: {filters}. {took}" if filters else took


def explained(value: Results, door: Door) -> str:
    """Return all of it as aligned plain text."""
    lines = head(value, door)
    for section in sections(value):
        lines += ["", f"{section.title}: {section.legend}", *_aligned(section)]
    if value.explain is not None:
        lines += ["", foot(value.explain)]
    return "\n".join(lines)


def _hits(value: Results, numbers: Sequence[Numbers]) -> TableSection:
    titles = {hit.id: hit.title for hit in value.results}
    rows = tuple(
        (
            f"#{one.id}",
            f"{one.score:.2f}",
            f"{one.passage:.2f}",
            f"{one.whole:.2f}",
            f"{one.lent:.2f}",
            f"{one.session:.2f}",
            "" if one.meaning is None else f"{one.meaning:.2f}",
            f"{one.recency:.3f}",
            _factors(one),
            plain_line(titles.get(one.id, "(excluded by a filter)"), _TITLE_CHARS),
        )
        for one in numbers
    )
    legend = "score = (2/3 passage + 1/3 whole + neighbours + session) x factors, mixed with meaning where it is known."
    legend += " passage and whole = match (BM25) of its best passage and of its whole text;"
    legend += " neighbours = match of its session's other memories; session = a fifth of its session's best score;"
    legend += " meaning = nearness of its vector, 1 = as near as the nearest by chance;"
    legend += " recency = 1 now, halved after each half-life."
    return TableSection("Hits", legend, ("hit", *_HIT_FIGURES, "factors", "title"), rows)


def _factors(one: Numbers) -> str:
    if not one.factors:
        return "none" if one.relevance else "named, not ranked"
    return ", ".join(f"{name} {factor:.2f}" for name, factor in one.factors.items())


def _steps(explain: Explain) -> TableSection:
    rows = tuple(
        (rung.name, str(rung.found), plain_line(spelled(rung.why, "python"), _WHY_CHARS)) for rung in explain.rungs
    )
    return TableSection(
        "Steps", "in the order they ran; found = memories that the step added.", ("step", "found", "why"), rows
    )


def _words(explain: Explain) -> TableSection:
    rows = tuple(
        (
            plain_line(note.word, _NOTED_WORD_CHARS),
            f"{note.rows:,}",
            f"{note.idf:.2f}",
            plain_line(spelled(note.use, "python"), _WHY_CHARS),
        )
        for note in explain.words
    )
    legend = "memories = how many have the word; idf = its weight, higher for a rare word."
    return TableSection("Words", legend, ("word", "memories", "idf", "use"), rows)


def _aligned(section: TableSection) -> list[str]:
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
