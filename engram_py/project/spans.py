"""Recognises a piece of text by hashes: in the lines it stood in, in others of its file, in another file."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from zlib import crc32

from engram_py.models.anchor import Mark

_BOM = b"\xef\xbb\xbf"
# A file of nothing but closing brackets has a copy of `}` on every line; more of them than this tell nothing more.
_MOST_COPIES = 256


def normal_lines(data: bytes) -> list[bytes]:
    """The lines of a file, without what editors change on their own: line ends, trailing blanks, a byte order mark."""
    data = data.removeprefix(_BOM)
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    if b" \n" in data or b"\t\n" in data or data.endswith((b" ", b"\t")):
        return [line.rstrip(b" \t") for line in lines]
    return lines


def digest_of(lines: Sequence[bytes]) -> str:
    return hashlib.blake2b(b"\n".join(lines).rstrip(b"\n"), digest_size=16).hexdigest()


def raw_digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def mark_span(lines: Sequence[bytes], start: int, end: int) -> Mark:
    """How to find lines ``start`` to ``end`` (from 1, both included, within the file) again."""
    span = lines[start - 1 : end]
    sizes = Counter(map(len, lines))
    # To be found quickly: the line whose length the fewest others have, a long one among several such.
    offset = min(range(len(span)), key=lambda at: (sizes[len(span[at])], -len(span[at])))
    probe = f"{offset}.{_probe(span[offset])}"
    places = find_span(lines, Mark(digest_of(span), probe), len(span))
    here = start - 1
    return Mark(digest_of(span), probe, max(1, len(places)), places.index(here) if here in places else 0)


def probes_of(lines: Iterable[bytes]) -> set[str]:
    """What follows the offset in the probe of every span that may stand in these lines."""
    return {_probe(line) for line in lines}


def find_span(lines: Sequence[bytes], mark: Mark, count: int) -> list[int]:
    """The indexes at which ``count`` lines are the marked ones, in order."""
    if mark.probe is None:
        return []
    offset, length, checksum = (int(part) for part in mark.probe.split("."))
    found: list[int] = []
    tried = 0
    for at, size in enumerate(map(len, lines)):
        # The length first: it costs nothing and rules out nearly every line.
        if size != length or crc32(lines[at]) != checksum:
            continue
        first = at - offset
        if first >= 0 and first + count <= len(lines) and digest_of(lines[first : first + count]) == mark.digest:
            found.append(first)
        tried += 1
        if tried >= _MOST_COPIES:
            break
    return found


def place_of(lines: Sequence[bytes], mark: Mark, start: int, count: int) -> int | None:
    """The line (from 1) at which the marked span stands now; None when it is not there, or it cannot be told which
    of several copies it was."""
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


def _is_at(lines: Sequence[bytes], mark: Mark, first: int, count: int) -> bool:
    return first + count <= len(lines) and digest_of(lines[first : first + count]) == mark.digest


def distinctive(lines: Sequence[bytes]) -> bool:
    """Whether a span says enough that finding it in another file means that it went there: a lone ``return None``
    stands in every file."""
    said = [line.strip() for line in lines]
    return sum(1 for line in said if len(line) > 3) >= 3 and sum(map(len, said)) >= 60
