"""Read the history of a checkout through the git program: which commits there are, and what their messages say."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path

from engram_py.dataclass import dataclass
from engram_py.documents.values import Cut, Read
from engram_py.git.program import Deadline, ask_git
from engram_py.lazy import regex
from engram_py.text.words import derived_terms
from engram_py.times import parse_time, to_text

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
        reverted = [("reverts", one) for one in _REVERTS.findall(self.body)]
        return tuple(dict.fromkeys([*reverted, *(("fixes", one.lower()) for one in _FIXES.findall(self.trailers))]))

    @property
    def gives_reason(self) -> bool:
        """Whether the message says more than its subject."""
        return bool(self.links) or _WORD.search(self.body) is not None


def new_commits(root: Path, head: str, since: str, deadline: Deadline) -> list[str] | None:
    """The commits that ``head`` has and ``since`` has not, the oldest first; None where git does not say."""
    return _listed(root, head, since, deadline, "--reverse")


def lost_commits(root: Path, head: str, since: str, deadline: Deadline) -> list[str] | None:
    """Return the commits that ``since`` had and ``head`` has not: the history was rewritten, or is another branch's."""
    return _listed(root, since, head, deadline) if since else []


def _listed(root: Path, head: str, without: str, deadline: Deadline, *options: str) -> list[str] | None:
    given = [head, f"^{without}"] if without else [head]
    answer = ask_git(root, "rev-list", *options, "--stdin", given=given, deadline=deadline, limit=_MAX_LIST)
    return answer[0].decode("ascii", "replace").split() if answer and answer[1] else None


def read_commits(root: Path, ids: Sequence[str], deadline: Deadline) -> list[Commit] | None:
    """These commits, in their order; None where git does not say. A partial clone may lack what tells their files."""
    found = _read_commits(root, ids, deadline, "--name-only")
    return _read_commits(root, ids, deadline, "--no-patch") if found is None else found


def _read_commits(root: Path, ids: Sequence[str], deadline: Deadline, files: str) -> list[Commit] | None:
    mark = secrets.token_hex(16)  # nobody can have written it into a message
    shape = f"--format={mark}{'%x00'.join(_FIELDS)}%x00"
    answer = ask_git(
        root, "-c", "log.showRoot=true", "log", "--stdin", "--no-walk=unsorted", files, "--no-renames",
        "--no-color", "--no-ext-diff", "--ignore-submodules=all", "--encoding=UTF-8", "-z", shape,
        given=ids, deadline=deadline, limit=_MAX_BATCH,
    )  # fmt: skip
    if answer is None or not answer[1]:
        return None
    records = answer[0].split(mark.encode())[1:]
    return [one for one in map(_commit, records) if one is not None]


def _commit(record: bytes) -> Commit | None:
    fields = record.decode("utf-8", "replace").split("\0")
    if len(fields) < len(_FIELDS):
        return None
    commit, author, at, subject, body, trailers = fields[: len(_FIELDS)]
    moment = parse_time(at)
    if moment is None:
        return None
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


def documents(commits: Sequence[Commit]) -> Iterator[Read]:
    """Yield the documents that commits make: those whose message gives a reason, each one passage."""
    from engram_py.capture.redact import redact_head

    for one in commits:
        if not one.gives_reason:
            continue
        subject, body = redact_head(one.subject, _TITLE_CHARS).text, redact_head(one.body, MESSAGE_CHARS).text
        text = f"{subject}\n\n{body}".strip()
        yield Read(
            path=one.id,
            title=subject,
            hash=hashlib.sha256(text.encode("utf-8", "replace")).hexdigest(),
            passages=(Cut(subject, (), body, 3, 3 + body.count("\n")),),
            at=one.at,
            terms=(" ".join(filter(None, (derived_terms(subject, body), derived_terms(*one.files)))),),
            size=len(text),
            author=redact_head(one.author, _AUTHOR_CHARS).text,
            files=tuple(name for name in one.files if not redact_head(name, _TITLE_CHARS).count),
            links=one.links,
        )
