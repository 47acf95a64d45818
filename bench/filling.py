"""Fills a memory in bulk: straight SQL in one transaction, with the columns a save derives and the rows it queues.

Half of the rows are the user's own; the others came from elsewhere and nobody has trusted them.

Redaction, duplicates and candidates are left out; the tables and the indexes are those of 100,000 saves, in the pieces
in which a server that lives long keeps them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from bench.corpus import Note

if TYPE_CHECKING:
    from bench.workplace import Workplace
    from engram_py.app import Engram

_TYPES = ("decision", "bugfix", "pattern", "discovery", "config")
_PER_SESSION = 20
_START = datetime(2022, 1, 1, tzinfo=UTC)
_STEP = timedelta(minutes=12)


def filled(place: Workplace, name: str, rows: int) -> Path:
    """Return the data directory ``name`` of the place with that many observations; one says why uv was chosen."""
    from engram_py import Draft, Engram

    data_dir = place.data_dir(name)
    fill(data_dir, place.folder, place.corpus.many(rows - 2))
    with Engram(data_dir, directory=place.folder) as app:
        app.save(Draft("Chose uv for packages", "Fast, and it locks.", "decision"))
    return data_dir


def fill(data_dir: Path, folder: Path, notes: Iterable[Note], *, projects: int = 1, step: timedelta = _STEP) -> int:
    """Store every note, ``step`` after the one before, in the project of ``folder``; return how many there are then.

    With more ``projects`` their sessions take turns; the project of ``folder`` is the first.
    """
    from engram_py import Draft, Engram
    from engram_py.base.database.compaction import compact
    from engram_py.memory.projects.projects import Identities

    with Engram(data_dir, directory=folder) as app:
        # One ordinary save makes the project and its identity.
        first = app.save(Draft("Keep the benchmark's memory", "Filled in bulk by bench/filling.py."))
        names = [first.project, *(f"{first.project}-{number:02d}" for number in range(1, projects))]
        with app.store.transaction():
            for name in names[1:]:
                Identities(app.store, app.journal).create(name)
            arrival = app.store.insert("arrivals", {"source": "somebody else"})
            clock, count = app.journal.stamp(), 1
            for count, note in enumerate(notes, start=2):
                moment = _START + step * count
                _insert(app, note, count, projects=names, moment=moment, clock=clock, arrival=arrival * (count % 2))
        compact(app.store)
    return count


def _insert(
    app: Engram, note: Note, number: int, *, projects: Sequence[str], moment: datetime, clock: str, arrival: int
) -> None:
    from engram_py.base.text.normalize import content_hash
    from engram_py.base.text.words import derived_terms
    from engram_py.base.times import to_text

    now = to_text(moment)
    session = f"bench-{number // _PER_SESSION}"
    project = projects[number // _PER_SESSION % len(projects)]
    if number == 2 or number % _PER_SESSION == 0:
        values = {"id": session, "project": project, "started_at": now, "updated_at": now, "clock": clock}
        app.store.insert("sessions", values)
    row = {
        "sync_id": f"obs-{number:016x}",
        "session_id": session,
        "project": project,
        "type": _TYPES[number % len(_TYPES)],
        "title": note.title[:500],
        "content": note.content,
        "terms": derived_terms(note.title, "", "", note.content),
        "content_hash": content_hash(note.content),
        "last_seen_at": now,
        "created_at": now,
        "updated_at": now,
        "clock": clock,
        "arrival": arrival or None,
    }
    app.store.insert("observations", row)
    app.journal.changed("observation", f"obs-{number:016x}", project=project, clock=clock)
