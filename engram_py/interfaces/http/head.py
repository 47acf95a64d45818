"""The head of a request, the request line and its headers, measured while it comes in: it is held until it is whole."""

from __future__ import annotations

import re

from engram_py.interfaces.http.errors import HeadTooLargeError

# A query of a megabyte with every byte of it percent-encoded.
MOST_QUERY_LINE = 4 * 1024 * 1024
MOST_PLAIN = 64 * 1024  # of a request line up to its question mark, and of all headers
MOST_HEADERS = 100
_BLANK_LINE = re.compile(rb"\n\r?\n")


class Head:
    """One head. It looks at each byte once, however they are cut into pieces."""

    def __init__(self) -> None:
        self.whole = False
        self._line = self._headers = self._count = 0
        self._asks = self._named = False
        self._tail = b"\n"

    @property
    def size(self) -> int:
        return self._line + self._headers

    def take(self, data: bytes) -> None:
        """Count one more piece; what follows a whole head is not looked at. Raises HeadTooLargeError."""
        if not self._named:
            data = self._without_line(data)
        if self._named and not self.whole:
            self._take_headers(data)

    def _without_line(self, data: bytes) -> bytes:
        end = data.find(b"\n") + 1
        piece = data[:end] if end else data
        if not self._asks:
            plain = piece.find(b"?")
            if self._line + (len(piece) if plain < 0 else plain) > MOST_PLAIN:
                raise HeadTooLargeError("the address up to its question mark", f"{MOST_PLAIN:,} bytes")
            self._asks = plain >= 0
        self._line += len(piece)
        if self._line > MOST_QUERY_LINE:
            raise HeadTooLargeError("the address", f"{MOST_QUERY_LINE:,} bytes")
        self._named = bool(end)
        return data[end:]

    def _take_headers(self, data: bytes) -> None:
        before = len(self._tail)
        text = self._tail + data
        blank = _BLANK_LINE.search(text)
        end = blank.end() if blank else len(text)
        self.whole = blank is not None
        self._tail = text[-2:]
        self._headers += end - before
        self._count += text.count(b"\n", before, end)
        # The blank line is counted too.
        if self._headers > MOST_PLAIN or self._count - self.whole > MOST_HEADERS:
            raise HeadTooLargeError("the headers", f"{MOST_PLAIN:,} bytes and be {MOST_HEADERS}")
