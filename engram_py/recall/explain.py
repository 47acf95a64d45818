"""How an answer came about: what each step of the ladder found, what each word is worth, and each hit's numbers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rung:
    """One step of the ladder: how many rows it added, and why the search went on or stopped."""

    name: str
    found: int
    why: str


@dataclass(frozen=True, slots=True)
class WordNote:
    """A word of the query: in how many rows it stands, its weight (idf), and what was done with it."""

    word: str
    rows: int
    idf: float
    use: str


@dataclass(frozen=True, slots=True)
class Numbers:
    """What a hit's place is made of (the formula of ``relevance`` is ``recall.score.settle``'s). ``unasked`` counts the
    words of its title that nobody asked for, ``passage`` is the share of the question that its best passage covers, as
    the floor weighs it; ``score`` is relevance times ``factors`` and stands in the order of the
    answer."""

    id: int
    bm25: float
    lent: float
    closeness: float
    unasked: int
    session: float
    coverage: float
    passage: float
    relevance: float
    factors: dict[str, float]
    score: float
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Explain:
    """``seconds`` is the time of the whole search; ``floor`` the coverage below which this question is not answered."""

    rungs: tuple[Rung, ...]
    words: tuple[WordNote, ...]
    hits: tuple[Numbers, ...]
    floor: float
    below_floor: int
    filters: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Earlier:
    """A word that no memory has any more: an earlier text of observation ``id`` had it."""

    word: str
    id: int


NO_WORD = "no memory here has any of its words"  # a reason that says nothing new where the words are named


@dataclass(frozen=True, slots=True)
class Silence:
    """Why nothing was answered: words this memory never saw, topics that are near, and what the filters took away.
    ``nearest`` holds at least a third of what is known of the question (0: nothing does); ``promising`` says that it
    is not far from an answer, ``foreign`` that the question is not in English and no memory is in another language, as
    far as small words tell. Only other projects know what stands in ``elsewhere``. The nearest covers ``covered`` of
    the question where ``needed`` is the least; it is ``short`` where that is why there is no answer. Phrases or
    exclusions may be what hides an answer where it is ``marked``; no word says what to look for where it is
    ``unworded``: it is filters, stop words, or none at all; ``numbered`` says that it is nothing but ids. ``others``:
    there are memories of other projects. What stood only in a text that was rewritten since is in ``earlier``."""

    unknown: tuple[str, ...]
    topics: tuple[str, ...]
    filtered: int
    filters: tuple[str, ...]
    nearest: int
    reason: str
    nearest_title: str = ""
    foreign: bool = False
    promising: bool = False
    elsewhere: tuple[str, ...] = ()
    covered: float = 0.0
    needed: float = 0.0
    short: bool = False
    marked: bool = False
    unworded: bool = False
    numbered: bool = False
    others: bool = True
    earlier: tuple[Earlier, ...] = ()
