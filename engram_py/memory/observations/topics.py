"""Topics: suggest a key for a text, find a near one that is in use, tell a misspelled type, and say which of the
observations that claim a topic is live.

Two machines may open one topic key before they hear of each other, so several rows can claim it: rows of one project,
scope and topic key that nobody deleted. The one whose text was written last holds the topic; an unchecked one
(``memory/privacy/provenance.py``) never does where the user's own claims it. The others are *folded* into the holder:
hidden, and their texts are shown among its versions.

What folds is a view and no change. A folded row keeps its state, its clock and its place in what other machines are
told; ``folded_into`` and the ``deleted_at`` beside it are this machine's own columns. ``fold`` works the view out of
the rows that are here, each time one of them arrives or leaves. So it is the same on machines that know the same rows,
in whatever order they came, and a text comes back when the one that stood before it is gone.

Here a person sees one memory. What they do to it here happens to all of it: ``follow``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from engram_py.base.capture.redact import without_private
from engram_py.base.database.mutation_queue import Journal
from engram_py.base.database.store import Row, Store
from engram_py.base.errors import EmptyFieldError
from engram_py.base.files import lines_of
from engram_py.base.lazy import regex
from engram_py.base.reasons import Reason, reason
from engram_py.base.text.normalize import TOPIC_KEY_LIMIT_CHARS
from engram_py.base.text.words import STOP_WORDS, derived_terms
from engram_py.memory.observations import table
from engram_py.memory.observations.listing import Suggestion
from engram_py.memory.observations.values import TYPES, Observation
from engram_py.memory.privacy.provenance import unchecked

# The most keys of a project that are read for one text.
_MOST_READ = 60


def near_topic(store: Store, key: str, *, project: str, scope: str) -> Suggestion | None:
    """Return the live topic that has this key or a near one, and what holds it."""
    names = _families()
    begin = beginnings(key, families=names)
    read = table.topics_beginning(store, begin, project=project, scope=scope, limit=_MOST_READ)
    topic_key = nearest(key, read, families=names)
    held = table.live_topic(store, topic_key=topic_key, project=project, scope=scope) if topic_key else None
    return Suggestion(held.topic_key or key, held.id, held.title) if held is not None else None


@cache
def _families() -> dict[str, str]:
    """Return the names of each family; ``topic`` has none."""
    return {**{family: family for family in FAMILY_OF_TYPE.values()}, **FAMILY_OF_TYPE, "topic": ""}


# What a key belongs to that nobody chose: a session, an entity, the profile, the fix of an error.
RESERVED = frozenset({"session", "entity", "identity", "failure"})
FAILURE = "failure/"  # the fix of an error, which hooks keep
# Two keys of which one has a word more share at least so many: `auth/login` is not `auth`.
_LEAST_SHARED = 2
_WORD = regex(r"[^\W_]+")
_MOST_BEGINNINGS, _LEAST_LETTERS = 6, 3


def nearest(key: str, others: Iterable[str], *, families: Mapping[str, str]) -> str | None:
    """Return the key that names the same as ``key``: itself, one with its words, or with one word more or less.

    Keys of two families, a bug and a decision, are about two things. ``families`` maps their names to what they mean.
    """
    own = _read(key, families)
    letters = [_shared_with_plural(word) for word in own[1]]
    near: list[tuple[int, bool, str]] = []
    for other in others:
        # To read a key takes longer than to see that it cannot be near.
        if sum(one not in other for one in letters) <= 1:
            beyond = _difference(own, _read(other, families))
            near += [] if beyond is None else [(beyond, other != key, other)]
    return min(near)[2] if near else None


def beginnings(key: str, *, families: Mapping[str, str]) -> tuple[str, ...]:
    """Return how keys near this one may begin: its family, none, or one that says nothing, and one of its words."""
    family, slash, _ = key.partition("/")
    letters = [_shared_with_plural(word) for word in _read(key, families)[1][:_MOST_BEGINNINGS]]
    own = [f"{family}/"] if slash and family in families else []
    heads = [*own, "", *(f"{name}/" for name, meant in families.items() if not meant)]
    return tuple(dict.fromkeys([*(head + one for head in heads for one in letters), *own]))


def _read(key: str, families: Mapping[str, str]) -> tuple[str, list[str]]:
    """Return the family of a key, "" for none, and its telling words."""
    first, slash, subject = key.partition("/")
    known = bool(slash) and (first in families or first in RESERVED)
    words = list(dict.fromkeys(_WORD.findall(_unmarked(subject if known else key))))
    return families.get(first, first) if known else "", [word for word in words if word not in STOP_WORDS] or words


def _difference(one: tuple[str, list[str]], other: tuple[str, list[str]]) -> int | None:
    """Return how many words only one of two keys has, 0 or 1; None where they are not near."""
    (family, words), (other_family, others) = one, other
    if not _may_be_one(family, other_family):
        return None
    fewer, more = sorted((words, others), key=len)
    beyond = len(more) - len(fewer)
    if not fewer or beyond > 1 or (beyond and len(fewer) < _LEAST_SHARED):
        return None
    return beyond if all(any(_same_or_plural(word, one) for one in more) for word in fewer) else None


def may_revise(key: str, other: str) -> bool:
    """Return whether a text whose topic could be ``key`` may revise the topic ``other``."""
    return _may_be_one(*(_read(one, _families())[0] for one in (key, other)))


def _may_be_one(family: str, other: str) -> bool:
    """Return whether the second of two families may hold what is of the first: a bug is no decision."""
    return other not in RESERVED and (family == other or not (family and other))


def _shared_with_plural(word: str) -> str:
    return word[: max(_LEAST_LETTERS, len(word) - 3)]


def _same_or_plural(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return short == long or long in (f"{short}s", f"{short}es") or (short[-1] == "y" and long == f"{short[:-1]}ies")


FAMILY_OF_TYPE = {
    name: family
    for family, names in {
        "architecture": ("architecture", "design", "adr", "refactor"),
        "bug": ("bug", "bugfix", "fix", "incident", "hotfix"),
        "decision": ("decision",),
        "pattern": ("pattern", "convention", "guideline"),
        "config": ("config", "setup", "infra", "infrastructure", "ci"),
        "discovery": ("discovery", "investigation", "root_cause", "root-cause"),
        "learning": ("learning", "learn"),
        "session": ("session_summary",),
    }.items()
    for name in names
}

# Families in order of precedence, each with stems and the endings with which a stem is still the same word.
_STEMS = """
bug: bug s|gy|fix|fixes|fixed, fix es|ed|ing, panic s|ked|king, error s|ed, crash es|ed|ing
bug: regress ion|ions|ed|es, incident s, hotfix es|ed
architecture: architectur e|es|al, design s|ed|ing, adr s, boundar y|ies, hexagonal , refactor s|ed|ing|ings
decision: decision s, tradeoff s, trade-off s, chose n, choos e|es|ing, decid e|es|ed|ing
pattern: pattern s, convention s, naming , guideline s
config: config s|ure|ures|ured|uring|uration|urations|urable, setup s, environment s, env s
config: docker file|files|ized|ised, pipeline s
discovery: discover y|ies|s|ed|ing, investigat e|es|ed|ing|ion|ions, found , root cause s, root-cause s
learning: learn ed|t|ing|ings
"""
_KEYWORDS = [
    (family, *keyword.rpartition(" ")[::2])
    for family, _, keywords in (line.partition(": ") for line in lines_of(_STEMS.strip()))
    for keyword in keywords.split(", ")
]
_NEED_ENDING = frozenset({"architectur", "boundar", "choos", "decid", "discover", "investigat", "learn", "regress"})

_HUMP = regex(r"(?<=[a-z0-9])(?=[A-Z])")
# Marks that the search index takes off Latin letters; in other scripts a mark is a vowel, or makes another letter.
_MARKED = regex("(?<=[a-z])[\u0300-\u036f]+")
_REDACTED = regex(r"\[REDACTED(?::\w+)?\]")


def suggest_topic_key(*, type: str, title: str, content: str) -> str:
    """Return ``family/subject``: a family from the type or the words, a subject from the title. Raises
    EmptyFieldError."""
    if not title.strip() and not content.strip():
        raise EmptyFieldError("title or content")
    family = FAMILY_OF_TYPE.get(type.strip().lower()) or _family_of_words(f"{title} {content}") or _own_family(type)
    room = TOPIC_KEY_LIMIT_CHARS - len(family) - 1
    return f"{family}/{_subject(family, title, content)[:room].strip('-')}"


def _family_of_words(text: str) -> str | None:
    words = _HUMP.sub(" ", text).lower()
    found = (name for name, stem, endings in _KEYWORDS if stem in words and _keyword(stem, endings).search(words))
    return next(found, None)


@cache
def _keyword(stem: str, endings: str) -> re.Pattern[str]:
    """Return the pattern of a stem as a whole word; ``_`` and ``-`` end a word as a blank does."""
    optional = "" if stem in _NEED_ENDING else "?"
    return re.compile(rf"{stem}(?<![^\W_]{stem})(?:{endings}){optional}(?![^\W_])")


def _own_family(type: str) -> str:
    slug = _slug(type)[:40].strip("-")
    return slug if slug and slug != "manual" else "topic"


def _subject(family: str, title: str, content: str) -> str:
    source = _plain(title)
    if not any(map(str.isalnum, source)):
        source = " ".join(_plain(content).split()[:8])
    return _slug(source)[:100].strip("-").removeprefix(f"{family}-") or "general"


def _plain(text: str) -> str:
    text = _REDACTED.sub(" ", without_private(text))
    return " ".join(unicodedata.normalize("NFC", text).lower().split())


def _unmarked(text: str) -> str:
    """Return a text in small letters, the Latin ones without marks: as keys are kept, which ``folded`` is not."""
    text = text.lower()
    return text if text.isascii() else unicodedata.normalize("NFC", _MARKED.sub("", unicodedata.normalize("NFD", text)))


def _slug(text: str) -> str:
    """Return the letters and digits of any script, joined by dashes; Latin letters as the search index has them, so
    that a word of the key is found however it is accented (``Prüfläufe`` is ``pruflaufe``)."""
    kept: list[str] = []
    for char in unicodedata.normalize("NFD", _unmarked(text)):
        is_mark = unicodedata.category(char).startswith("M")
        if char.isalnum() or (is_mark and kept and kept[-1] != "-"):
            kept.append(char)
        elif kept and kept[-1] != "-":
            kept.append("-")
    return unicodedata.normalize("NFC", "".join(kept)).strip("-")


# --- types ------------------------------------------------------------------------------------------------

# Longer types are not compared: that would take seconds for a megabyte.
_TYPE_CHARS = 40
_MOST_SLIPS = 2
_LEAST_TYPE_LETTERS = 6  # `feat` is no `fact`
# Other names of one type, and words of their own that are spelled nearly as one of them.
_ALSO_CALLED = {"bug": "bugfix", "fix": "bugfix", "bugfix": "bugfix"}
_OF_THEIR_OWN = frozenset({"reference", "references", "police", "leaning", "massive"})


def type_notes(types: Iterable[str]) -> tuple[Reason, ...]:
    """Return a note on each type that is none of the usual ones and resembles one."""
    notes = []
    for asked in dict.fromkeys(one for one in types if len(one) <= _TYPE_CHARS):
        family = FAMILY_OF_TYPE.get(asked)
        near = [one for one in TYPES if family and FAMILY_OF_TYPE.get(one) == family]
        near = near or _nearly(asked)
        if asked not in TYPES and near:
            notes.append(reason("unusual_type", type=asked, usual=near[0]))
    return tuple(notes)


def misspelled_type_note(kind: str) -> tuple[Reason, ...]:
    """Return a note where ``kind`` is nearly one of the usual types: a search for that would not find it."""
    near = _nearly(kind) if kind not in TYPES and len(kind) <= _TYPE_CHARS else []
    return (reason("kept_as_type", type=kind, usual=near[0]),) if near else ()


def _nearly(kind: str) -> list[str]:
    """Return the usual type that is meant by another name of it, or by a word that is a slip or two away."""
    plain = kind.replace("-", "").replace("_", "").replace(" ", "")
    if plain in _ALSO_CALLED:
        return [_ALSO_CALLED[plain]]
    if len(plain) < _LEAST_TYPE_LETTERS or kind in _OF_THEIR_OWN:
        return []
    from engram_py.base.text.words import distance  # only an unusual type needs it

    slips = {name: distance(kind, name, _MOST_SLIPS) for name in TYPES}
    nearest = min(TYPES, key=slips.__getitem__)
    return [nearest] if slips[nearest] <= _MOST_SLIPS else []


# A topic: project, scope and key.
Topic = tuple[str, str, str]

_TOPIC = "topic_key = :topic_key and project = :project and scope = :scope"
_CLAIMANTS = f"""
select *, {unchecked("observations")} as unchecked from observations where {_TOPIC} and deleted_at is null
union all
select *, {unchecked("observations")} as unchecked from observations where {_TOPIC} and folded_into is not null
"""

# The view does not hold any more: the holder left, or the row did.
_STALE = """
select row.project, row.scope, row.topic_key, row.folded_into
from observations as row indexed by observations_folded
left join observations as holder
    on holder.sync_id = row.folded_into and holder.deleted_at is null
    and (holder.project, holder.scope, holder.topic_key) = (row.project, row.scope, row.topic_key)
where row.folded_into is not null and holder.id is null
"""

# What another row shows has a digest that begins with a minus and has a slash; what is private has no slash.
_TEXTS = """
select updated_at as at, title, content, arrival from observations where id = :id
union
select created_at, title, content, arrival from observation_versions
where observation_id = :id and (digest is null or digest not like '-%')
order by at, title, content
"""


def topic_holder(observations: Iterable[Any]) -> Any:
    """Return the row that holds the topic among those that claim it: the text written last, of those that somebody
    here stands for if any. What is not of one project alone is the user's to say."""
    return max(
        observations,
        key=lambda row: (
            not row["unchecked"],
            row["arrival"] is None or row["scope"] == "project",
            row["updated_at"],
            row["clock"],
            row["sync_id"],
        ),
    )


def topic_of(row: Any) -> Topic:
    return row["project"], row["scope"], row["topic_key"]


def stale_topics(store: Store) -> set[Topic]:
    """Return the topics whose holder was changed here since they were folded; it shows their texts no more."""
    rows = store.rows(_STALE)
    for row in rows:
        unshow(store, row["folded_into"])
    return {topic_of(row) for row in rows}


def unshow(store: Store, sync_id: str) -> None:
    """Take the texts of folded rows out of the versions of an observation."""
    sql = """
    delete from observation_versions
    where observation_id = (select id from observations where sync_id = :sync_id) and digest like '-%/%'
    """
    store.execute(sql, sync_id=sync_id)


def fold(store: Store, topic: Topic) -> list[Row]:
    """Hide all rows that claim a topic but its holder, and show their texts with it; return those that claim it."""
    project, scope, topic_key = topic
    rows = store.rows(_CLAIMANTS, project=project, scope=scope, topic_key=topic_key)
    if not rows:
        return rows
    holder = topic_holder(rows)
    for row in rows:
        into = None if row["id"] == holder["id"] else holder["sync_id"]
        hidden = row["updated_at"] if into else None
        if (row["folded_into"], row["deleted_at"]) != (into, hidden):
            store.update("observations", {"id": row["id"]}, {"folded_into": into, "deleted_at": hidden})
        unshow(store, row["sync_id"])
    for row in rows:
        if row["id"] != holder["id"]:
            _show(store, row, holder["id"])
    return rows


def _show(store: Store, row: Row, holder: int) -> None:
    """Show the texts of a folded row among the versions of the holder."""
    for place, text in enumerate(store.rows(_TEXTS, id=row["id"])):
        store.execute(
            """
            insert into observation_versions
                (observation_id, version, title, content, created_at, clock, digest, arrival)
            select :holder, coalesce(max(version), 0) + 1, :title, :content, :at, :clock, :digest, :arrival
            from observation_versions where observation_id = :holder
            """,
            **dict(text),
            holder=holder,
            clock=row["clock"],
            digest=f"-{row['sync_id']}/{place:06}",
        )


# Changing these columns changes who claims a topic.
CLAIMING = frozenset({"deleted_at", "project", "scope", "topic_key"})


def follow(store: Store, journal: Journal, old: Observation, values: Mapping[str, Any], clock: str) -> None:
    """Do to what is folded into an observation what a person does to it here: move it, or hide it.

    What they make personal is theirs alone: the texts of other machines stay shared, and the latest is live again.
    """
    rows = store.rows("select * from observations where folded_into = :holder", holder=old.sync_id)
    if not rows:
        return
    told = {name: values[name] for name in CLAIMING & values.keys()}
    now = {"project": old.project, "scope": old.scope, "topic_key": old.topic_key} | told
    if now["scope"] != "personal" and now["topic_key"]:
        for row in rows:
            terms = derived_terms(row["title"], now["topic_key"], row["aliases"], row["content"])
            into = None if told.get("deleted_at") else old.sync_id
            changed = told | {"terms": terms, "folded_into": into, "clock": clock}
            store.update("observations", {"id": row["id"]}, changed)
            journal.changed("observation", row["sync_id"], project=now["project"], clock=clock)
    unshow(store, old.sync_id)
    for topic in {topic_of(rows[0]), topic_of(now)}:
        fold(store, topic)
