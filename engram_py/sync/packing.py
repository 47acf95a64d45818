"""Pack a chunk's JSON with gzip, and unpack untrusted files within limits."""

from __future__ import annotations

import hashlib
import json
import math
import struct
import zlib
from typing import Any

from engram_py.lazy import regex

# What a chunk written here holds at most; Engram splits at the same size.
CHUNK_BYTES = 4 * 2**20

# What is read: Engram puts a whole memory into its first chunk.
MOST_PACKED_BYTES = 32 * 2**20
MOST_PLAIN_BYTES = 128 * 2**20
# Values cost Python about 60 bytes each, however few the file spends on one.
MOST_VALUES = 4_000_000

ID_LENGTHS = (8, 12, 16, 24, 32, 64)
ID = regex(r"[0-9a-f]{8,64}")

# No time, no name, "best compression", system unknown: equal text gives equal bytes on every machine (RFC 1952).
_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"


class ChunkRefusedError(ValueError):
    """A chunk that is refused; the text is the reason for a person."""


def pack(data: bytes) -> bytes:
    """Return ``data`` as gzip; equal data gives equal bytes."""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = squeeze.compress(data) + squeeze.flush()
    return _HEADER + body + struct.pack("<II", zlib.crc32(data), len(data) & 0xFFFFFFFF)


class ChunkTooLongError(Exception):
    """A chunk that unpacks to more than there is time for now."""


def unpack(packed: bytes, *, most: int | None = None) -> bytes:
    """Return the JSON of a packed chunk; unpacking stops at the limit, whatever the file claims.

    Raises ChunkRefusedError, and ChunkTooLongError where it has more than ``most`` bytes.
    """
    limit = MOST_PLAIN_BYTES if most is None else min(most, MOST_PLAIN_BYTES)
    stretch = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    try:
        data = stretch.decompress(packed, limit + 1)
    except zlib.error:
        raise ChunkRefusedError("it is not gzip, or damaged") from None
    if len(data) > limit:
        if limit < MOST_PLAIN_BYTES:
            raise ChunkTooLongError
        raise ChunkRefusedError(f"it unpacks to more than {MOST_PLAIN_BYTES // 2**20} MiB")
    if not stretch.eof:
        raise ChunkRefusedError("it is cut short")
    if stretch.unused_data:
        raise ChunkRefusedError("something follows its end")
    return data


def parse(data: bytes) -> dict[str, Any]:
    """Return the JSON object of a chunk. Raises ChunkRefusedError."""
    if sum(data.count(mark) for mark in (b",", b"[", b"{")) > MOST_VALUES:
        raise ChunkRefusedError(f"it holds more than {MOST_VALUES:,} values")
    try:
        document = json.loads(data.decode("utf-8"), parse_constant=_no_number, parse_float=_finite)
    except RecursionError:
        raise ChunkRefusedError("its JSON is nested too deep") from None
    except ValueError:
        raise ChunkRefusedError("it is not JSON") from None
    if not isinstance(document, dict):
        raise ChunkRefusedError("it is not a JSON object")
    return document


def digest(data: bytes) -> str:
    """Return the SHA-256 that names a plain chunk; its file has a prefix of it."""
    return hashlib.sha256(data).hexdigest()


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _no_number(text[:20])
