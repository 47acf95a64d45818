"""The answer of a search: hits, how they were found, and why there are none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from engram_py.base.dataclass import dataclass
from engram_py.base.reasons import Reason, Told
from engram_py.memory.observations.values import MOST_COUNTED, RelationNote, Scope

if TYPE_CHECKING:
    from engram_py.memory.observations.values import AnchorState


MOST_OF_A_KIND = 3


class Text(Protocol):
    """A text that a search ranks: a memory, or a passage of a document. Texts of one ``group`` (a session, a document)
    stand in the order of their ids."""

    @property
    def id(self) -> int: ...
    @property
    def title(self) -> str: ...
    @property
    def content(self) -> str: ...
    @property
    def topic_key(self) -> str | None: ...
    @property
    def aliases(self) -> str: ...
    @property
    def group(self) -> str: ...
    @property
    def is_summary(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class LadderStep:
    """One step of the ladder: how many rows it added, and why the search went on or stopped."""

    name: str
    found: int
    why: Reason


@dataclass(frozen=True, slots=True)
class WordNote:
    """A word of the query: in how many rows it stands, its weight (idf), and what was done with it."""

    word: str
    rows: int
    idf: float
    use: Reason


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers behind a hit's place, in the order of the answer.

    Without vectors ``relevance`` is the sum of two thirds of ``passage`` and a third of ``whole`` (BM25 of the best
    passage and of the whole text), ``lent`` (words of neighbours) and ``session``; ``score`` is that times ``factors``.
    ``coverage`` is the share of the question that it holds, ``meaning`` how near its vector is beside what the nearest
    of as many texts is by chance. ``recency`` is 1 now, and half of that after each half-life.
    """

    id: int
    passage: float
    whole: float
    lent: float
    session: float
    coverage: float
    meaning: float | None
    relevance: float
    factors: dict[str, float]
    score: float
    words: tuple[str, ...]
    recency: float = 1.0


@dataclass(frozen=True, slots=True)
class Explain:
    """The explanation of a search. ``seconds`` is the time of the whole search."""

    rungs: tuple[LadderStep, ...]
    words: tuple[WordNote, ...]
    hits: tuple[Numbers, ...]
    filters: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Related:
    """A memory that came near to being given to a prompt: it has ``words`` of it, or lies near it in meaning.
    ``probability`` is how likely it is needed; ``snippet`` is what a short line has room for beside the title."""

    title: str
    project: str
    words: tuple[str, ...]
    snippet: str
    id: int
    sync_id: str
    probability: float = 0.0


@dataclass(frozen=True, slots=True)
class NoResults:
    """Why nothing was answered.

    No memory has the ``unknown`` words, only other projects have those ``elsewhere``. ``filters`` took ``filtered``
    rows away. ``marked``: phrases or exclusions may hide an answer. ``unworded``: no word says what to look for.
    ``numbered``: the query is nothing but ids. ``others``: there are memories of other projects.
    """

    reason: Reason
    unknown: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    filtered: int = 0
    filters: tuple[str, ...] = ()
    marked: bool = False
    unworded: bool = False
    numbered: bool = False
    others: bool = True


@dataclass(frozen=True, slots=True)
class Hit:
    """Enough of an observation to choose by.

    ``score`` is 0..1 within one answer; ``coverage`` the share of the query it holds. ``snippet`` is the passage that
    answers, empty where the evidence is weak; ``truncated`` says that there is more text. ``branch`` is set when it was
    made where HEAD does not lead; ``like`` is a better hit that says the same. ``goal`` is that of a session.
    ``instead_of`` has the words of the query, and was replaced by this. ``unchecked`` and ``author`` are those of
    ``Observation``.
    """

    id: int
    sync_id: str
    title: str
    type: str
    project: str
    scope: Scope
    topic_key: str | None
    score: float
    snippet: str
    truncated: bool
    pinned: bool
    state: str
    review_after: str | None
    created_at: str
    updated_at: str
    relations: tuple[RelationNote, ...] = ()
    lifecycle: str = "active"
    coverage: float = 1.0
    anchors: tuple[AnchorState, ...] = ()
    branch: str = ""
    like: int | None = None
    goal: str = ""
    instead_of: RelationNote | None = None
    unchecked: str | None = None
    author: str | None = None


@dataclass(frozen=True, slots=True)
class DocumentHit:
    """A passage of a document that answers.

    ``source`` opens it (``docs/adr/0007.md:12``, ``commit:1a2b3c4``). ``line`` is that of the match, the passage goes
    from ``first_line`` to ``last_line``. ``context`` is the description of the collection, the general first; ``notes``
    say what became of it ("reverted by commit 5d6e7f8"). ``order``: it reads like an order to the reader.
    """

    source: str
    collection: str
    project: str
    kind: str
    title: str
    snippet: str
    score: float
    line: int
    first_line: int
    last_line: int
    docid: str
    at: str
    author: str = ""
    context: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    order: bool = False


def counted(memories: int) -> str:
    """Return how many there are, in words, as far as they were counted."""
    said = f"more than {MOST_COUNTED:,}" if memories > MOST_COUNTED else f"{memories}"
    return f"{said} {'memory' if memories == 1 else 'memories'}"


@dataclass(frozen=True, slots=True)
class Results:
    """The results of a search.

    ``rung`` names the step that answered. ``projects`` is None for all of them; ``memories`` counts what can be seen
    from there, little further than MOST_COUNTED. Where nothing was found, ``silence`` says why. No memory has the
    ``unknown`` words. ``sort`` is None for the best first. ``documents`` say what no memory says, their ``score`` is on
    the scale of the memories'.
    """

    query: str
    results: tuple[Hit, ...]
    rung: str
    projects: tuple[str, ...] | None
    memories: int
    warnings: tuple[Told, ...] = ()
    explain: Explain | None = None
    silence: NoResults | None = None
    unknown: tuple[str, ...] = ()
    sort: str | None = None
    documents: tuple[DocumentHit, ...] = ()

    @property
    def page(self) -> list[Hit | DocumentHit]:
        """Memories and documents in one order, best first; at most three of a kind before the other kind is heard."""
        memories, documents = list(self.results), list(self.documents)
        page: list[Hit | DocumentHit] = []
        run = 0
        while memories and documents:
            is_memory = memories[0].score >= documents[0].score
            is_memory = is_memory if run < MOST_OF_A_KIND else not isinstance(page[-1], Hit)
            run = run + 1 if page and isinstance(page[-1], Hit) == is_memory else 1
            page.append(memories.pop(0) if is_memory else documents.pop(0))
        return [*page, *memories, *documents]


@dataclass(frozen=True, slots=True)
class DocumentResults:
    """The results of a search of ``documents`` documents, best first; none of them has the ``unknown`` words."""

    query: str
    results: tuple[DocumentHit, ...]
    projects: tuple[str, ...] | None
    documents: int
    unknown: tuple[str, ...] = ()
    warnings: tuple[Told, ...] = ()
