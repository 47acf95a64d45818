"""What one prompt deserves: the overrides, and the one section that the gate's first cue with an answer names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engram_py.context import table
from engram_py.context.excerpt import opening
from engram_py.context.gate.gate import Cue, gate, mentions, name_key
from engram_py.context.gate.names import keyed_names, names_of
from engram_py.context.gate.order_subject import order_in
from engram_py.context.gate.titles import telling
from engram_py.context.next_steps import steps_ordered
from engram_py.context.providers import (
    ENTITY,
    MOST_ENTITIES,
    NOT_LASTING,
    Draw,
    Found,
    Providers,
    asks_something,
    covers,
    plain_words,
    whole,
)
from engram_py.context.session import table_rows
from engram_py.context.title_matches import titled
from engram_py.context.values import Section
from engram_py.database.store import Store
from engram_py.observations.topic_keys import FAMILY_OF_TYPE
from engram_py.observations.values import TYPES, Observation
from engram_py.recall.query.days import is_deed
from engram_py.recall.query.parse import parse_query, quote
from engram_py.recall.score.threshold import UNASKED_FLOOR
from engram_py.recall.score.topics import GENERIC, share_held, shares_a_word
from engram_py.sessions.values import SessionLine
from engram_py.text import cues
from engram_py.text.prompt_text import PromptText, listed
from engram_py.text.stopwords import without_foreign

GATES = ("off", "heuristic", "llm")

# Names are looked for in this many of the newest observations, and in every entity's topic key.
_NAMED_BY = 100
_LATEST = 2
_FAMILIES = frozenset({*TYPES, *FAMILY_OF_TYPE, *FAMILY_OF_TYPE.values(), ENTITY, "session", "identity", "project"})
_MOST_NAMED = 5
_MOST_CALLED = 3
_WORDS_OF_WORK, _SHARE_OF_WORK = 2, 0.25
_QUESTIONS = ("what", "when", "where", "why", "how", "who", "which", "did", "do", "have", "has", "was", "were", "can")


class QueryOrder:
    """Chooses at most one section for a prompt. Silence is the usual answer."""

    def __init__(self, store: Store, providers: Providers) -> None:
        self._store = store
        self._providers = providers

    def known_names(self, draw: Draw) -> dict[str, list[int]]:
        """The names this memory goes by, with the observations that were given the name on purpose."""
        entities = table.of_family(self._store, ENTITY, projects=draw.ask.reads, limit=MOST_ENTITIES)
        names: dict[str, list[int]] = {}
        for row in (*entities, *table_rows(self._store, draw, limit=_NAMED_BY)):
            for name in names_of(row.title, row.topic_key, row.aliases, families=_FAMILIES):
                names.setdefault(name, [])
            for name in keyed_names(row.topic_key, row.aliases):
                names.setdefault(name, []).append(row.id)
        return names

    def sections(
        self, draw: Draw, *, mode: str, names: dict[str, list[int]]
    ) -> tuple[tuple[Section, ...], str | None, str | None]:
        """The overrides and at most one section more, which section the gate picked, and what it heard."""
        overrides = Section("overrides", tuple(self._providers.overrides(draw)))
        if mode == "off":
            section = self._ungated(draw)
            return (overrides, section), section.name, None
        known = {**names, **{name: [] for name in self._mentioned(draw.ask.query)}}
        heard = gate(draw.ask.query, known, today=draw.ask.today)
        steps = self._steps(draw)
        for cue in heard:
            section = self._answer(draw, cue, known)
            if section.items:
                more = steps if section.name == "memories" else []
                return (overrides, _with(more, section)), section.name, cue.heard
        about = [Found(row, 1.0, "", row) for row in self._titled(draw)]
        if about or steps:
            section = _with(steps, self._memories(draw, about))
            unheard = "a title" if about else "a next step"
            return (overrides, section), section.name, heard[0].heard if heard else unheard
        return (overrides,), heard[0].section if heard else None, heard[0].heard if heard else None

    def _titled(self, draw: Draw) -> list[Observation]:
        """What has the words of the prompt in its title, the closest first."""
        ids = self._providers.current(draw, titled(self._store, draw.ask.query, draw.ask.reads))
        rows = [row for row in self._providers.by_ids(draw, ids) if draw.ask.scope in (None, row.scope)]
        return sorted((row for row in rows if row.type not in NOT_LASTING), key=lambda row: ids.index(row.id))

    def _steps(self, draw: Draw) -> list[Observation]:
        """The summaries of sessions that left to be done what the prompt orders, each told by this step."""
        found = steps_ordered(self._store, draw.ask.query, draw.ask.reads)
        rows = self._providers.vetted(draw, [row for row, _ in found if draw.ask.scope in (None, row.scope)])
        steps = {row.id: step for row, step in found}
        draw.findings.remarks.excerpts.update({row.id: f"Next step: {steps[row.id]}" for row in rows})
        return rows

    def _mentioned(self, prompt: str) -> list[str]:
        """The symbols and paths of a prompt that occur anywhere in the memory."""
        found = {name: name_key(name) for name in mentions(prompt)}
        return [key for name, key in found.items() if key and table.mentioned(self._store, quote(name))]

    def _ungated(self, draw: Draw) -> Section:
        found = self._providers.lasting(draw, draw.ask.query, floor=None)[: _most(draw, 60, 3, 15)]
        if found:
            return self._memories(draw, found)
        return Section("episodes", tuple(self._providers.last_sessions(draw, limit=_LATEST)))

    def _answer(self, draw: Draw, cue: Cue, known: dict[str, list[int]]) -> Section:
        match cue.section:
            case "identity":
                return Section("identity", tuple(self._providers.identity(draw, limit=_most(draw, 60, 3, 15))))
            case "transcript":
                limit = _most(draw, 200, 2, 6)
                return Section(
                    "transcript", tuple(self._providers.transcript(draw, cue.rest, days=cue.days, limit=limit))
                )
            case "episodes":
                return self._episodes(draw, cue)
            case "memories":
                section = self._memories(draw, self._about(draw, cue, known)[: _most(draw, 60, 3, 15)])
                if cue.days is None or not section.items or asks_something(cue.rest):
                    return section
                shown = [item.id for item in section.items if isinstance(item, Observation)]
                return replace(section, note=self._providers.more_of(draw, cue.days, shown))

    # --- episodes --------------------------------------------------------------------------------------

    def _episodes(self, draw: Draw, cue: Cue) -> Section:
        limit = _most(draw, 120, 2, 8)
        if cue.days is not None:
            return self._episodes_of_days(draw, cue, limit)
        about = self._providers.sessions_about(draw, cue.rest, limit=limit) if asks_something(cue.rest) else []
        if about:
            return _episodes(about)
        if cue.kind == "resume" or (cue.kind == "prior" and not asks_something(cue.rest)):
            return _episodes(self._providers.last_sessions(draw, limit=_LATEST))
        if cue.kind == "prior":
            return self._memories(draw, self._providers.lasting(draw, cue.rest, floor=UNASKED_FLOOR)[:limit])
        return Section("episodes")

    def _episodes_of_days(self, draw: Draw, cue: Cue, limit: int) -> Section:
        """The sessions of those days; where none left a summary, what they saved; else, to a question about nothing
        but the days, the latest."""
        assert cue.days is not None
        sessions = self._providers.sessions_of(draw, cue.days, limit=limit)
        if sessions:
            summaries = draw.findings.remarks.summaries
            shown = [summaries[line.id] for line in sessions if line.id in summaries]
            return _episodes(sessions, note=self._providers.more_of(draw, cue.days, shown))
        rows = self._providers.of_days(draw, cue.days, limit=limit)
        words = " ".join(word for word in plain_words(cue.rest).split() if not is_deed(word))
        if rows or asks_something(words) or not _is_question(draw.ask.query):
            more = self._providers.more_of(draw, cue.days, [row.id for row in rows]) if rows else ""
            return Section("episodes", tuple(rows), note=more)
        latest = self._providers.last_sessions(draw, limit=_LATEST)
        return _episodes(latest, note=f"none of “{cue.days.words}”; the latest")

    # --- memories --------------------------------------------------------------------------------------

    def _about(self, draw: Draw, cue: Cue, known: dict[str, list[int]]) -> list[Found]:
        if cue.kind == "possessive":
            return self._owned(draw, cue)
        if cue.kind == "name":
            return self._named(draw, cue, known)
        if not asks_something(cue.rest):
            rows = self._providers.of_days(draw, cue.days, limit=5) if cue.days and cue.kind == "reason" else []
            return [Found(row, 0.0, "", row) for row in rows]
        words = without_foreign(cue.rest, draw.ask.query)
        found = self._providers.lasting(draw, words, floor=UNASKED_FLOOR, days=cue.days)
        if cue.kind == "thing" or (cue.kind == "order" and len(telling(name_key(words).split())) == 1):
            return _called(found, cue.rest)
        return _of_the_work(found, cue.rest) if cue.kind in ("order", "report") else found

    def _named(self, draw: Draw, cue: Cue, known: dict[str, list[int]]) -> list[Found]:
        """What a name of the prompt was given to on purpose, and what is about its symbols and paths, or about it."""
        keyed = [row_id for name in cue.names if name not in GENERIC for row_id in known[name]]
        found = [Found(row, 1.0, "", row) for row in self._providers.by_ids(draw, keyed)[:_MOST_NAMED]]
        spelt = {name_key(name): name for name in mentions(draw.ask.query)}
        symbols = [spelt[name] for name in cue.names if name in spelt]
        words = " ".join(symbols[:_MOST_NAMED]) or _about_what(cue.rest)
        others = self._providers.lasting(draw, words, floor=UNASKED_FLOOR, days=cue.days)
        found += [one for one in others if any(share_held(whole(one.matched), name.split()) for name in cue.names)]
        unique: dict[int, Found] = {}
        for one in found:
            unique.setdefault(one.row.id, one)
        return list(unique.values())

    def _owned(self, draw: Draw, cue: Cue) -> list[Found]:
        """ "my editor": what is called so, not everything the word occurs in."""
        first = name_key(cue.rest).partition(" ")[0]
        kind = first.removesuffix("s")
        if kind in ("preference", "decision"):
            return [Found(row, 0.0, "", row) for row in self._providers.of_kind(draw, kind, limit=_MOST_NAMED)]
        if not asks_something(first):
            return []
        found = self._providers.lasting(draw, first, floor=UNASKED_FLOOR, days=cue.days)
        return [one for one in found if first in name_key(_name(one.matched))][:3]

    def _memories(self, draw: Draw, found: Sequence[Found]) -> Section:
        told = {one.row.id: opening(one.row.content, one.excerpt) for one in found if one.excerpt}
        draw.findings.remarks.excerpts.update(told)
        rows: list[Observation] = [one.row for one in found]
        return Section("memories", tuple(rows))


def _with(first: Sequence[Observation], section: Section) -> Section:
    return replace(section, items=(*first, *section.items)) if first else section


def _of_the_work(found: Sequence[Found], words: str) -> list[Found]:
    """What holds two words of an order or a report and a quarter of them: one alone says little."""
    texts = [word.text for word in parse_query(plain_words(words)).content_words]
    share = min(1.0, max(_SHARE_OF_WORK, _WORDS_OF_WORK / max(1, len(texts))))
    read = [(one, one.matched) for one in found]
    return [one for one, row in read if covers(f"{row.title} {row.aliases} {row.content}", texts, share)]


def _about_what(text: str) -> str:
    """A text without its verb and what code has everywhere, unless that is all it holds: "write a stripe test" is
    about stripe."""
    text = order_in(PromptText(text)) or text
    words = [word for word in text.split() if not set(name_key(word).split()) <= listed(cues.EVERYWHERE).keys()]
    return " ".join(words) if asks_something(" ".join(words)) else text


def _called(found: Sequence[Found], word: str) -> list[Found]:
    """What goes by the one word of an order, whatever its ending: not everything the word occurs in."""
    words = name_key(word).split()
    return [one for one in found if shares_a_word(_name(one.matched), words, families=())][:_MOST_CALLED]


def _name(row: Observation) -> str:
    return f"{row.title} {row.topic_key} {row.aliases}"


def _episodes(lines: Sequence[SessionLine], note: str = "") -> Section:
    return Section("episodes", tuple(lines), note=note)


def _most(draw: Draw, tokens_each: int, low: int, high: int) -> int:
    """How many things of a size a budget is for (spec/seed-capabilities.md O28)."""
    return max(low, min(high, draw.ask.tokens // tokens_each))


def _is_question(prompt: str) -> bool:
    """Whether somebody asks: an order that mentions a day wants something else."""
    words = name_key(prompt[:200]).split()
    return "?" in prompt or "？" in prompt or bool(words and words[0] in _QUESTIONS)
