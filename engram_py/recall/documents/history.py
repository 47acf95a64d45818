"""Bring a ``git`` collection up to date: index the commits that are new, as the git program lists them, take out those
that are gone.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from engram_py.base.database.store import Store
from engram_py.base.dataclass import dataclass, field
from engram_py.base.files import readable
from engram_py.base.git.answers import is_shallow
from engram_py.base.git.program import Deadline, ask_git
from engram_py.base.git.repository import Repository
from engram_py.base.lazy import regex
from engram_py.base.text.words import derived_terms
from engram_py.base.times import parse_time, to_text
from engram_py.recall.documents import table
from engram_py.recall.documents.values import Collection, CollectionUpdate, Cut, Read, SkippedDocument

_MAX_LIST = 64 << 20  # a million and a half commits
_MAX_BATCH = 256 << 20
MESSAGE_CHARS = 20_000
_TITLE_CHARS, _AUTHOR_CHARS = 300, 80
_MOST_FILES = 100
_FIELDS = ("%H", "%an", "%aI", "%s", "%b", "%(trailers:unfold)")
_REVERTS = regex(r"^This reverts commit ([0-9a-f]{7,64})", re.MULTILINE)
_FIXES = regex(r"^Fixes:\s*([0-9a-f]{7,64})\b", re.MULTILINE | re.IGNORECASE)
_WORD = regex(r"\w\w")


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit: its message without the trailers, and the files it touched."""

    id: str
    author: str
    at: str
    subject: str
    body: str
    trailers: str
    files: tuple[str, ...]

    @property
    def links(self) -> tuple[tuple[str, str], ...]:
        """The commits that it takes back or mends."""
        reverted = [("reverts", sha) for sha in _REVERTS.findall(self.body)]
        return tuple(dict.fromkeys([*reverted, *(("fixes", sha.lower()) for sha in _FIXES.findall(self.trailers))]))

    @property
    def gives_reason(self) -> bool:
        """Whether the message says more than its subject."""
        return bool(self.links) or _WORD.search(self.body) is not None


def _listed(root: Path, head: str, without: str, deadline: Deadline, *options: str) -> list[str] | None:
    """Return the commits that ``head`` has and ``without`` has not; None where git does not say."""
    given = [head, f"^{without}"] if without else [head]
    answer = ask_git(root, "rev-list", *options, "--stdin", given=given, deadline=deadline, limit=_MAX_LIST)
    return answer[0].decode("ascii", "replace").split() if answer and answer[1] else None


def read_commits(
    root: Path, ids: Sequence[str], deadline: Deadline, aside: Callable[[str, str], object] = lambda commit, why: None
) -> list[Commit] | None:
    """Return the commits in the order of ``ids``; None where git does not say. A partial clone may lack their files.

    ``aside`` is told of each that cannot be read, and why.
    """
    records = _records(root, ids, deadline, "--name-only")
    if records is None:
        records = _records(root, ids, deadline, "--no-patch")
    if records is None:
        return None
    return [commit for _, commit in readable(records, _commit, aside=lambda record, why: aside(_id_of(record), why))]


def _id_of(record: bytes) -> str:
    return record.partition(b"\0")[0].decode("ascii", "replace")


def _records(root: Path, ids: Sequence[str], deadline: Deadline, files: str) -> list[bytes] | None:
    mark = secrets.token_hex(16)  # nobody can have written it into a message
    shape = f"--format={mark}{'%x00'.join(_FIELDS)}%x00"
    answer = ask_git(
        root, "-c", "log.showRoot=true", "log", "--stdin", "--no-walk=unsorted", files, "--no-renames",
        "--no-color", "--no-ext-diff", "--ignore-submodules=all", "--encoding=UTF-8", "-z", shape,
        given=ids, deadline=deadline, limit=_MAX_BATCH,
    )  # fmt: skip
    if answer is None or not answer[1]:
        return None
    return answer[0].split(mark.encode())[1:]


def _commit(record: bytes) -> Commit:
    """Return the commit in a record of git's output. Raises ValueError."""
    fields = record.decode("utf-8", "replace").split("\0")
    commit, author, at, subject, body, trailers = fields[: len(_FIELDS)]
    moment = parse_time(at)
    if moment is None:
        raise ValueError(f"its date is {at[:40]!r}")
    files = [name.lstrip("\n") for name in fields[len(_FIELDS) :]]
    body = body[:MESSAGE_CHARS].strip()
    trailers = trailers.strip()
    return Commit(
        id=commit,
        author=" ".join(author.split())[:_AUTHOR_CHARS],
        at=to_text(moment),
        subject=" ".join(subject.split())[:_TITLE_CHARS],
        body=body.removesuffix(trailers).strip() if trailers else body,
        trailers=trailers[:MESSAGE_CHARS],
        files=tuple(name for name in files if name)[:_MOST_FILES],
    )


def commit_documents(commits: Sequence[Commit]) -> Iterator[Read]:
    """Yield the documents that commits make: those whose message gives a reason, each one passage."""
    from engram_py.base.capture.redact import redact_head

    for commit in commits:
        if not commit.gives_reason:
            continue
        subject, body = redact_head(commit.subject, _TITLE_CHARS).text, redact_head(commit.body, MESSAGE_CHARS).text
        text = f"{subject}\n\n{body}".strip()
        yield Read(
            path=commit.id,
            title=subject,
            hash=hashlib.sha256(text.encode("utf-8", "replace")).hexdigest(),
            passages=(Cut(subject, (), body, 3, 3 + body.count("\n")),),
            at=commit.at,
            terms=(" ".join(filter(None, (derived_terms(subject, body), derived_terms(*commit.files)))),),
            size=len(text),
            author=redact_head(commit.author, _AUTHOR_CHARS).text,
            files=tuple(name for name in commit.files if not redact_head(name, _TITLE_CHARS).count),
            links=commit.links,
        )


# What one transaction stores: others write between two of them.
BATCH = 100
# For git to list a history, and to print a batch of it.
_LIST_SECONDS, _BATCH_SECONDS = 60.0, 60.0

Report = Callable[[int, int], None]


@dataclass(slots=True)
class _Counts:
    indexed: int = 0
    unchanged: int = 0
    removed: int = 0
    skipped: int = 0
    unreadable: list[SkippedDocument] = field(default_factory=list)
    unfinished: bool = False


def update_history(
    store: Store,
    collection: Collection,
    repository: Repository,
    *,
    now: str,
    until: float | None = None,
    report: Report | None = None,
) -> CollectionUpdate:
    """Index what HEAD has and the collection has not, until then (``time.monotonic``).

    What a run that died had stored is found and not read again: the cursor moves once all is there.
    """
    head, counts = repository.commit, _Counts()

    def result(*warnings: str) -> CollectionUpdate:
        plain = [SkippedDocument(f"{counts.skipped} commits", "the message gives no reason")] * bool(counts.skipped)
        return CollectionUpdate(
            collection.name, collection.project, indexed=counts.indexed, unchanged=counts.unchanged,
            removed=counts.removed, skipped=(*counts.unreadable, *plain),
            unfinished=counts.unfinished, warnings=warnings,
        )  # fmt: skip

    # What was cut off when it was cloned may be fetched later, below the same HEAD.
    state = f"{head} shallow" if is_shallow(repository) else head
    if head is None or state == collection.cursor:
        counts.unchanged = collection.documents
        return result()
    root = repository.root
    since, _, was_shallow = collection.cursor.partition(" ")
    since = "" if was_shallow and state == head else since
    new = _listed(root, head, since, _deadline(until, _LIST_SECONDS), "--reverse")
    if new is None and since:  # git knows the commit no more
        since, new = "", _listed(root, head, "", _deadline(until, _LIST_SECONDS), "--reverse")
    if new is None:
        counts.unfinished = True
        return result("git did not list the history, or not in time")
    counts.unchanged = collection.documents
    counts.removed = _remove_lost(store, collection, root, head, since, new, until)
    counts.unchanged -= counts.removed
    for at in range(0, len(new), BATCH):
        if until is not None and time.monotonic() >= until:
            counts.unfinished = True
            return result()
        if not _store(store, collection, root, new[at : at + BATCH], counts, until):
            counts.unfinished = True
            return result("git did not print the commits, or not in time")
        if report is not None:
            report(min(at + BATCH, len(new)), len(new))
    with store.transaction():
        store.update("collections", {"id": collection.id}, {"cursor": state, "updated_at": now})
    return result()


def _deadline(until: float | None, most: float) -> Deadline:
    return Deadline(most if until is None else max(0.0, min(most, until - time.monotonic())))


def _store(
    store: Store, collection: Collection, root: Path, ids: list[str], counts: _Counts, until: float | None
) -> bool:
    """Index a batch of commits; return whether git printed it."""
    indexed = table.known_paths(store, collection.id, ids)
    missing = [commit for commit in ids if commit not in indexed]

    def aside(commit: str, why: str) -> None:
        counts.unreadable.append(SkippedDocument(commit[:12], why))

    read = read_commits(root, missing, _deadline(until, _BATCH_SECONDS), aside) if missing else []
    if read is None:
        return False
    documents = list(commit_documents(read))
    store.give_way()
    with store.transaction():
        # Another process may have stored some of them meanwhile.
        stored = table.known_paths(store, collection.id, [document.path for document in documents])
        for document in documents:
            if document.path not in stored:
                table.put(store, collection.id, document)
    counts.indexed += len(documents)
    counts.skipped += len(read) - len(documents)
    return True


def _remove_lost(
    store: Store, collection: Collection, root: Path, head: str, since: str, new: list[str], until: float | None
) -> int:
    """Remove the commits that are gone from HEAD's history; return their number."""
    if not collection.documents:
        return 0
    if since:
        # The history was rewritten, or is another branch's.
        gone = _listed(root, since, head, _deadline(until, _LIST_SECONDS)) or []
        if not gone:
            return 0
        lost = table.known_paths(store, collection.id, gone)
    else:
        lost = table.known(store, collection.id).keys() - set(new)
    rows = table.known(store, collection.id)
    ids = [rows[path]["id"] for path in lost if rows[path]["active"]]
    with store.transaction():
        table.retire(store, ids)
    return len(ids)
