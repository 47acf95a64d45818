"""Add, list and remove what the person says holds always, and read and write their profile.

``statements`` finds what a person says once and for all about themselves. A false one is read by every later
session, so a sentence has to begin so, say who speaks, and be short; anything else that a person says of themselves
is for the agent to keep.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from engram_py.base.capture.orders import reads_like_an_order
from engram_py.base.capture.passive import learning_title
from engram_py.base.capture.said import subject_of
from engram_py.base.database.store import Store
from engram_py.base.dataclass import dataclass, replace
from engram_py.base.errors import ConflictError, EmptyFieldError, InvalidArgumentError, TextTooLongError
from engram_py.base.files import lines_of
from engram_py.base.lazy import regex
from engram_py.base.text.normalize import content_hash, folded
from engram_py.base.text.words import distance
from engram_py.base.times import to_text
from engram_py.memory.identity import table
from engram_py.memory.identity.table import LONGEST_CHARS, PROFILE, Profile, Statement, StatementNotFoundError
from engram_py.memory.observations.arguments import clamp, clean_scope, live_observation
from engram_py.memory.observations.fact_rules import Rules, differs, rules_of, values_of
from engram_py.memory.observations.listing import Listing
from engram_py.memory.observations.validation import Prepared
from engram_py.memory.observations.values import Change, Changed, Draft, Observation, Origin, RelationNote, Saved, Scope
from engram_py.memory.privacy.provenance import WAITS
from engram_py.memory.projects.projects import Core
from engram_py.memory.projects.values import Place
from engram_py.memory.relations.relations import Relations

if TYPE_CHECKING:
    from engram_py.memory.sessions.sessions import Sessions
    from engram_py.memory.writing.observations import Observations


MOST_STATEMENTS = 5
LONGEST_SENTENCE_CHARS = 240
_READ_CHARS = 4_000
_LEAD = r"(?:(?:hi|hello|hey|hallo|hola|salut|ciao|by the way|btw|please|bitte)\b[,!:]?\s+)*"
# A name is written with a capital, or in a script that has none: "call me when it is done" names nobody.
_NAME = r"""(?:my name is|my name's|call me|i am called|ich hei(?:ß|ss)e|mein name ist|nenn mich|je m'appelle
|me llamo|mi nombre es|mi chiamo|(?:o )?meu nome é|меня зовут|我叫|私の名前は)""".replace("\n", "")
_ALWAYS = r"""(?:i (?:always|never) (?:want|like|prefer|use|need|write)\b|always (?:answer|reply|respond|talk|speak)
 (?:to me|me|in)\b|ich (?:will|möchte|mag|nehme|benutze|bevorzuge|schreibe) (?:immer|nie)\b|antworte (?:mir )?immer\b
|je (?:veux|préfère|utilise) toujours\b|réponds(?:-moi)? toujours\b|(?:siempre (?:quiero|prefiero|uso)
|(?:quiero|prefiero|uso) siempre)\b|resp[oó]nde(?:me)? siempre\b|preferisco sempre\b|rispondi(?:mi)? sempre\b
|(?:eu )?sempre (?:quero|prefiro|uso)\b)""".replace("\n", "")
_STATEMENT = regex(rf"(?i:{_LEAD}{_NAME})\s*[A-ZÀ-ÞΑ-ΩА-Я\u3040-\u30ff\u3400-\u9fff]|(?i:{_LEAD}{_ALWAYS})")
_NAMED = regex(rf"(?i:{_LEAD}{_NAME})\s*([^\W\d_]+(?:[ -][A-ZÀ-ÞΑ-ΩА-Я][^\W\d_]+)*)")
_SENTENCE_END = regex(r"(?<=[.!?。！？])\s+|\n")


def statements(text: str) -> Iterator[str]:
    """Yield the sentences of a prompt that say something lasting about who wrote it."""
    for sentence in _SENTENCE_END.split(_without_code_and_quotes(text[:_READ_CHARS])):
        said = " ".join(sentence.split())
        if len(said) > LONGEST_SENTENCE_CHARS or said.endswith(("?", "？")) or not _STATEMENT.match(said):
            continue
        if not reads_like_an_order(said):
            yield said.rstrip(" .!。！")  # the same said again is the same


def names_in(statement: str) -> list[str]:
    """Return what somebody is called by their own statement, whole and by the first name; nothing where it names
    nobody."""
    found = _NAMED.match(statement)
    return list(dict.fromkeys([found[1], found[1].split()[0]])) if found else []


def _without_code_and_quotes(text: str) -> str:
    parts = text.split("```")[::2]
    return "\n".join(line for part in parts for line in lines_of(part) if not line.lstrip().startswith((">", "|")))


# What a person is called in a fact about themselves, besides the name that they gave; a `user` is a table as well.
THEM = ("me", "myself", "i")
_MOST_READ, _MOST_LINES, _LINE_CHARS = 100, 15, 160


@dataclass(frozen=True, slots=True)
class Sources:
    """The rows that a profile is written from, latest change first."""

    preferences: tuple[Observation, ...]
    facts: tuple[Observation, ...]

    @property
    def rows(self) -> tuple[Observation, ...]:
        return (*self.preferences, *self.facts)


def sources_of(store: Store, now: str) -> Sources:
    """Return the personal preferences, the personal facts, and the facts about the person in any project.

    What reads like an order is left out; what is unchecked the statements of ``memory/identity/table.py`` never give.
    """
    said = [row.content for row in table.overrides(store, None, limit=_MOST_READ)]
    names = [name.lower().replace(" ", "-") for statement in said for name in names_in(statement)]
    wanted = table.personal(store, types=("identity", "preference"), limit=_MOST_READ)
    facts = table.personal(store, types=("fact",), limit=_MOST_READ)
    facts += table.facts_about(store, [*THEM, *names], limit=_MOST_READ)
    unique = {row.id: row for row in facts}.values()
    newest = sorted(unique, key=lambda row: (row.updated_at, row.sync_id), reverse=True)
    return Sources(_fit(wanted, now), _fit(newest, now))


def profile_text(sources: Sources) -> str:
    """Two lists of one line each; no more than a reader takes in at a glance."""
    parts = []
    for heading, rows in (("Prefers", sources.preferences), ("Facts", sources.facts)):
        lines = list(dict.fromkeys(f"- {_line(row)}" for row in rows))[:_MOST_LINES]
        if lines:
            parts.append("\n".join([f"{heading}:", *lines]))
    return "\n".join(parts)


def _fit(rows: list[Observation], now: str) -> tuple[Observation, ...]:
    return tuple(
        row
        for row in rows
        if not (row.expires_at and row.expires_at <= now) and not reads_like_an_order(row.title, row.content)
    )


def _line(row: Observation) -> str:
    title, content = " ".join(row.title.split()), " ".join(row.content.split())
    text = content if title.rstrip(".…").lower() in content.lower() else f"{title}: {content}"
    return text if len(text) <= _LINE_CHARS else text[: _LINE_CHARS - 1].rstrip() + "…"


# Who a statement is about whose value a later one may replace, by what stands before it; not "my wife works at".
_THEY = regex(r"(?i)(?:(?:i|the user|user|my|the user's|they)?(?:'m| am| is| now| also| still)*)")


def contradicted(text: str, known: Sequence[Observation], rules: Rules) -> Iterator[tuple[Observation, str]]:
    """Yield the statements that say otherwise of the same, with what that is: where the person lives, their manager,
    which of two things they prefer."""
    claims = _claims(text, rules)
    for row in known if claims else ():
        others = _claims(row.content, rules)
        subject = next((of for of, value in claims.items() if differs(value, others.get(of))), None)
        if subject is not None:
            yield row, claims[subject][0]


def _claims(text: str, rules: Rules) -> dict[str, tuple[str, frozenset[str]]]:
    """Return by subject how a statement names it, and the words of the value."""
    line = " ".join(text.split())
    anchored = values_of(line, rules)
    claims = {of: pair for of, pair in anchored.items() if _THEY.fullmatch(line.lower().partition(pair[0])[0].strip())}
    if own := subject_of(line):
        claims[own[0]] = own[0], frozenset(map(folded, _words(own[1])))
    return claims


# What stands around a word; `C++`, `C#`, `50%` and `1.5` keep theirs.
_AROUND = ".,;:!?…\"'`´“”„‘’«»‹›()[]{}*_–—。，！？"
_INSIDE = regex(r"(?<=[^\W\d_])['’‐‑-](?=[^\W\d_])")
# A letter more or less makes another word of a short one, and another person of a name.
_LONG = 6


def says_the_same(one: str, other: str) -> bool:
    """Return whether they differ only in case, blanks, accents and punctuation, or one slip in a long word that is no
    name."""
    first, second = _words(one), _words(other)
    if _key(first) == _key(second):
        return True
    if len(first) != len(second):
        return False
    differing = [(here, there) for here, there in zip(first, second, strict=True) if folded(here) != folded(there)]
    return len(differing) == 1 and _is_slip(*differing[0])


def holds(one: str, other: str) -> bool:
    """Return whether one statement says the other among more."""
    return f" {folded(' '.join(_words(other)))} " in f" {folded(' '.join(_words(one)))} "


def _words(text: str) -> list[str]:
    bare = (_INSIDE.sub("", word.strip(_AROUND)) for word in unicodedata.normalize("NFKC", text).split())
    return [word for word in bare if word]


def _key(words: list[str]) -> str:
    """Return the words without the blanks between them, which only matter between digits."""
    apart = " " if any(char.isdigit() for word in words for char in word) else ""
    return folded(apart.join(words))


def _is_slip(one: str, other: str) -> bool:
    plain = all(word.isalpha() and word.islower() and len(word) >= _LONG for word in (one, other))
    return plain and one[0] == other[0] and distance(one, other, 1) <= 1


MOST = 200
_ID = regex(r"\[?#?([0-9]{1,18})\]?")
_TITLES = {"personal": "Who the user is", "project": "How to work with the user in"}
_TOOL = "synthesize"


class Identity:
    """Keeps the statements of a person and their profile, through the one write path.

    ``personal`` ones hold in every project, those of scope ``project`` in one: how to work with the person there.
    """

    def __init__(self, core: Core, sessions: Sessions, observations: Callable[[], Observations]) -> None:
        self._core, self._store, self._journal, self._projects = core, core.store, core.journal, core.projects
        self._sessions = sessions
        self._observations = observations

    # --- statements --------------------------------------------------------------------------------------

    def add(
        self,
        text: str,
        *,
        scope: str | None = None,
        project: str | None = None,
        session_id: str | None = None,
        origin: Origin = "agent",
        tool_name: str | None = None,
        at: str | None = None,
    ) -> Saved:
        """Keep ``text`` pinned, so that every context begins with it.

        ``duplicate``: a statement says it already, in other case, spacing or spelling. ``superseded``: one said
        otherwise ("I live in Bordeaux"), and becomes historical. ``at`` is when it was said, before now.

        Raises TextTooLongError (over 500 characters), InvalidArgumentError for scope global, and what a save raises.
        """
        line = " ".join(text.split())
        if not line:
            raise EmptyFieldError("text")
        if len(line) > LONGEST_CHARS:
            raise TextTooLongError("text", len(line), LONGEST_CHARS)
        draft = Draft(learning_title(line), line, "identity", _scope(scope), origin=origin, tool_name=tool_name)
        with self._store.transaction():
            saved = self._observations().save(draft, project=project, session_id=session_id, same=self._same)
            self._observations().pin(saved.id)
            if at is not None and saved.outcome == "added":
                self._store.update("observations", {"id": saved.id}, {"created_at": at, "updated_at": at})
            replaced = self.settle(saved.id) if saved.outcome == "added" else ()
        saved = replace(saved, outcome="superseded", replaced=replaced) if replaced else saved
        # An evolving answer has a topic key; a statement holds, or is removed.
        return replace(saved, suggested_topic_key=None, topic_holder=None, candidates=())

    def _same(self, new: Prepared, place: Place) -> Observation | None:
        known = table.statements(self._store, scope=new.scope or "personal", project=place.project)
        return next((row for row in known if says_the_same(row.content, new.content)), None)

    def settle(self, row_id: int) -> tuple[RelationNote, ...]:
        """Let the later of two personal statements hold that say otherwise of the same; return which this one replaced.

        Call inside a transaction.
        """
        new = live_observation(self._store, row_id)
        known = table.about_the_person(self._store) if new.scope == "personal" else self._pinned_here(new.project)
        notes = []
        for old, subject in contradicted(new.content, [row for row in known if row.id != new.id], self._rules()):
            late = (new.created_at, new.id) > (old.created_at, old.id)
            newer, older = (new, old) if late else (old, new)
            why = f'both tell "{subject}", and this one was said later'
            Relations(self._core).compare(newer.id, older.id, "supersedes", confidence=1.0, reasoning=why)
            notes += [RelationNote("replaced", old.id, old.title)] if late else []
        return tuple(notes)

    def _pinned_here(self, project: str) -> list[Observation]:
        return table.statements(self._store, scope="project", project=project)

    def _rules(self) -> Rules:
        return rules_of(self._core.settings.fact_rules)

    def listed(
        self, *, scope: str | None = None, project: str | None = None, session_id: str | None = None, limit: int = 50
    ) -> Listing:
        """Return what holds always, in the order it was said: everywhere first, then in this project."""
        limit, said = clamp("limit", limit, 1, MOST)
        place = self._projects.for_read(project, session_id=session_id)
        wanted = _scope(scope) if scope else None
        rows = table.overrides(self._store, place.reads, limit=limit)
        found = tuple(_statement(row) for row in rows if wanted in (None, row.scope))
        return Listing("statements", found, (*said, *place.warnings))

    def remove(self, what: str | int, *, project: str | None = None, session_id: str | None = None) -> Changed:
        """Hide a statement, named by its id or its text, or by a part of its text that no other has.

        Raises StatementNotFoundError, ConflictError (several_statements).
        """
        said = str(what).strip()
        with self._store.transaction():
            if match := _ID.fullmatch(said):
                row = live_observation(self._store, int(match[1]))
                if row.type != "identity":
                    raise StatementNotFoundError(said, kind=row.type)
                return self._observations().delete(row.id)
            place = self._projects.for_read(project, session_id=session_id)
            rows = table.overrides(self._store, place.reads, limit=MOST) if said else []
            found = [row for row in rows if says_the_same(row.content, said)]
            found = found or [row for row in rows if folded(said) in folded(row.content)]
            if not found:
                raise StatementNotFoundError(said)
            if len(found) > 1:
                named = "; ".join(f"[#{row.id}] {row.content[:80]}" for row in found[:5])
                raise ConflictError(
                    f"several statements have {said[:80]!r}: {named}; nothing was removed",
                    hint="give the id of one",
                    code="several_statements",
                )
            return self._observations().delete(found[0].id)

    # --- what a session taught ---------------------------------------------------------------------------

    def learn(self, statement: str, *, session_id: str, tool_name: str, at: str | None = None) -> Saved | None:
        """Keep what a person said about themselves in a session, ``at`` a time; None where it is known, or was removed.

        Raises SessionNotFoundError. Call inside a transaction.
        """
        known = table.statements(self._store, scope="personal", project="")
        same = (row for row in known if says_the_same(row.content, statement) or holds(row.content, statement))
        if (old := next(same, None)) is not None:
            if old.unchecked == WAITS and old.session_id != session_id:  # said again, it waits no longer
                self._observations().accept(old.id)
            return None
        if table.was_removed(self._store, content_hash(statement)):
            return None
        with self._sessions.reopened_for_a_save(session_id):
            return self.add(statement, session_id=session_id, origin="derived", tool_name=tool_name, at=at)

    # --- the profile -------------------------------------------------------------------------------------

    def profile(
        self, *, scope: str | None = None, project: str | None = None, session_id: str | None = None
    ) -> Profile:
        """Return the person in a few lines, or how to work with them in a project; empty where nobody wrote it."""
        wanted = _scope(scope)
        place = self._projects.for_read(project, session_id=session_id)
        row = table.profile(self._store, scope=wanted, project=place.project)
        if row is None:
            return Profile(None, "", wanted, place.project, "", "", place.warnings)
        return Profile(row.id, row.content, wanted, row.project, row.origin, row.updated_at, place.warnings)

    def write_profile(
        self,
        text: str,
        *,
        scope: str | None = None,
        project: str | None = None,
        session_id: str | None = None,
        origin: Origin = "agent",
    ) -> Saved:
        """Write the profile anew; the text before becomes a version, and upkeep leaves this one alone."""
        wanted = _scope(scope)
        with self._store.transaction():
            if wanted == "personal" and (old := table.profile(self._store, scope=wanted, project=None)) is not None:
                project = old.project  # one profile, wherever it is written
            title = _TITLES[wanted]
            if wanted == "project":
                title += f" {self._projects.for_read(project, session_id=session_id).project}"
            draft = Draft(title, text, "identity", wanted, PROFILE, origin=origin)
            return self._observations().save(draft, project=project, session_id=session_id)

    def rewrite_profile(self, now: datetime | None = None) -> dict[str, int]:
        """Write the personal profile from what is known of the person, as upkeep does.

        A profile that a person or an agent wrote is left alone, and one that was deleted stays so. Where nothing is
        known any more it is archived. The counts: ``sources`` read, and 1 for what became of the profile: ``written``,
        ``unchanged``, ``kept``, ``archived`` or ``empty``.
        """
        moment = to_text(now or self._journal.moment())
        with self._store.transaction():
            old = table.profile(self._store, scope="personal", project=None)
            if old is not None and old.origin != "derived":
                return {"sources": 0, "kept": 1}
            sources = sources_of(self._store, moment)
            return {"sources": len(sources.rows), self._rewritten(old, sources): 1}

    def _rewritten(self, old: Observation | None, sources: Sources) -> str:
        if not sources.rows:
            if old is None:
                return "empty"
            self._observations().update(old.id, Change(archived=True))
            return "archived"
        if old is None and table.profile_was_deleted(self._store, scope="personal"):
            return "kept"
        text = profile_text(sources)
        if old is not None and old.content == text:
            return "unchanged"
        home = old or sources.rows[0]
        draft = Draft(_TITLES["personal"], text, "identity", "personal", PROFILE, tool_name=_TOOL, origin="derived")
        with self._sessions.reopened_for_a_save(home.session_id):
            self._observations().save(draft, project=home.project, session_id=home.session_id)
        return "written"


def _scope(scope: str | None) -> Scope:
    wanted = clean_scope(scope) or "personal"
    if wanted == "global":
        raise InvalidArgumentError("scope", scope, expected="personal (every project) or project")
    return wanted


def _statement(row: Observation) -> Statement:
    return Statement(row.id, row.content, row.scope, row.project, row.origin, row.created_at)
