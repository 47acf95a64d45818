"""Documents: collections, what an update reads and reports, what a search quotes; refusals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from engram_py.base.dataclass import dataclass, field
from engram_py.base.errors import NotFoundError
from engram_py.base.reasons import Sentence, Told, operation, sentence

Kind = Literal["git", "docs", "folder"]
GIT, DOCS = "git", "docs"


@dataclass(frozen=True, slots=True)
class Collection:
    """A named source of documents. ``contexts`` says of a path prefix (``/`` is all) what the documents below it are;
    ``cursor`` is the commit up to which a history is indexed."""

    id: int
    project: str
    name: str
    kind: Kind
    root: str
    globs: tuple[str, ...] = ()
    contexts: dict[str, str] = field(default_factory=dict)
    included: bool = True
    cursor: str = ""
    updated_at: str | None = None
    documents: int = 0

    def contexts_of(self, path: str) -> tuple[str, ...]:
        """Return the descriptions of a path and of the folders above it, the general first."""
        place = f"/{path}"
        prefixes = sorted(self.contexts, key=len)
        return tuple(
            self.contexts[prefix]
            for prefix in prefixes
            if place == prefix or place.startswith(f"{prefix.rstrip('/')}/")
        )


@dataclass(frozen=True, slots=True)
class Cut:
    """A passage of a text: its heading, the headings above it, and its lines (counted from 1)."""

    title: str
    above: tuple[str, ...]
    text: str
    first_line: int
    last_line: int


@dataclass(frozen=True, slots=True)
class Read:
    """A document as an update read it, ready to be stored. ``links`` are pairs of a kind and the id of a commit."""

    path: str
    title: str
    hash: str
    passages: tuple[Cut, ...]
    at: str
    words_of_path: str = ""
    terms: tuple[str, ...] = ()
    size: int = 0
    mtime_ns: int = 0
    author: str = ""
    status: str = ""
    files: tuple[str, ...] = ()
    links: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class SkippedDocument:
    """A file that is not read, and why."""

    path: str
    reason: str | Sentence


@dataclass(frozen=True, slots=True)
class CollectionUpdate:
    """The result of updating a collection. ``unfinished``: there was no time for all; the next goes on from there."""

    collection: str
    project: str
    indexed: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0
    skipped: tuple[SkippedDocument, ...] = ()
    unfinished: bool = False
    warnings: tuple[Told, ...] = ()


@dataclass(frozen=True, slots=True)
class Removed:
    """A collection that was removed with what was indexed of it; the files are as they were."""

    collection: str
    documents: int


@dataclass(frozen=True, slots=True)
class Cleaned:
    """The number of documents that were, or would be, forgotten because they are gone from their collections."""

    documents: int
    dry_run: bool


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a document and its number."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Opened:
    """Lines of a document as it is. ``source`` names it; ``notes`` say whether it holds; ``more`` that it goes on."""

    source: str
    title: str
    docid: str
    lines: tuple[Line, ...]
    collection: str
    context: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    more: bool = False
    warnings: tuple[Told, ...] = ()


@dataclass(frozen=True, slots=True)
class OpenedSeveral:
    """Several documents, and what could not be opened with its reason."""

    documents: tuple[Opened, ...]
    skipped: tuple[SkippedDocument, ...] = ()
    warnings: tuple[Told, ...] = ()


@dataclass(frozen=True, slots=True)
class Overview:
    """Counts of the documents of a project that answer questions: commits whose message gives a reason, decision
    records,
    other documents."""

    project: str
    commits: int = 0
    decisions: int = 0
    documents: int = 0

    @property
    def is_nothing(self) -> bool:
        return not (self.commits or self.decisions or self.documents)


@dataclass(frozen=True, slots=True)
class Telling:
    """A document that answers a question about the repository, and how it begins."""

    source: str
    title: str
    says: str
    at: str
    author: str = ""


@dataclass(frozen=True, slots=True)
class Tour:
    """A tour of a repository's documents: counts, and the three that tell most."""

    overview: Overview
    told: tuple[Telling, ...]
    warnings: tuple[Told, ...] = ()


class DocumentNotFoundError(NotFoundError):
    code = "document_not_found"

    def __init__(self, name: str, near: Sequence[str] = (), *, ignored: str = "") -> None:
        self.name, self.near = name[:200], list(near)
        why = f": {ignored}" if ignored else ""
        finds = sentence(operation("search"), " finds documents by their words")
        hint = f"did you mean {', '.join(near)}?" if near else finds
        facts = {"found": False, "suggestions": self.near}
        super().__init__(f"no document {self.name!r}{why}", hint=hint, facts=facts)


class CollectionNotFoundError(NotFoundError):
    code = "collection_not_found"

    def __init__(self, name: str, known: Sequence[str]) -> None:
        self.name, self.known = name[:200], list(known)
        hint = f"there are {', '.join(known)}" if known else "`engram collection update` makes git and docs"
        super().__init__(f"no collection {self.name!r} here", hint=hint)
