"""Decide whether a prompt is given anything unasked: by a phrase that asks for it, or by what its words lead to.

What a memory knows of a subject is found by evidence (``look_up``, ``prompt.py``). The phrases ask for something else
than a subject: who one is, where one stopped, what one said word for word (spec/seed-capabilities.md rows 59 to 64).
No prompt that is given nothing pays for assembling a context.

A phrase is whole words in lower case and without accents, an apostrophe being a blank; ``$`` asks for the end of the
prompt, ``^`` for its beginning. Where a script writes no spaces a phrase is looked for as it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Literal, Protocol

from engram_py.base.database.store import Store
from engram_py.base.dataclass import dataclass, field, replace
from engram_py.base.text.prompt_text import PromptText, listed
from engram_py.base.times import Calendar
from engram_py.guidance.context.gate_model import Evidence, evidence_of, fitted, informative
from engram_py.memory.observations.values import Observation
from engram_py.memory.projects.projects import Core
from engram_py.recall.dates import Days, days_in, is_generic_verb
from engram_py.recall.index import totals
from engram_py.recall.query import parse_query
from engram_py.recall.retrieval import Retrieved, lines_of, retrieve
from engram_py.recall.scope_filter import ScopeFilter, VisibleRows
from engram_py.recall.score import Scored
from engram_py.recall.terms import word_terms
from engram_py.recall.values import Related

if TYPE_CHECKING:
    from engram_py.guidance.context.values import Context, Item
    from engram_py.guidance.ledger.moments import Kind as MomentKind
    from engram_py.guidance.ledger.moments import Moments
    from engram_py.memory.sessions.citations import Citations, Surface
    from engram_py.recall.vectors.vectors import NearMeaning

Kind = Literal["identity", "literal", "resume", "prior", "days", "owned"]

IDENTITY = """
what s my name|what is my name|who am i|tell me about myself|what do you know about me|what do you remember about me
what do i do $|what do i do for a living|where do i work|where am i from|what s my job|what is my job|how old am i
what s my role|what is my role|quien soy|como me llamo|que sabes de mi|wer bin ich|wie heisse ich
was weisst du uber mich|qui suis je|comment je m appelle|que sais tu de moi|quem sou eu|qual e o meu nome|chi sono io
come mi chiamo|what do i prefer|what do i like|what are my preferences|que prefiero|was bevorzuge ich|was mag ich
qu est ce que je prefere|o que eu prefiro|cosa preferisco|что я предпочитаю
кто я $|как меня зовут|что ты знаешь обо мне|我是谁|我叫什么|私は誰|私の名前は|나는 누구
"""
# "Reply with exactly X" is no question about earlier words (row 62).
LITERAL = """
^ exact words|^ the exact words|what did i say|what exactly did i say|what did i exactly say|what did i write
what exactly did i write|what did i type|what exactly did i type|what i said|what i wrote|what i typed|quote my words
quote back my words|repeat my words|repeat back my words|que dije|que escribi|was habe ich gesagt|was ich gesagt habe
was habe ich geschrieben|qu ai je dit|ce que j ai dit|o que eu disse|cosa ho detto|что я сказал|что я говорил
我说了什么|我说过什么|私が言った|내가 한 말
"""
RESUME = """
where were we|where did we leave off|where did we stop|where we left off|continue where|continue from where
pick up where|picking up where|what were we doing|what were we working on|what was i doing|what was i working on
what were you doing|what were you working on|last session|last time|previous session|what s left to do|what s next
what is next|what should i do next|what should we do next|what do i do next|what do we do next
was steht an|wie geht es weiter|donde estabamos|donde lo dejamos|donde nos quedamos|la ultima vez|la ultima sesion
wo waren wir|letztes mal|wo haben wir aufgehort|letzte sitzung|ou en etions nous|ou on en etait|la derniere fois
onde paramos|da ultima vez|dove eravamo|l ultima volta|на чем мы остановились|где мы остановились|в прошлый раз
上次|我们进行到哪|前回|どこまで|지난번
"""
PRIOR = """
we discussed|did we discuss|we talked|did we talk|you told me|you mentioned|did you mention|remember when
recall when|that thing we|that thing i|as i said|as i mentioned|like i said
earlier you said|you said earlier|as you said
hablamos de|recuerdas cuando|haben wir besprochen|erinnerst du dich|on a discute
tu te souviens|lembra quando|abbiamo discusso|ti ricordi|мы обсуждали|помнишь|我们讨论过|记得我们|話し合った|覚えてる
"""
# What somebody calls theirs is looked for among what is known of the person.
OWN = "my|mi|mein|meine|meinen|mon|meu|minha|мой|моя"
_ORDER: tuple[tuple[Kind, str], ...] = (
    ("identity", IDENTITY),
    ("literal", LITERAL),
    ("resume", RESUME),
    ("prior", PRIOR),
)
_QUESTION_MARKS = ("?", "？")


@dataclass(frozen=True, slots=True)
class Phrase:
    """A request that a prompt makes by a phrase: ``said`` is the phrase, ``rest`` what is left of the prompt to look
    for, and
    ``days`` are those it is asked of. ``question``: somebody asks, and does not only mention them."""

    kind: Kind
    said: str
    rest: str
    days: Days | None = None
    question: bool = False


def phrase_in(prompt: str, today: date) -> Phrase | None:
    """Return the first of these in a prompt; ``today`` is the reader's own day."""
    text = PromptText(prompt)
    question = any(mark in prompt for mark in _QUESTION_MARKS)
    days = days_in(text, today)
    if days is not None and not days.past and not question:
        days = None
    for kind, phrases in _ORDER:
        said = text.first(listed(phrases))
        if said is not None:
            text.cut(said)
            return Phrase(kind, said, text.rest, days, question=True)
    if days is not None and not asks_of(text.rest):
        return Phrase("days", days.words, text.rest, days, question or bool(text.rest))
    return _owned(text)


def asks_of(text: str) -> list[str]:
    """Return the words of a text that say what it is about, without those that only say that something was done."""
    return [word.text for word in parse_query(text).words if not word.stop and not is_generic_verb(word.text)]


def plain_words(text: str) -> str:
    """Return a prompt as words: no quotes, filters, exclusions or handles of the query language are left in it."""
    words = (word.strip("-+\"'#:[](){}<>*`") for word in text.replace(":", " ").replace('"', " ").split())
    return " ".join(word for word in words if word)


def asks_something(words: str) -> bool:
    """Return whether anything is left to look for: a word that says what a text is about."""
    return any(not word.stop for word in parse_query(plain_words(words)).words)


def _owned(text: PromptText) -> Phrase | None:
    """Return the thing after "my", as in "my editor", whatever the prompt wants done with it."""
    owners = listed(OWN)
    for word, thing in zip(text.words, text.words[1:], strict=False):
        if word in owners and asks_of(thing):
            return Phrase("owned", f"{word} {thing}", thing)
    return None


def covers(text: str, words: Sequence[str], share: float) -> bool:
    """Return whether a text holds this share of the words, whatever their endings."""
    lowered = text.lower()
    held = sum(word[: max(3, len(word) - 2)] in lowered for word in words)
    return held >= share * len(words)


_THIRD = 1 / 3
# A line of 60 tokens holds so many titles. Beside the likeliest, what is far less likely is not named: by so many nats.
_MOST_POINTED, _BESIDE = 3, 1.5
_LEAST_NAME_CHARS = 4  # `api` is a word as well (spec/seed-capabilities.md, row 63)


@dataclass(frozen=True, slots=True)
class LookedUp:
    """The result of looking up a prompt's words, judged by the bar for unasked text; ``found`` is None where no word
    asks."""

    found: Retrieved[Observation] | None = None
    evidence: Mapping[int, Evidence] = field(default_factory=dict)

    def likely(self) -> list[Scored]:
        """Return what is likely enough to be needed, the likeliest first."""
        return [one for evidence, one in self._judged() if evidence.reaches("given")]

    def pointed(self) -> list[Scored]:
        """Return what may well be needed, to be named in a line, the likeliest first: the likeliest, if it is likely
        enough, and what is nearly as likely; or else what is about an entity that the prompt names."""
        judged = self._judged()
        best = judged[0][0] if judged else None
        if best is not None and best.reaches("named"):
            return [one for evidence, one in judged[:_MOST_POINTED] if evidence.odds >= best.odds - _BESIDE]
        return self._about_entities()[:_MOST_POINTED]

    def _about_entities(self) -> list[Scored]:
        found = self.found
        if found is None:
            return []
        named = {term.text for term in found.terms if term.names_entity and len(term.text) >= _LEAST_NAME_CHARS}
        return [one for _, one in self._judged() if not named.isdisjoint(one.words)] if named else []

    def _judged(self) -> list[tuple[Evidence, Scored]]:
        """Return the rows with words of their own or a known meaning, the likeliest first."""
        scored = self.found.scored if self.found is not None else ()
        told = [(self.evidence[one.id], one) for one in scored if one.words or one.cosine is not None]
        return sorted(told, key=lambda pair: -pair[0].odds)

    @property
    def needed(self) -> float:
        """The probability from which a row is given."""
        model = next((one.model for one in self.evidence.values() if one.meaning is not None), Evidence().model)
        return fitted()[model]["given"]

    def nearest(self) -> Sequence[Related]:
        """Return what comes nearest to being given, best first."""
        lines = lines_of(self.found, self.relating()) if self.found is not None else ()
        return [replace(one, probability=round(self.evidence[one.id].probability, 3)) for one in lines]

    def relating(self) -> list[Scored]:
        """Return the rows that may have to do with the prompt, best first: they hold an informative word or a third of
        it, or are near to it in meaning."""
        if self.found is None:
            return []
        telling = informative(self.found.terms)
        return [
            one
            for one in self.found.scored
            if one.passage_share >= _THIRD or (one.meaning or 0.0) >= 1 or not telling.isdisjoint(one.words)
        ]


def look_up(
    store: Store, prompt: str, projects: tuple[str, ...] | None, calendar: Calendar, near: NearMeaning | None = None
) -> LookedUp:
    """Return what the memory has for a prompt, whose words are never read as a query language; ``near`` tells meaning
    as well."""
    query = parse_query(plain_words(prompt))
    if not query.asks:
        return LookedUp()
    scope = ScopeFilter.of_projects(projects)
    found = retrieve(store, query, scope, calendar=calendar)
    if near is not None:
        from engram_py.recall.fusion import with_vectors

        found = with_vectors(near, query, found, VisibleRows(store, scope), within=projects)
    return LookedUp(found, evidence_of(found, prompt, query))


def known_words(store: Store, text: str) -> str:
    """Return the words of a text that a memory has, and that say what it is about."""
    terms = word_terms(store, parse_query(text).content_words, size=totals(store).rows)
    return " ".join(term.text for term in terms if term.rows)


# --- the gate -------------------------------------------------------------------------------------------------

Silence = Literal["", "no_project", "no_word", "unlikely", "shown_before", "held_back"]

_QUERY_CHARS = 8_000


@dataclass(frozen=True, slots=True)
class Gated:
    """The memory that a prompt is given: ``context`` is what was looked up, ``reason`` why nothing of it is shown,
    ``looked_up`` what its words led to where none of that is given, ``held`` the memories that stay silent on purpose.
    """

    context: Context | None
    reason: Silence = ""
    looked_up: LookedUp | None = None
    held: tuple[int, ...] = ()

    @property
    def nearest(self) -> Sequence[Related]:
        """Return what came nearest to being given, best first."""
        return self.looked_up.nearest() if self.looked_up is not None else ()

    @property
    def shown(self) -> Context | None:
        """Return the text that the agent is given; None for nothing."""
        return None if self.reason else self.context


class Assembler(Protocol):
    """Assembles a context: ``contexts.Contexts`` does, and is loaded once a prompt passes the gate."""

    def assemble(
        self, *, session_id: str | None, query: str | None, mode: str | None, unasked: bool, looked_up: LookedUp | None
    ) -> Context: ...


class PromptGate:
    """Lets a prompt pass that asks by a phrase, or whose words lead to what is likely needed."""

    def __init__(
        self,
        core: Core,
        contexts: Callable[[], Assembler],
        citations: Citations,
        moments: Callable[[], Moments],
        near: Callable[[], NearMeaning | None] = lambda: None,
    ) -> None:
        self._core, self._contexts, self._citations, self._moments = core, contexts, citations, moments
        self._near = near

    def gated(self, prompt: str, session_id: str) -> Gated:
        """Return the one section that a prompt is given, without what the session was given before.

        The statements that hold always were given at the session's start.
        """
        core = self._core
        place = core.projects.for_read(session_id=session_id)
        if not place.project:
            return Gated(None, "no_project")  # several projects, or none: nobody asked to see all of them
        looked_up, calendar = None, core.journal.calendar
        if core.settings.gate != "off" and phrase_in(prompt[:_QUERY_CHARS], calendar.today) is None:
            looked_up = look_up(core.store, prompt[:_QUERY_CHARS], place.reads, calendar, self._near())
            if not looked_up.pointed():  # most prompts: assembling a context loads much more
                return Gated(None, "unlikely" if looked_up.relating() else "no_word", looked_up)
        context = self._contexts().assemble(
            session_id=session_id, query=prompt, mode="query", unasked=True, looked_up=looked_up
        )
        known = self._without_known(context, session_id)
        return self._held_back(known, session_id) if looked_up is not None and core.settings.holdout else known

    def _held_back(self, gated: Gated, session_id: str) -> Gated:
        """Leave out what stays silent on purpose, of what nobody asked for by a phrase."""
        if gated.shown is None:
            return gated
        context, held = without_held_back(gated.shown, self._moments(), session_id, "prompt")
        left = any(section.items for section in context.sections)
        return replace(gated, context=context, held=held) if left else replace(gated, reason="held_back", held=held)

    def _without_known(self, context: Context, session_id: str) -> Gated:
        from engram_py.guidance.context.values import POINTED

        pointer: tuple[Surface, ...] = ("pointer",) if context.section == POINTED else ()
        known = self._citations.visible(session_id, "prompt", "session", "compact", *pointer)
        found = tuple(section for section in context.sections if section.name != "overrides" and section.items)

        def is_new(item: Item) -> bool:
            return not (isinstance(item, Observation) and item.id in known)

        new = (replace(one, items=tuple(filter(is_new, one.items))) for one in found)
        left = tuple(section for section in new if section.items)
        if not left:
            return Gated(replace(context, sections=found), "shown_before" if found else "unlikely")
        return Gated(replace(context, sections=left))


def without_held_back(
    context: Context, moments: Moments, session_id: str, kind: MomentKind
) -> tuple[Context, tuple[int, ...]]:
    """Return a context without the memories that stay silent in this session on purpose, and their ids."""
    rows = {item.id for section in context.sections for item in section.items if isinstance(item, Observation)}
    held = {one for one in rows if moments.holds_back(session_id, kind, f"#{one}")}
    if not held:
        return context, ()
    sections = (
        replace(one, items=tuple(item for item in one.items if not (isinstance(item, Observation) and item.id in held)))
        for one in context.sections
    )
    return replace(context, sections=tuple(sections)), tuple(sorted(held))
