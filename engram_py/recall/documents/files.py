"""Bring a collection of files up to date: find those its patterns name, without what is ignored, hidden, linked, binary
or large; read changed files, take out the gone ones.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from engram_py.base.database.store import Row, Store
from engram_py.base.dataclass import dataclass
from engram_py.base.files import changed_ns, exists, lines_of, read_bounded, readable, readable_path
from engram_py.base.files import reason as failure
from engram_py.base.reasons import Told, reason
from engram_py.base.text.words import derived_terms
from engram_py.base.times import to_text
from engram_py.recall.documents import table
from engram_py.recall.documents.passages import passages, split_front_matter, status_of, structure, title_of
from engram_py.recall.documents.values import Collection, CollectionUpdate, Cut, Read, SkippedDocument

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

LIMIT_BYTES = 1 << 20
MOST_FILES = 20_000
_MAX_IGNORE = 1 << 20
_MOST_DEPTH = 40
# Folders of what programs made or fetched, whatever .gitignore says (spec/seed-capabilities.md Q2).
IGNORED = frozenset({"node_modules", "vendor", "dist", "build", "target", "__pycache__", "venv", "site-packages"})
MARKUP = (".md", ".markdown", ".mdx", ".rst", ".adoc")
TEXTS = (*MARKUP, ".txt")
EVERY_TEXT = tuple(f"*{ending}" for ending in TEXTS)

_NAMES = ("README", "CHANGELOG", "CHANGES", "HISTORY", "CONTRIBUTING", "ARCHITECTURE", "DESIGN", "DECISIONS")
_FOLDERS = ("docs", "doc", "adr", "adrs", "decisions", "rfcs", "rfc", "specs", "spec")
# What the ready-made collection `docs` reads.
DOCS = (
    *(f"/*{ending}" for ending in MARKUP),
    *("CLAUDE.md", "AGENTS.md", "GEMINI.md", *_NAMES),
    *(f"{name}{ending}" for name in _NAMES for ending in TEXTS),
    *(f"**/{folder}/**/*{ending}" for folder in _FOLDERS for ending in TEXTS),
)


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file of a collection: its path below the root, its size and when it was written."""

    path: str
    size: int
    mtime_ns: int


def patterns(globs: Sequence[str]) -> tuple[str, ...]:
    """Return the patterns in ``globs``, several of them with commas; without any, those of every kind of text."""
    parts = [part.strip() for glob in globs for part in _split(glob)]
    return tuple(dict.fromkeys(part for part in parts if part)) or EVERY_TEXT


def _split(text: str) -> Iterator[str]:
    """Yield the parts between commas that are not in braces, each with its braces as alternatives."""
    depth, start = 0, 0
    for at, char in enumerate(text):
        depth += (char == "{") - (char == "}")
        if char == "," and not depth:
            yield from _expanded(text[start:at])
            start = at + 1
    yield from _expanded(text[start:])


def _expanded(text: str) -> Iterator[str]:
    begin, end = text.find("{"), text.find("}")
    if not 0 <= begin < end:
        yield text
        return
    for part in text[begin + 1 : end].split(","):
        yield from _expanded(text[:begin] + part + text[end + 1 :])


def find_files(
    root: Path,
    globs: Sequence[str],
    skipped: Callable[[SkippedDocument], None],
    *,
    ignore: Sequence[str] = (),
    until: float | None = None,
) -> Iterator[FoundFile]:
    """Yield the files below ``root`` that the patterns name, in the order of their paths, but for those to ``ignore``.
    Links are not followed.

    Raises TimeoutError when it takes longer than until then (``time.monotonic``).
    """
    from pathspec import GitIgnoreSpec

    if root.is_file():
        seen = root.stat()
        yield FoundFile(root.name, seen.st_size, changed_ns(seen))
        return
    wanted = GitIgnoreSpec.from_lines(globs)
    count = 0
    for file in _walk(root, "", (("", GitIgnoreSpec.from_lines(ignore)),), skipped):
        path = file.path
        if until is not None and time.monotonic() >= until:
            raise TimeoutError
        if not wanted.match_file(path):
            continue
        if why := _unfit(file):
            skipped(SkippedDocument(path, why))
            continue
        count += 1
        if count > MOST_FILES:
            skipped(SkippedDocument(path, f"more than {MOST_FILES:,} files; give --glob to choose"))
            return
        yield file


def _unfit(file: FoundFile) -> str:
    if not file.size:
        return "empty"
    return f"larger than {LIMIT_BYTES >> 20} MiB" if file.size > LIMIT_BYTES else ""


# Of a vault, which has this file, the memory writes these: what they say is found as memories.
VAULT = ".engram-vault.json"
_WRITTEN = ("/identity.md", "/MEMORY.md", "/observations.md", "/memory/????-??-??.md", "/life/")

Rules = tuple[tuple[str, "GitIgnoreSpec"], ...]


def _walk(root: Path, below: str, rules: Rules, skipped: Callable[[SkippedDocument], None]) -> Iterator[FoundFile]:
    folder = root / below if below else root
    rules = _with_rules(folder, below, rules)
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError as exc:
        skipped(SkippedDocument(below or ".", failure(exc)))
        return
    for entry in entries:
        path = f"{below}/{entry.name}" if below else entry.name
        try:
            if entry.is_symlink():
                if path.endswith(TEXTS):
                    skipped(SkippedDocument(readable_path(path), "a link"))
            elif entry.is_dir(follow_symlinks=False):
                left_out = ignored_folder(entry.name) or _ignored(f"{path}/", rules)
                if not left_out and path.count("/") < _MOST_DEPTH:
                    yield from _walk(root, path, rules, skipped)
            elif not entry.name.startswith(".") and not _ignored(path, rules):
                seen = entry.stat(follow_symlinks=False)
                if entry.is_file(follow_symlinks=False):
                    yield FoundFile(readable_path(path), seen.st_size, changed_ns(seen))
        except OSError as exc:
            skipped(SkippedDocument(readable_path(path), failure(exc)))


def ignored_folder(name: str) -> str:
    """Return why a folder is never looked into; empty for others."""
    if name.startswith("."):
        return "hidden"
    return f"in {name}" if name.lower() in IGNORED else ""


def _with_rules(folder: Path, below: str, rules: Rules) -> Rules:
    """Return the rules above, and those of the folder's own .gitignore; in a vault, those of what the memory writes."""
    from pathspec import GitIgnoreSpec

    if exists(folder / VAULT):
        rules = (*rules, (below, GitIgnoreSpec.from_lines(_WRITTEN)))
    try:
        text = read_bounded(folder / ".gitignore", _MAX_IGNORE).decode("utf-8", "replace")
    except OSError:
        return rules
    try:
        return (*rules, (below, GitIgnoreSpec.from_lines(lines_of(text))))
    except ValueError:  # a pattern that git does not know either
        return rules


def _ignored(path: str, rules: Rules) -> str:
    """Return which .gitignore leaves a path out, the nearest deciding; empty where none does."""
    for below, spec in reversed(rules):
        inner = path[len(below) + 1 :] if below else path
        include = spec.check_file(inner).include
        if include is not None:
            return f"ignored by {below}/.gitignore".replace(" /", " ") if include else ""
    return ""


def why_ignored(root: Path, path: str) -> str:
    """Return which rule keeps a path out of every collection, for somebody who asks for it; empty where none does."""
    parts = PurePosixPath(path).parts
    rules: Rules = ()
    for number, part in enumerate(parts):
        below = "/".join(parts[:number])
        rules = _with_rules(root / below, below, rules)
        here = "/".join(parts[: number + 1])
        last = number == len(parts) - 1
        if why := ("hidden" if part.startswith(".") else "") if last else ignored_folder(part):
            return why
        if why := _ignored(here if last else f"{here}/", rules):
            return why
    return ""


def read_text(root: Path, path: str) -> str:
    """Return the text of a file. Raises OSError: it cannot be read, is larger than the limit, or no text."""
    data = read_bounded(root if root.is_file() else root / path, LIMIT_BYTES)
    if b"\0" in data[:8_192]:
        raise OSError(0, "binary")
    return data.decode("utf-8-sig", "replace")


Report = Callable[[int, int], None]

_MOST_SKIPPED = 200  # that are named


def update_folder(
    store: Store,
    collection: Collection,
    *,
    now: str,
    ignore: Sequence[str] = (),
    until: float | None = None,
    report: Report | None = None,
) -> CollectionUpdate:
    """Index what the folder has but for what the patterns ``ignore``, until then (``time.monotonic``).

    The hash of a text says whether it changed.
    """
    root = Path(collection.root)
    skipped: list[SkippedDocument] = []
    from engram_py.base.capture.redact import redact

    counts = dict.fromkeys(("indexed", "updated", "unchanged", "removed"), 0)

    def result(*, unfinished: bool = False, warnings: tuple[Told, ...] = ()) -> CollectionUpdate:
        return CollectionUpdate(
            collection.name, collection.project, **counts, skipped=tuple(skipped[:_MOST_SKIPPED]),
            unfinished=unfinished, warnings=warnings,
        )  # fmt: skip

    if not root.exists():  # an unmounted disk is not a deleted folder
        return result(unfinished=True, warnings=(reason("documents_gone", folder=str(root)),))
    globs = patterns(collection.globs)
    try:
        files = list(find_files(root, globs, skipped.append, ignore=ignore, until=until))
    except TimeoutError:
        return result(unfinished=True)
    rows = table.known(store, collection.id)
    gone = [rows[path]["id"] for path in rows.keys() - {file.path for file in files} if rows[path]["active"]]
    with store.transaction():
        table.retire(store, gone)
    counts["removed"] = len(gone)
    active = {path: row for path, row in rows.items() if row["active"]}
    changed = [file for file in files if not _is_as_before(file, active.get(file.path))]
    counts["unchanged"] = len(files) - len(changed)

    def leave_out(file: FoundFile, why: str) -> None:
        skipped.append(SkippedDocument(redact(file.path).text, why))
        if row := active.get(file.path):
            with store.transaction():
                table.retire(store, [row["id"]])
            counts["removed"] += 1

    looked_at = counts["unchanged"]

    def looked() -> None:
        nonlocal looked_at
        looked_at += 1
        if report is not None:
            report(looked_at, len(files))

    in_time = _in_time(changed, until, looked)
    for file, read in readable(in_time, lambda file: read_document(root, file), aside=leave_out):
        row = active.get(file.path)
        store.give_way()
        with store.transaction():
            if row is not None and row["hash"] == read.hash:
                table.touch(store, row["id"], size=file.size, mtime_ns=file.mtime_ns)
                counts["unchanged"] += 1
            else:
                table.put(store, collection.id, read)
                counts["indexed" if row is None else "updated"] += 1
    if looked_at < len(files):
        return result(unfinished=True)
    with store.transaction():
        store.update("collections", {"id": collection.id}, {"updated_at": now})
    return result()


def _in_time(files: Iterable[FoundFile], until: float | None, looked: Callable[[], object]) -> Iterator[FoundFile]:
    """Yield files until then (``time.monotonic``), and tell after each that it was looked at."""
    for file in files:
        if until is not None and time.monotonic() >= until:
            return
        yield file
        looked()


def _is_as_before(file: FoundFile, row: Row | None) -> bool:
    return row is not None and (row["size"], row["mtime_ns"]) == (file.size, file.mtime_ns)


def read_document(root: Path, file: FoundFile) -> Read:
    """Return a file as a document. Raises OSError, and ValueError where its name would keep a secret."""
    from engram_py.base.capture.redact import redact

    if redact(file.path).count:
        raise ValueError("its name looks like a secret")
    text = redact(read_text(root, file.path)).text
    head, skip = split_front_matter(text)
    parts = structure(text, skip=skip)
    title = title_of(file.path, head, parts)
    cuts = tuple(_under_title(cut, title) for cut in passages(parts, skip=skip))
    return Read(
        path=file.path,
        title=title,
        hash=hashlib.sha256(text.encode("utf-8", "replace")).hexdigest(),
        passages=cuts,
        at=to_text(datetime.fromtimestamp(max(0, file.mtime_ns) / 1e9, UTC)),
        words_of_path=file.path,
        terms=tuple(derived_terms(file.path, cut.title, cut.text) for cut in cuts),
        size=file.size,
        mtime_ns=file.mtime_ns,
        status=status_of(head, parts),
    )


def _under_title(cut: Cut, title: str) -> Cut:
    """Return the passage under the title of its document; one before the first heading has that title itself."""
    if not cut.title:
        return Cut(title, (), cut.text, cut.first_line, cut.last_line)
    above = cut.above if title in (*cut.above, cut.title) else (title, *cut.above)
    return Cut(cut.title, above, cut.text, cut.first_line, cut.last_line)
