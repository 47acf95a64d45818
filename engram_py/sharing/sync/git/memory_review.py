"""Tell reviewers what the commits of a range do to a repository's readable memories: what they add, change and remove,
and which memory of the range's base a new one, or the code beside it, contradicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest

from engram_py.base.database.store import Store
from engram_py.base.dataclass import dataclass
from engram_py.base.files import readable
from engram_py.base.git.program import Deadline, ask_git
from engram_py.base.git.repository import Repository
from engram_py.guidance.guards.values import Checked, NoDiffError
from engram_py.memory.observations.table import by_sync_id
from engram_py.recall.contradictions import Candidates
from engram_py.sharing.sync.git.memory_file import (
    MOST_FILE_BYTES,
    WRITTEN,
    MemoryFile,
    MemoryFileError,
    mutations,
    parse_named,
)
from engram_py.sharing.sync.git.memory_folder import ENDING, FOLDER, tree_of
from engram_py.sharing.sync.git.table import ChunkRefusal
from engram_py.sharing.sync.replica.replica import Replica

_SECONDS = 60.0
_MOST_BYTES = 2**30
_SHOWN_CHARS = 160
_LINK, _FOLDER = "120000", "040000"


@dataclass(frozen=True, slots=True)
class ReviewedMemory:
    """A memory that a range adds (``parts`` empty), changes or removes. ``file`` is its path in the repository, ``was``
    and ``now`` the first line that differs before and after. ``guarded``: it brings a guard."""

    file: str
    title: str
    type: str
    parts: tuple[str, ...] = ()
    was: str = ""
    now: str = ""
    guarded: bool = False


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A memory of the range that may say the opposite of one of its base; ``why`` is ``title``, ``topic`` or
    ``conflicts_with``."""

    file: str
    title: str
    other_id: str
    other_file: str
    other_title: str
    other_type: str
    why: str


@dataclass(frozen=True, slots=True)
class MemoryReview:
    """What a range does to the memories, and where its code is against the decisions of its base."""

    span: str
    added: tuple[ReviewedMemory, ...] = ()
    changed: tuple[ReviewedMemory, ...] = ()
    removed: tuple[ReviewedMemory, ...] = ()
    replaced: tuple[Contradiction, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    unreadable: tuple[ChunkRefusal, ...] = ()
    code: Checked | None = None


@dataclass(frozen=True, slots=True)
class RangeMemories:
    """The readable memories before and after a range, by file name; those that it leaves alone stand in both."""

    span: str
    before: dict[str, MemoryFile]
    after: dict[str, MemoryFile]
    unreadable: tuple[ChunkRefusal, ...]

    @property
    def touched(self) -> list[str]:
        """The names of the files that say something else after the range than any file said of theirs before."""
        old = {file.sync_id: file for file in self.before.values()}
        return [name for name, file in self.after.items() if _parts(old.get(file.sync_id), file)]


def memories_of(repository: Repository | None, span: str) -> RangeMemories:
    """Return the memories at both ends of ``A..B``, from where the two parted. Raises NoDiffError."""
    if repository is None or ".." not in span or span.startswith("-"):
        raise NoDiffError(span)
    first, _, last = span.partition("..")
    last = last.lstrip(".") or "HEAD"
    asked = ask_git(repository.root, "merge-base", "--", first or "HEAD", last, deadline=Deadline())
    base = asked[0].decode().strip() if asked else first
    trees = [_tree(repository, one, span) for one in (base, last)]
    files = {blob for tree in trees for mode, blob in tree.values() if mode not in (_LINK, _FOLDER)}
    texts = _blobs(repository, files, span)
    (before, _), (after, unreadable) = (_read(tree, texts) for tree in trees)
    return RangeMemories(span, before, after, tuple(unreadable))


def _read(
    tree: Mapping[str, tuple[str, str]], texts: Mapping[str, bytes]
) -> tuple[dict[str, MemoryFile], list[ChunkRefusal]]:
    """Return what files say, and why some say nothing: for what a sync refuses."""
    refused: list[ChunkRefusal] = []
    names: dict[str, str] = {}

    def read(name: str) -> MemoryFile:
        mode, blob = tree[name]
        file = parse_named(_bytes(mode, texts.get(blob)), name)
        mutations(file, "", file.clock)  # what it says can be said
        if (other := names.setdefault(file.sync_id, name)) != name:
            raise MemoryFileError(f"its id is that of {other}: take the line `id:` out of the new one")
        return file

    found = dict(readable(tree, read, aside=lambda name, why: refused.append(ChunkRefusal(name, why))))
    return found, refused


def _bytes(mode: str, data: bytes | None) -> bytes:
    if data is None:
        raise MemoryFileError("it is a symbolic link" if mode == _LINK else "it is a folder: files in it are not read")
    if len(data) > MOST_FILE_BYTES:
        raise MemoryFileError(f"it has {len(data):,} bytes; the limit is {MOST_FILE_BYTES:,}")
    return data


def review(found: RangeMemories, store: Store, replica: Replica, candidates: Candidates, project: str) -> MemoryReview:
    """Say what a range does, by the ``store`` of a memory that has nothing else: it takes the base in, then what is
    new. What a memory says it supersedes is no contradiction."""
    made = [one for file in found.before.values() for one in mutations(file, project)]
    replica.apply(made, own=True)
    old = {file.sync_id: (name, file) for name, file in found.before.items()}
    now = {file.sync_id for file in found.after.values()}
    added: list[ReviewedMemory] = []
    changed: list[ReviewedMemory] = []
    against: list[Contradiction] = []
    for name in found.touched:
        file = found.after[name]
        _, before = old.get(file.sync_id, ("", None))
        (added if before is None else changed).append(_reviewed(name, file, before))
        if before is None or (before.title, before.content, before.topic) != (file.title, file.content, file.topic):
            replica.apply(mutations(file, project)[:1], own=True)
            stored = by_sync_id(store, file.sync_id)
            alike = [row["sync_id"] for _, row in candidates.similar(stored)] if stored is not None else []
            against += _contradictions(name, file, old, alike)
    removed = [_reviewed(name, file, file) for key, (name, file) in old.items() if key not in now]
    replaced = [one for one in against if one.why == "supersedes"]
    rest = [one for one in against if one.why != "supersedes" and one.other_file not in {gone.file for gone in removed}]
    return MemoryReview(
        found.span, tuple(added), tuple(changed), tuple(removed), tuple(replaced), tuple(rest), found.unreadable
    )


def _contradictions(
    name: str, file: MemoryFile, old: Mapping[str, tuple[str, MemoryFile]], alike: Sequence[str]
) -> list[Contradiction]:
    """Return what a memory replaces or may contradict, each with the first reason that holds."""
    found = dict.fromkeys(file.shown.get("supersedes", ()), "supersedes")
    found |= dict.fromkeys(file.shown.get("conflicts_with", ()), "conflicts_with")
    for key, (_, other) in old.items():
        if file.topic and other.topic == file.topic and key != file.sync_id:
            found.setdefault(key, "topic")
    for key in alike:
        found.setdefault(key, "title")
    return [_contradiction(name, file, *old[key], why) for key, why in found.items() if key in old]


def _contradiction(name: str, file: MemoryFile, other_name: str, other: MemoryFile, why: str) -> Contradiction:
    return Contradiction(_path(name), file.title, other.sync_id, _path(other_name), other.title, other.type, why)


def _reviewed(name: str, file: MemoryFile, before: MemoryFile | None) -> ReviewedMemory:
    was, now = _difference(before.content if before else "", file.content)
    parts = _parts(before, file) if before else ()
    return ReviewedMemory(_path(name), file.title, file.type, parts, was, now, bool(file.guards))


def _difference(before: str, after: str) -> tuple[str, str]:
    """Return the first line that two texts differ in, cut to what a reviewer reads at once."""
    old, new = before.split("\n"), after.split("\n")
    pairs = ((one, other) for one, other in zip_longest(old, new, fillvalue="") if one != other)
    was, now = next(pairs, ("", ""))
    return was[:_SHOWN_CHARS], now[:_SHOWN_CHARS]


def _parts(before: MemoryFile | None, file: MemoryFile) -> tuple[str, ...]:
    """Return what differs: what people write, and the lines that the program keeps where a person changed them."""
    if before is None:
        return WRITTEN
    parts = tuple(part for part in WRITTEN if getattr(before, part) != getattr(file, part))
    kept = (before.clock, before.state) != (file.clock, file.state)
    pinned = before.state.get("pinned") != file.state.get("pinned")
    return (*parts, "state") if pinned or (kept and file.edited) else parts


def _path(name: str) -> str:
    return f"{FOLDER}/{name}"


def _tree(repository: Repository, commit: str, span: str) -> dict[str, tuple[str, str]]:
    """Return the files of memories in a commit, and folders beside them: mode and git's name of each."""
    wanted = ("ls-tree", "-z", "--end-of-options", commit, f"{FOLDER}/")
    asked = ask_git(repository.root, *wanted, deadline=Deadline(_SECONDS), limit=_MOST_BYTES)
    if asked is None:
        raise NoDiffError(span)
    entries = tree_of(asked[0].decode("utf-8", "replace")).items()
    return {name: one for name, one in entries if name.endswith(ENDING) or one[0] == _FOLDER}


def _blobs(repository: Repository, names: set[str], span: str) -> dict[str, bytes]:
    """Return the bytes of git's objects by their names."""
    wanted, found, at = sorted(names), dict[str, bytes](), 0
    asked = ask_git(
        repository.root, "cat-file", "--batch", deadline=Deadline(_SECONDS), given=wanted, limit=_MOST_BYTES
    )
    if asked is None or not asked[1]:
        raise NoDiffError(span)
    for name in wanted:
        end = asked[0].index(b"\n", at)
        size = int(asked[0][at:end].split(b" ")[2])
        found[name] = asked[0][end + 1 : end + 1 + size]
        at = end + size + 2
    return found
