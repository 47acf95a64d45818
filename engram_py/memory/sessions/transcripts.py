"""Read what is new in an agent's transcript as turns, and count what they cite."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from engram_py.base.capture.host_formats import without_memory_blocks
from engram_py.base.capture.redact import CUT_MARGIN_CHARS, redact_head
from engram_py.base.database.mutation_queue import Journal
from engram_py.base.database.store import Store
from engram_py.base.dataclass import replace
from engram_py.base.files import expanded, open_regular, readable, real_path, reason
from engram_py.base.settings import DEFAULTS
from engram_py.base.text.words import derived_terms
from engram_py.base.times import parse_time, to_text
from engram_py.memory.observations.arguments import clamp
from engram_py.memory.sessions import table
from engram_py.memory.sessions.citations import Citations, cited_ids
from engram_py.memory.sessions.retention import oldest_kept, prune_turns
from engram_py.memory.sessions.table import Cursor
from engram_py.memory.sessions.transcript_formats import (
    TURN_LIMIT_CHARS,
    names_user,
    spoken,
    turns_of_document,
    turns_of_line,
)
from engram_py.memory.sessions.values import (
    KeptTurn,
    TranscriptMissingError,
    TranscriptReading,
    TranscriptRefusedError,
    Turn,
)

# A file seen for the first time is read from this far before its end: a hook has no time for last month.
FIRST_SIGHT_BYTES = 8 * 1024 * 1024
# What one look reads at most; the rest waits for the next.
MOST_AT_ONCE = 16 * 1024 * 1024
MOST_TURNS = 20_000
MOST_TRANSCRIPTS = 500
MOST_LEARNED_FROM = 200
# What is redacted and stored at a time: a look that is out of time, or is ended, has done whole slices.
SLICE_TURNS = 50
SLICE_CHARS = 100_000

_READ_CHARS = TURN_LIMIT_CHARS + CUT_MARGIN_CHARS
_HEAD_BYTES = 1_024
_LONGEST_LINE = 4 * 1024 * 1024
_SUFFIXES = (".jsonl", ".json", ".ndjson")


class Transcripts:
    """Buffers what was said in a session, redacted and cut, until somebody distills it. It stays on this machine.

    A transcript lies below one of ``roots``: the home directory, or a folder of an agent.
    """

    def __init__(
        self,
        store: Store,
        journal: Journal,
        citations: Citations,
        *,
        days: int = DEFAULTS["turn_retention_days"],
        roots: Sequence[Path],
    ) -> None:
        self._store = store
        self._journal = journal
        self._citations = citations
        self._days = days
        self._roots = roots

    def read(
        self,
        path: str,
        *,
        session_id: str,
        project: str,
        agent: str = "",
        until: float | None = None,
        learn: Callable[[str], object] | None = None,
    ) -> TranscriptReading:
        """Read what was added to a transcript since the last look, and count what its agent cites as ``[#id]``.

        A file that was replaced or cut is read again from its beginning; a last line without its end waits. What a
        fork copied from the session it left stays that session's. The session must exist. ``until``
        (``time.monotonic``) is when to stop; some of what was found is stored in any case. ``learn`` is called with
        each of the last 200 things the agent said, before it counts as read.

        Raises TranscriptRefusedError, TranscriptMissingError.
        """
        place = self._admitted(path)
        with _opened(place) as file:
            status = os.fstat(file.fileno())
            identity, known = f"{status.st_dev}:{status.st_ino}", table.cursor(self._store, str(place))
            # Whether it is the file that was read before, and has only grown.
            is_same = known and known.identity == identity and known.position <= status.st_size
            start = known.position if known and is_same and known.head == _head(file, known.head_bytes) else None
            begin = _first_line(file, status.st_size) if start is None else start
            parse = _document if place.suffix.lower() == ".json" else _lines
            halfway = until and (until + time.monotonic()) / 2  # what was found wants its time, too
            found, end, unreadable = parse(file, begin, status.st_size, halfway)
            more = end < status.st_size and (end - begin >= MOST_AT_ONCE or _is_late(halfway))
            own = self._without_copies(found, session_id)
            turns = tuple(replace(turn, agent=turn.agent or agent) for turn in own)
            lessons = [number for number, turn in enumerate(turns) if turn.role == "assistant"][-MOST_LEARNED_FROM:]
            done, reached, added, cited = 0, begin, 0, 0
            for stop in _slice_ends(turns):
                if done and _is_late(until):
                    more = True
                    break
                for number in lessons:
                    if learn and done <= number < stop:
                        learn(turns[number].content)
                # A document is read as a whole: half of it is to be read again, where what is known costs little.
                reached = end if stop == len(turns) else begin if parse is _document else turns[stop].position
                size = min(reached, _HEAD_BYTES)
                cursor = (str(place), Cursor(identity, _head(file, size), size, reached))
                new, counted = self.keep(turns[done:stop], session_id=session_id, project=project, cursor=cursor)
                done, added, cited = stop, added + new, cited + counted
            unheard = 0 == begin < reached and not more and not _names_user(file, parse, turns)
        skipped = begin if start is None else 0
        return TranscriptReading(
            turns[:done],
            added,
            cited,
            reached - begin,
            more=more,
            skipped=skipped,
            unheard=unheard,
            unreadable=unreadable,
        )

    def _without_copies(self, turns: Sequence[Turn], session_id: str) -> Sequence[Turn]:
        """Return the turns without those that were said before the session began and that another session has."""
        session = table.by_id(self._store, session_id)
        began = session.started_at if session else ""
        earlier = {turn.key for turn in turns if (at := parse_time(turn.said_at or "")) and to_text(at) < began}
        known = table.elsewhere(self._store, session_id, earlier) if earlier else {}
        return [
            turn for turn in turns if turn.key not in known or (turn.role, _stored_text(turn)) not in known[turn.key]
        ]

    def keep(
        self, turns: Sequence[Turn], *, session_id: str, project: str, cursor: tuple[str, Cursor] | None = None
    ) -> tuple[int, int]:
        """Buffer turns that are new, and count the citations in those of the agent: (added, cited)."""
        # Redaction takes its time, and other processes should not wait for it.
        known = table.known(self._store, session_id, (turn.key for turn in turns)) if turns else {}
        new = (turn for turn in turns if min(len(turn.content), TURN_LIMIT_CHARS) > known.get(turn.key, 0))
        said = [(turn, without_memory_blocks(turn.content).strip()) for turn in new]
        clean = [(replace(turn, content=kept_text(own)[0]), own) for turn, own in said if own]
        indexed = [(turn, own, derived_terms(turn.content)) for turn, own in clean]
        added, cited = 0, list[int]()
        with self._store.transaction():
            now, before = self._journal.now(), oldest_kept(self._journal.moment, self._days)
            for turn, own, terms in indexed:
                said_at = parse_time(turn.said_at)
                kept = before < (to_text(said_at) if said_at else now)
                if not kept or table.add(
                    self._store, turn, terms=terms, session_id=session_id, project=project, now=now
                ):
                    added += kept
                    cited += cited_ids(own) if turn.role == "assistant" else ()
            if added:
                table.wait(self._store, session_id, now=now)
                table.shrink(self._store, most=MOST_TURNS)
            table.prune(self._store, before=before)
            found = self._citations.cite(session_id, cited)
            if cursor:
                path, reached = cursor
                table.keep_cursor(self._store, path, reached, session_id=session_id, now=now, most=MOST_TRANSCRIPTS)
        return added, found

    def add_message(self, message: str, *, session_id: str, project: str) -> None:
        """Keep the last message of an agent without a transcript. The session must exist."""
        turn = spoken("assistant", message)
        if turn is not None:
            self.keep([turn], session_id=session_id, project=project)

    def prune(self) -> int:
        """Delete what is older than the setting ``turn_retention_days``; how many turns it was."""
        return prune_turns(self._store, oldest_kept(self._journal.moment, self._days))

    def latest(
        self, *, session_id: str | None = None, projects: Sequence[str] | None = None, limit: int = 20, offset: int = 0
    ) -> list[KeptTurn]:
        """Return the latest turns, newest first."""
        limit, _ = clamp("limit", limit, 1, 200)
        return table.latest(self._store, session_id=session_id, projects=projects, limit=limit, offset=offset)

    def count(self, *, session_id: str | None = None, projects: Sequence[str] | None = None) -> int:
        """Return how many turns are kept."""
        values = {"session_id": session_id, "projects": projects, "limit": -1, "offset": 0}
        return int(self._store.value(f"select count(*) from ({table.LATEST})", **values))

    def turns(self, session_id: str) -> list[Turn]:
        """Return the buffered turns of a session, in reading order."""
        return table.of_session(self._store, session_id)

    def _admitted(self, path: str) -> Path:
        """Return the real path of a transcript, if it is a file that agents keep transcripts in."""
        try:
            place = Path(os.path.realpath(expanded(path), strict=True))
        except FileNotFoundError as exc:
            raise TranscriptMissingError from exc
        except (OSError, ValueError, RuntimeError) as exc:  # a loop of symlinks, a NUL
            raise TranscriptRefusedError("it cannot be reached") from exc
        if place.suffix.lower() not in _SUFFIXES:
            raise TranscriptRefusedError("its name does not end in .jsonl or .json")
        if redact_head(str(place), _READ_CHARS).count:
            raise TranscriptRefusedError("its path looks like a secret")
        if not any(place.is_relative_to(root) for root in self._roots):
            raise TranscriptRefusedError("it is outside the home directory and the agents' folders")
        return place


def kept_text(said: str) -> tuple[str, int]:
    """Return what is kept of a text, and how many secrets or private parts are not.

    Redacted before it is cut, so that no half of a secret stands at the cut.
    """
    hidden = redact_head(said, _READ_CHARS)
    return hidden.text[:TURN_LIMIT_CHARS], hidden.count


def _stored_text(turn: Turn) -> str:
    return kept_text(without_memory_blocks(turn.content).strip())[0]


def transcript_roots(folders: Sequence[str]) -> list[Path]:
    """Return where transcripts may lie: in these folders of agents, and in the home directory."""
    roots = [expanded(folder) for folder in folders]
    with contextlib.suppress(RuntimeError):  # a user without a home directory
        roots.append(Path.home())
    return [real_path(root) for root in roots if root.is_absolute()]


def _opened(place: Path) -> BinaryIO:
    try:
        return open_regular(place)
    except OSError as exc:
        raise TranscriptRefusedError(f"it cannot be opened ({reason(exc)})") from exc


def _slice_ends(turns: Sequence[Turn]) -> Iterator[int]:
    """Yield the indexes after which a slice is stored; the last is the number of turns."""
    begun = chars = 0
    for number, turn in enumerate(turns):
        size = min(len(turn.content), _READ_CHARS)
        if number > begun and (number - begun >= SLICE_TURNS or chars + size > SLICE_CHARS):
            yield number
            begun, chars = number, 0
        chars += size
    yield len(turns)


# --- where to go on ---------------------------------------------------------------------------------------


def _head(file: BinaryIO, size: int) -> str:
    import hashlib

    file.seek(0)
    return hashlib.sha256(file.read(size)).hexdigest()


def _first_line(file: BinaryIO, size: int) -> int:
    """Return where to begin with a new file: at its beginning, or at a line not too far before its end."""
    if size <= FIRST_SIGHT_BYTES:
        return 0
    file.seek(size - FIRST_SIGHT_BYTES)
    file.readline(FIRST_SIGHT_BYTES)
    return file.tell()


# --- what is new ------------------------------------------------------------------------------------------


def _lines(file: BinaryIO, start: int, size: int, until: float | None) -> tuple[list[Turn], int, int]:
    """Return the turns of the whole lines from ``start`` on, where the next look begins, and how many are no JSON."""
    end, unreadable = start, list[str]()
    file.seek(start)

    def whole_lines() -> Iterator[tuple[int, bytes]]:
        nonlocal end
        is_rest = False
        while end < size and end - start < MOST_AT_ONCE and not _is_late(until):
            line = file.readline(_LONGEST_LINE)
            is_whole = line.endswith(b"\n")
            if not is_whole and len(line) < _LONGEST_LINE:
                return  # it is being written just now
            at, end = end, end + len(line)
            if is_whole and not is_rest:  # a line of four megabytes is no message
                yield at, line
            is_rest = not is_whole

    read = readable(
        whole_lines(), lambda one: turns_of_line(one[1], one[0]), aside=lambda _, why: unreadable.append(why)
    )
    return _once([turn for _, turns in read for turn in turns]), end, len(unreadable)


def _once(turns: list[Turn]) -> list[Turn]:
    """Return the turns without what was written twice: under one name, while it grew, or as two kinds of record."""
    found: dict[str, Turn] = {}
    last: Turn | None = None
    for turn in turns:
        if turn.key in found:
            found[turn.key] = replace(turn, position=found[turn.key].position)
        elif last is None or (turn.role, turn.content) != (last.role, last.content):
            found[turn.key] = turn
        last = turn
    return list(found.values())


def _document(file: BinaryIO, start: int, size: int, until: float | None) -> tuple[list[Turn], int, int]:
    """Return the same of a file that is one JSON document: read whole when its size changed."""
    if size > MOST_AT_ONCE or start == size:
        return [], size, 0
    file.seek(0)
    return turns_of_document(file.read(size)), size, 0


def _names_user(file: BinaryIO, parse: object, turns: Sequence[Turn]) -> bool:
    """Return whether a transcript that was read whole holds a user's words, or a program's in their place."""
    if any(turn.role == "user" and not turn.agent for turn in turns):
        return True
    file.seek(0)
    return names_user(file.read()) if parse is _document else any(names_user(line) for line in file)


def _is_late(until: float | None) -> bool:
    return until is not None and time.monotonic() >= until
