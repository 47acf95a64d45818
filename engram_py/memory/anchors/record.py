"""Find the files that an observation is about when it is written (those somebody lists, and those its **Where** line
names), and keep where they are and hashes of what they say.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from engram_py.base.capture.redact import redact
from engram_py.base.dataclass import dataclass, field, replace
from engram_py.base.git.repository import Repository
from engram_py.base.lazy import regex
from engram_py.base.reasons import Reason, Told, reason
from engram_py.memory.anchors.states import local_states
from engram_py.memory.anchors.values import (
    LINE_LIMIT,
    MOST_ANCHORS,
    PATH_LIMIT_CHARS,
    SAVED_OUTSIDE,
    Anchor,
    AnchorOrigin,
    Mark,
)
from engram_py.memory.anchors.worktree import (
    Content,
    CurrentRepository,
    PlacedFile,
    Unread,
    is_relative,
    mark_span,
    place_file,
    read_file,
    slashed,
)
from engram_py.memory.observations.values import AnchorState

_WHERE_CHARS = 4_000  # of a Where section
_MOST_WORDS = 400  # of it
_MOST_GIVEN = 4 * MOST_ANCHORS

# `**Where**:`, `**Where:**`, `## Where` anywhere a label may stand; a bare `Where:` only at the start of a line.
_BOLD = r"(?:\*\*|__)\s*where\s*(?:\([^)\n]{0,40}\))?\s*:?\s*(?:\*\*|__)\s*:?"
_PLAIN = r"^[ \t]*(?:[-*+>]\s+)?where\s*(?:\([^)\n]{0,40}\))?\s*:"
_HEADING = r"^[ \t]*#{1,6}[ \t]+where[ \t]*:?[ \t]*$"
_WHERE = regex(f"{_BOLD}|{_PLAIN}|{_HEADING}", re.IGNORECASE | re.MULTILINE)
# What ends it: the next label, or a line that is neither indented nor an item of a list.
_LABEL = regex(
    r"(?:\*\*|__)\s*[A-Z][\w /-]{1,40}:?\s*(?:\*\*|__)|^[ \t]*(?:[-*+>]\s+)?[A-Z][a-z]{2,20}:(?=\s|$)|^#", re.MULTILINE
)
_ITEM = regex(r"[ \t]+\S|[ \t]*(?:[-*+>]|\d{1,2}[.)])\s|[ \t]*`")

_WORD = regex(r"`([^`\n]{1,1100})`|([^\s,;()\[\]<>\"'`|]{1,1100})")
# `:10`, `:10-20`, `:10-` (to the end), `:10:5` (a column), `#L10-L20`
_LINES = regex(r"[:#]L?(\d{1,20})(?:[-–](?:L?(\d{1,20})|(?P<open>))|:\d{1,6})?$")
_LINES_AFTER = regex(
    r"`?[ \t]*[,:]?[ \t]*\(?(?:lines?|l\.|ll\.)[ \t]*(\d{1,20})(?:[ \t]*(?:[-–]|to)[ \t]*(\d{1,20}))?", re.IGNORECASE
)
_SYMBOL = regex(r"(::|#(?!$)|(?<=[\w)]):(?=[A-Za-z_])).*$", re.DOTALL)
_EXTENSION = regex(r"\.[A-Za-z][\w+-]{0,9}$")
_FILE_NAME = regex(r"[\w@+.~-]+(?: [\w@+.~-]+)*$")
_NO_PATH = regex(r"://|[*?{}$]|^-|^\w+@")


@dataclass(frozen=True, slots=True)
class Reference:
    """A file as somebody named it; without ``start`` the whole of it is meant. ``sure`` is false for what merely
    looks like a path, and is worth no word when there is no such file. ``asked`` is the name as it was written, with
    its lines; ``odd`` when these were read as something else."""

    path: str
    start: int | None = None
    end: int | None = None
    origin: AnchorOrigin = "given"
    sure: bool = True
    asked: str = field(default="", compare=False)
    odd: bool = field(default=False, compare=False)


def references(files: Sequence[str], content: str) -> tuple[Reference, ...]:
    """Return the files given, then those of the content's Where line, each once.

    A Where line's file without lines is left out where the same file is given with lines.
    """
    given = [reference for text in files[:_MOST_GIVEN] if (reference := parse_reference(text))]
    named = dict.fromkeys((*given, *where_references(content)))
    spans = {reference.path for reference in named if reference.start is not None}
    kept: dict[tuple[str, int | None, int | None], Reference] = {}
    for reference in named:
        if reference.origin == "where" and reference.start is None and reference.path in spans:
            continue
        kept.setdefault((reference.path, reference.start, reference.end), reference)
    return tuple(kept.values())


def parse_reference(text: str, origin: AnchorOrigin = "given") -> Reference | None:
    """Return the reference in ``path``, ``path:line``, ``path:start-end``, ``#L10-L20`` or ``path:start-``, if any.

    Lines that make no sense are read as the whole file, a range that runs backwards as its reverse.
    """
    path = text.strip().strip("`").strip()
    if not path:
        return None
    lines = _LINES.search(path)
    if lines is None:
        return Reference(path, origin=origin, asked=path)
    start, end, odd = _range(lines[1], _last(lines))
    return Reference(path[: lines.start()], start, end, origin, asked=path, odd=odd)


def where_references(content: str) -> list[Reference]:
    """Return the files that the Where line names. ``sure`` is false for what may be no path at all, as ``and/or``."""
    named: list[Reference] = []
    for text in _sections(content):
        for match in islice(_WORD.finditer(text), _MOST_WORDS):
            quoted = match[1] is not None
            if reference := _named(match[1] or match[2], text[match.end() : match.end() + 60], quoted=quoted):
                named.append(reference)
    return named[:_MOST_GIVEN]


def _sections(content: str) -> Iterator[str]:
    for label in _WHERE.finditer(content):
        rest = content[label.end() : label.end() + _WHERE_CHARS]
        ending = _LABEL.search(rest)
        if ending:
            rest = rest[: ending.start()]
        head, *more = rest.split("\n")
        lines = [head]
        for line in more:
            if not _ITEM.match(line) and (line.strip() or any(map(str.strip, lines))):
                break
            lines.append(line)
        yield "\n".join(lines)


def _named(word: str, after: str, *, quoted: bool) -> Reference | None:
    text = word.strip().strip("*_").rstrip(".:!?,…")
    lines = _LINES.search(text)
    path = text[: lines.start()] if lines else _SYMBOL.sub("", text)
    if not path or _NO_PATH.search(path) or not _FILE_NAME.search(path):
        return None
    first, last = (lines[1], _last(lines)) if lines else (None, None)
    if lines is None and (match := _LINES_AFTER.match(after)):
        first, last = match[1], match[2]
    extension = _EXTENSION.search(path) is not None
    slash = "/" in path or "\\" in path
    if not (slash or extension or quoted or first):
        return None
    start, end, odd = _range(first, last) if first else (None, None, False)
    sure = extension and (slash or start is not None)
    asked = text if lines or not first else f"{path}:{first}-{last}" if last else f"{path}:{first}"
    return Reference(path, start, end, "where", sure=sure, asked=asked, odd=odd)


def _last(lines: re.Match[str]) -> str | None:
    return str(LINE_LIMIT) if lines["open"] is not None else lines[2]


def _range(first: str, last: str | None) -> tuple[int | None, int | None, bool]:
    """Return the lines, and whether they differ from those written."""
    start = int(first)
    end = int(last) if last else start
    if min(start, end) < 1 or max(start, end) > LINE_LIMIT:
        return None, None, True
    return (start, end, False) if start <= end else (end, start, True)


Values = dict[str, Any]

_MOST_NAMED = 3  # of the files that were not anchored, in the sentence that says so
_SHOWN_CHARS = 60
_READ_CHARS = 4 * PATH_LIMIT_CHARS
_MARK = regex("[:#]")


@dataclass(frozen=True, slots=True)
class ObservedFiles:
    """The files that a text names, as they are now: rows of the table without their observation.

    ``given`` is whether somebody listed files; ``notes`` say what could not be anchored and why.
    """

    anchors: tuple[Values, ...] = ()
    given: bool = False
    notes: tuple[Told, ...] = ()

    def elsewhere(self) -> ObservedFiles:
        """Return only the names, for an observation of another project than the one whose files were read."""
        kept = tuple(
            _bare(anchor["path"], anchor["start_line"], anchor["end_line"], anchor["origin"]) for anchor in self.anchors
        )
        return replace(self, anchors=kept)


NOTHING = ObservedFiles()


def observe(files: Sequence[str], content: str, here: CurrentRepository) -> ObservedFiles:
    """Read the files that were listed and those of the content's Where line. Never fails."""
    names = [redact(name[:_READ_CHARS]).text for name in files]
    named = references(names, content)
    reader = _Reader(here)
    reader.leave_out_blank(names)
    for reference in named:
        reader.take(reference)
    return ObservedFiles(tuple(reader.anchors.values()), any(name.strip() for name in files), reader.notes())


def renewed(observed: ObservedFiles, old: Iterable[Anchor], project: str, here: CurrentRepository) -> list[Values]:
    """Return the anchors of a rewritten text: those it names, and those that were listed for it earlier."""
    mine = here.repository_of(project)
    now = list((observed if mine else observed.elsewhere()).anchors)
    if not observed.given:
        kept = [anchor for anchor in old if anchor.origin == "given"]
        named = {_place(values) for values in now}
        now += [
            values
            for values in present(kept, local_states(kept, here.tree_of(project)), here)
            if _place(values) not in named
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
        self._left_out: list[Reason] = []
        self._kept_bare: list[Reason] = []
        self._read_as: list[Reason] = []
        self._noted: set[str] = set()
        self.anchors: dict[tuple[str, int | None, int | None], Values] = {}

    def take(self, reference: Reference, *, root_only: bool = False) -> None:
        if len(self.anchors) >= MOST_ANCHORS:
            self._left_out.append(reason("too_many_files", file=_shown(reference.path), limit=MOST_ANCHORS))
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

    def notes(self) -> tuple[Told, ...]:
        left_out, kept_bare, read_as = self._left_out, self._kept_bare, self._read_as
        return (
            *((reason("not_anchored", **_first(left_out)),) if left_out else ()),
            *((reason("kept_by_name", **_first(kept_bare)),) if kept_bare else ()),
            *((reason("taken_otherwise", **_first(read_as)),) if read_as else ()),
        )

    def leave_out_blank(self, names: Sequence[str]) -> None:
        if any(parse_reference(name) is None for name in names):
            self._left_out.append(reason("blank_name"))

    def _note_lines(self, reference: Reference, values: Values) -> None:
        """Say which lines were kept, where they are others than those asked for."""
        start, end = values["start_line"], values["end_line"]
        cut = reference.end is not None and end is not None and end < reference.end
        if not (reference.odd or cut):
            return
        self._read_as.append(reason("lines_kept", file=_shown(reference.asked), start=start, end=end, cut=cut))

    def _note(self, notes: list[Reason], path: str, said: Reason) -> None:
        """Note a file once, whatever lines of it are named and however it is spelled."""
        if (name := posixpath.normpath(path)) not in self._noted:
            self._noted.add(name)
            notes.append(said)

    def _values(self, reference: Reference, *, root_only: bool) -> Values | None:
        if self._repository is None:
            return self._by_name(reference, SAVED_OUTSIDE)
        placed = self._placed(reference, self._repository, root_only=root_only)
        if isinstance(placed, Unread):
            if reference.sure:
                self._note(self._left_out, reference.path, _unread(reference, placed.reason))
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
        return isinstance(placed, PlacedFile) and isinstance(self._file(placed), Content)

    def _file(self, placed: PlacedFile) -> Content | Unread:
        tree = self._here.tree if self._repository is not None and placed.root == self._repository.root else None
        return read_file(placed.root, placed.path) if tree is None else tree.read(placed.path)

    def _placed(self, reference: Reference, repository: Repository, *, root_only: bool) -> PlacedFile | Unread:
        if root_only:
            return PlacedFile(repository.root, reference.path)
        placed = place_file(reference.path, self._here.directory, repository)
        if isinstance(placed, Unread) or isinstance(self._file(placed), Content):
            return placed
        # People write `auth.py` for the one file of that name.
        tracked = self._here.tree.tracked if self._here.tree is not None else None
        same = [*islice(tracked.ending_in(slashed(reference.path)), 2)] if tracked is not None else []
        return PlacedFile(repository.root, same[0].path) if len(same) == 1 else placed

    def _by_name(self, reference: Reference, why: str) -> Values | None:
        path = slashed(reference.path)
        if not is_relative(path) or not reference.sure:
            if reference.sure:
                self._note(self._left_out, path, reason("outside_directory", file=_asked(reference)))
            return None
        self._note(self._kept_bare, path, reason("no_repository", file=_asked(reference)))
        return _bare(path, *_lines(reference), reference.origin, why)

    def _unread(self, reference: Reference, placed: PlacedFile, file: Unread) -> Values | None:
        if reference.origin == "where":
            if reference.sure:
                self._note(self._left_out, placed.path, _unread(reference, file.reason))
            return None
        self._note(self._kept_bare, placed.path, _unread(reference, file.reason))
        return _bare(placed.path, *_lines(reference), reference.origin, file.reason)

    def _read(self, reference: Reference, placed: PlacedFile, file: Content, repository: Repository) -> Values | None:
        start, end = reference.start, reference.end
        if start is not None and file.binary:
            self._left_out.append(reason("binary_lines", file=_shown(reference.path)))
            start = end = None
        if start is not None and start > len(file.lines):
            # The text it is about stands somewhere else in the file: nobody can say where, and the file can be watched.
            self._read_as.append(reason("fewer_lines", file=_asked(reference), lines=len(file.lines)))
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

    def _clean_blob(self, placed: PlacedFile, file: Content, repository: Repository) -> str | None:
        tree = self._here.tree if placed.root == repository.root else None
        tracked = tree.tracked.get(placed.path) if tree is not None and tree.tracked is not None else None
        if tracked is None or tracked.blob not in file.blobs(sha256=len(tracked.blob) == 64):
            return None
        return tracked.blob


def _bare(path: str, start: int | None, end: int | None, origin: str, reason: str | None = SAVED_OUTSIDE) -> Values:
    return {"path": path, "start_line": start, "end_line": end, "origin": origin, "reason": reason}


def _before_mark(name: str) -> str:
    """Return the part of a name before its first colon or hash, but for the colon of a drive."""
    mark = _MARK.search(name, 2, PATH_LIMIT_CHARS + 1)
    return name[: mark.start()].rstrip() if mark else name


def _lines(reference: Reference) -> tuple[int | None, int | None]:
    """Return the lines of a file that was not read; "to the end" is unknown."""
    return (None, None) if reference.end == LINE_LIMIT else (reference.start, reference.end)


def _first(files: Sequence[Reason]) -> dict[str, object]:
    return {"files": tuple(files[:_MOST_NAMED]), "more": len(files[_MOST_NAMED:])}


def _asked(reference: Reference) -> str:
    return _shown(reference.asked or reference.path)


def _unread(reference: Reference, problem: str) -> Reason:
    return reason("file_unread", file=_asked(reference), problem=problem)


def _shown(path: str) -> str:
    text = "".join(char if char.isprintable() else "?" for char in path.encode("utf-8", "replace").decode())
    return text if len(text) <= _SHOWN_CHARS else f"…{text[1 - _SHOWN_CHARS :]}"
