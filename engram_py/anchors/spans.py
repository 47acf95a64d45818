"""Recognises a piece of text by hashes: in the lines it stood in, in others of its file, in another file."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from zlib import crc32

from engram_py.anchors.values import Mark

_BOM = b"\xef\xbb\xbf"
# A file of nothing but closing brackets has a copy of `}` on every line; more of them than this tell nothing more.
MOST_COPIES = 256


class Lines(list[bytes]):
    """The lines of a file. Looking for a second span among them is quicker than for the first."""

    _asked = False

    @cached_property
    def by_probe(self) -> dict[str, list[int]]:
        """The indexes of equal lines, by what follows the offset in the probe of a span that has one."""
        found: dict[str, list[int]] = {}
        for at, line in enumerate(self):
            found.setdefault(_probe(line), []).append(at)
        return found

    def like(self, probe: str) -> Sequence[int]:
        """Return the indexes of the lines that a probe may mean."""
        if self._asked:
            return self.by_probe.get(probe, ())
        self._asked = True
        return _like(self, probe)


def normal_lines(data: bytes) -> Lines:
    """Return the lines of a file without what editors change: line ends, trailing blanks, a byte order mark."""
    data = data.removeprefix(_BOM)
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    if b" \n" in data or b"\t\n" in data or data.endswith((b" ", b"\t")):
        return Lines(line.rstrip(b" \t") for line in lines)
    return Lines(lines)


def digest_of(lines: Sequence[bytes]) -> str:
    return hashlib.blake2b(b"\n".join(lines).rstrip(b"\n"), digest_size=16).hexdigest()


def raw_digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def mark_span(lines: Sequence[bytes], start: int, end: int) -> Mark:
    """Return how to find lines ``start`` to ``end`` (from 1, both included, within the file) again."""
    span = lines[start - 1 : end]
    sizes = Counter(map(len, lines))
    # To be found quickly: the line whose length the fewest others have, a long one among several such.
    offset = min(range(len(span)), key=lambda at: (sizes[len(span[at])], -len(span[at])))
    probe = f"{offset}.{_probe(span[offset])}"
    places = find_span(lines, Mark(digest_of(span), probe), len(span))
    here = start - 1
    return Mark(digest_of(span), probe, max(1, len(places)), places.index(here) if here in places else 0)


def find_span(lines: Sequence[bytes], mark: Mark, count: int) -> list[int]:
    """Return the indexes at which ``count`` lines are the marked ones, in order."""
    if mark.probe is None:
        return []
    offset, _, probe = mark.probe.partition(".")
    likely = lines.like(probe) if isinstance(lines, Lines) else _like(lines, probe)
    firsts = (at - int(offset) for at in likely[:MOST_COPIES])
    return [first for first in firsts if _is_at(lines, mark, first, count)]


def place_of(lines: Sequence[bytes], mark: Mark, start: int, count: int) -> int | None:
    """Return the line (from 1) at which the marked span stands now; None where it is gone or one of several copies."""
    here = start - 1
    places = find_span(lines, mark, count)
    if len(places) == mark.copies and mark.copies > 1:
        return places[mark.ordinal] + 1
    if here in places or _is_at(lines, mark, here, count):
        return start
    if not places or len(places) < mark.copies:
        return None
    return min(places, key=lambda at: (abs(at - here), at)) + 1


def _probe(line: bytes) -> str:
    return f"{len(line)}.{crc32(line)}"


def _like(lines: Sequence[bytes], probe: str) -> list[int]:
    length, checksum = map(int, probe.split("."))
    found: list[int] = []
    for at, size in enumerate(map(len, lines)):
        # The length first: it costs nothing and rules out nearly every line.
        if size == length and crc32(lines[at]) == checksum:
            found.append(at)
            if len(found) >= MOST_COPIES:
                break
    return found


def _is_at(lines: Sequence[bytes], mark: Mark, first: int, count: int) -> bool:
    return first >= 0 and first + count <= len(lines) and digest_of(lines[first : first + count]) == mark.digest


def distinctive(lines: Sequence[bytes]) -> bool:
    """Return whether a span says enough to know it again in another file: ``return None`` stands in every file."""
    said = [line.strip() for line in lines]
    return sum(1 for line in said if len(line) > 3) >= 3 and sum(map(len, said)) >= 60
