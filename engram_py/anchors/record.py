"""What is kept of the files an observation names when it is written: where they are, and hashes of what they say."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from engram_py.anchors.references import Reference, parse_reference, references
from engram_py.anchors.spans import mark_span
from engram_py.anchors.states import local_states
from engram_py.anchors.values import (
    LINE_LIMIT,
    MOST_ANCHORS,
    PATH_LIMIT_CHARS,
    SAVED_OUTSIDE,
    Anchor,
    AnchorState,
    Mark,
)
from engram_py.anchors.worktree import (
    Content,
    CurrentRepository,
    Placed,
    Unread,
    is_relative,
    place_file,
    read_file,
    slashed,
)
from engram_py.capture.redact import redact
from engram_py.dataclass import dataclass, replace
from engram_py.git.repository import Repository
from engram_py.lazy import regex

Values = dict[str, Any]

_MOST_NAMED = 3  # of the files that were not anchored, in the sentence that says so
_SHOWN_CHARS = 60
_READ_CHARS = 4 * PATH_LIMIT_CHARS
_MARK = regex("[:#]")


@dataclass(frozen=True, slots=True)
class Observed:
    """The files that a text names, as they are now: rows of the table without their observation.

    ``given`` is whether somebody listed files; ``notes`` say what could not be anchored and why.
    """

    anchors: tuple[Values, ...] = ()
    given: bool = False
    notes: tuple[str, ...] = ()

    def elsewhere(self) -> Observed:
        """Return only the names, for an observation of another project than the one whose files were read."""
        kept = tuple(_bare(one["path"], one["start_line"], one["end_line"], one["origin"]) for one in self.anchors)
        return replace(self, anchors=kept)


NOTHING = Observed()


def observe(files: Sequence[str], content: str, here: CurrentRepository) -> Observed:
    """Read the files that were listed and those of the content's Where line. Never fails."""
    names = [redact(name[:_READ_CHARS]).text for name in files]
    found = references(names, content)
    reader = _Reader(here)
    reader.leave_out_blank(names)
    for reference in found:
        reader.take(reference)
    return Observed(tuple(reader.anchors.values()), any(name.strip() for name in files), reader.notes())


def renewed(observed: Observed, old: Iterable[Anchor], project: str, here: CurrentRepository) -> list[Values]:
    """Return the anchors of a rewritten text: those it names, and those that were listed for it earlier."""
    mine = here.repository_of(project)
    now = list((observed if mine else observed.elsewhere()).anchors)
    if not observed.given:
        kept = [anchor for anchor in old if anchor.origin == "given"]
        named = {_place(one) for one in now}
        now += [
            one for one in present(kept, local_states(kept, here.tree_of(project)), here) if _place(one) not in named
        ]
    return now


def present(anchors: Iterable[Anchor], states: Iterable[AnchorState], here: CurrentRepository) -> tuple[Values, ...]:
    """Return the anchors of a confirmed observation as their files are now; one whose file is gone is dropped."""
    reader = _Reader(here)
    for anchor, state in zip(anchors, states, strict=True):
        path = state.now_path or anchor.path
        if state.state == "unknown" or (state.state != "gone" and not reader.can_read(path)):
            reader.keep(anchor)
        elif state.state != "gone":
            start = state.now_start or anchor.start_line
            end = state.now_end or anchor.end_line
            reader.take(Reference(path, start, end, anchor.origin), root_only=True)
    return tuple(reader.anchors.values())


def _place(values: Values) -> tuple[str, int | None, int | None]:
    return values["path"], values["start_line"], values["end_line"]


class _Reader:
    """Reads files one after the other and remembers what could not be."""

    def __init__(self, here: CurrentRepository) -> None:
        self._here = here
        self._repository = here.repository
        self._left_out: list[str] = []
        self._kept_bare: list[str] = []
        self._read_as: list[str] = []
        self._noted: set[str] = set()
        self.anchors: dict[tuple[str, int | None, int | None], Values] = {}

    def take(self, reference: Reference, *, root_only: bool = False) -> None:
        if len(self.anchors) >= MOST_ANCHORS:
            self._left_out.append(f"{_shown(reference.path)} (more than {MOST_ANCHORS} files)")
            return
        reference = reference if root_only else self._named(reference)
        values = self._values(reference, root_only=root_only)
        if values is not None:
            self._note_lines(reference, values)
            self.anchors.setdefault((values["path"], values["start_line"], values["end_line"]), values)

    def can_read(self, path: str) -> bool:
        """Return whether the file is there: a sparse checkout leaves out what git still knows."""
        return self._here.tree is not None and isinstance(self._here.tree.read(path), Content)

    def keep(self, anchor: Anchor) -> None:
        names = ("path", "start_line", "end_line", "origin", "digest", "probe", "copies", "ordinal", "file_digest",
                 "blob", "git_commit", "reason")  # fmt: skip
        values = {name: getattr(anchor, name) for name in names}
        self.anchors.setdefault((anchor.path, anchor.start_line, anchor.end_line), values)

    def notes(self) -> tuple[str, ...]:
        found = [
            ("not anchored", self._left_out),
            ("kept by name, their text was not read", self._kept_bare),
            ("taken otherwise", self._read_as),
        ]
        return tuple(f"{what}: {_listed(files)}" for what, files in found if files)

    def leave_out_blank(self, names: Sequence[str]) -> None:
        if any(parse_reference(name) is None for name in names):
            self._left_out.append("a blank name")

    def _note_lines(self, reference: Reference, values: Values) -> None:
        """Say which lines were kept, where they are others than those asked for."""
        start, end = values["start_line"], values["end_line"]
        cut = reference.end is not None and end is not None and end < reference.end
        if not (reference.odd or cut):
            return
        lines = "the whole file" if start is None else f"line {start}" if start == end else f"lines {start}-{end}"
        self._read_as.append(f"{_shown(reference.asked)} ({lines}{', it has no more' if cut else ''})")

    def _note(self, notes: list[str], reference: Reference, path: str, reason: str) -> None:
        """Note a file once, whatever lines of it are named and however it is spelled."""
        if (name := posixpath.normpath(path)) not in self._noted:
            self._noted.add(name)
            notes.append(f"{_shown(reference.asked or reference.path)} ({reason})")

    def _values(self, reference: Reference, *, root_only: bool) -> Values | None:
        if self._repository is None:
            return self._by_name(reference, SAVED_OUTSIDE)
        placed = self._placed(reference, self._repository, root_only=root_only)
        if isinstance(placed, Unread):
            if reference.sure:
                self._note(self._left_out, reference, reference.path, placed.reason)
            return None
        file = self._file(placed)
        if isinstance(file, Unread):
            return self._unread(reference, placed, file)
        return self._read(reference, placed, file, self._repository)

    def _named(self, reference: Reference) -> Reference:
        """Return the reference read as a whole file name, or without what follows the name: ``auth.py:login``."""
        whole = replace(reference, start=None, end=None)
        if reference.asked != reference.path and self._is_there(reference.asked):
            return replace(whole, path=reference.asked, odd=False)
        if reference.origin == "where":
            return reference
        name = _before_mark(reference.path)
        if name == reference.path or self._is_there(reference.path):
            return reference
        return replace(whole, path=name, odd=True) if self._is_there(name) else reference

    def _is_there(self, name: str) -> bool:
        if self._repository is None:
            return False
        placed = self._placed(Reference(name), self._repository, root_only=False)
        return isinstance(placed, Placed) and isinstance(self._file(placed), Content)

    def _file(self, placed: Placed) -> Content | Unread:
        tree = self._here.tree if self._repository is not None and placed.root == self._repository.root else None
        return read_file(placed.root, placed.path) if tree is None else tree.read(placed.path)

    def _placed(self, reference: Reference, repository: Repository, *, root_only: bool) -> Placed | Unread:
        if root_only:
            return Placed(repository.root, reference.path)
        placed = place_file(reference.path, self._here.directory, repository)
        if isinstance(placed, Unread) or isinstance(self._file(placed), Content):
            return placed
        # People write `auth.py` for the one file of that name.
        tracked = self._here.tree.tracked if self._here.tree is not None else None
        same = [*islice(tracked.ending_in(slashed(reference.path)), 2)] if tracked is not None else []
        return Placed(repository.root, same[0].path) if len(same) == 1 else placed

    def _by_name(self, reference: Reference, why: str) -> Values | None:
        path = slashed(reference.path)
        if not is_relative(path) or not reference.sure:
            if reference.sure:
                self._note(self._left_out, reference, path, "outside the working directory")
            return None
        self._note(self._kept_bare, reference, path, "no repository here")
        return _bare(path, *_lines(reference), reference.origin, why)

    def _unread(self, reference: Reference, placed: Placed, file: Unread) -> Values | None:
        if reference.origin == "where":
            if reference.sure:
                self._note(self._left_out, reference, placed.path, file.reason)
            return None
        self._note(self._kept_bare, reference, placed.path, file.reason)
        return _bare(placed.path, *_lines(reference), reference.origin, file.reason)

    def _read(self, reference: Reference, placed: Placed, file: Content, repository: Repository) -> Values | None:
        start, end = reference.start, reference.end
        if start is not None and file.binary:
            self._left_out.append(f"the lines of {_shown(reference.path)} (a binary file, anchored as a whole)")
            start = end = None
        if start is not None and start > len(file.lines):
            # The text it is about stands somewhere else in the file: nobody can say where, and the file can be watched.
            lines = f"{len(file.lines)} line{'s' * (len(file.lines) != 1)}"
            self._read_as.append(f"{_shown(reference.asked or reference.path)} (the whole file, it has {lines})")
            start = end = None
        if start is not None and end is not None:
            mark = mark_span(file.lines, start, end := min(end, len(file.lines)))
        else:
            mark = Mark(file.digest if file.binary else file.text_digest)
        return {
            **_bare(placed.path, start, end, reference.origin, None),
            "digest": mark.digest,
            "probe": mark.probe,
            "copies": mark.copies,
            "ordinal": mark.ordinal,
            "file_digest": file.digest,
            "blob": self._clean_blob(placed, file, repository),
            "git_commit": repository.commit,
        }

    def _clean_blob(self, placed: Placed, file: Content, repository: Repository) -> str | None:
        tree = self._here.tree if placed.root == repository.root else None
        tracked = tree.tracked.get(placed.path) if tree is not None and tree.tracked is not None else None
        if tracked is None or tracked.blob not in file.blobs(sha256=len(tracked.blob) == 64):
            return None
        return tracked.blob


def _bare(path: str, start: int | None, end: int | None, origin: str, reason: str | None = SAVED_OUTSIDE) -> Values:
    return {"path": path, "start_line": start, "end_line": end, "origin": origin, "reason": reason}


def _before_mark(name: str) -> str:
    """Return what stands before the first colon or hash of a name, but for the colon of a drive."""
    mark = _MARK.search(name, 2, PATH_LIMIT_CHARS + 1)
    return name[: mark.start()].rstrip() if mark else name


def _lines(reference: Reference) -> tuple[int | None, int | None]:
    """Return the lines of a file that was not read; "to the end" is unknown."""
    return (None, None) if reference.end == LINE_LIMIT else (reference.start, reference.end)


def _shown(path: str) -> str:
    text = "".join(char if char.isprintable() else "?" for char in path.encode("utf-8", "replace").decode())
    return text if len(text) <= _SHOWN_CHARS else f"…{text[1 - _SHOWN_CHARS :]}"


def _listed(files: Sequence[str]) -> str:
    more = f" and {len(files) - _MOST_NAMED} more" if len(files) > _MOST_NAMED else ""
    return ", ".join(files[:_MOST_NAMED]) + more
