"""Notes: a line about the day, appended and never changed by the next one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta

from engram_py.dataclass import replace
from engram_py.errors import InvalidArgumentError
from engram_py.observations import table
from engram_py.observations.listing import Listing, Note
from engram_py.observations.observations import Observations
from engram_py.observations.validation import title_of
from engram_py.observations.values import Draft, Origin, Saved
from engram_py.projects.projects import Core
from engram_py.times import to_text, zone_named

MOST = 500


class Notes:
    """Appends notes through the one write path, and lists those of a day in the zone that is set."""

    def __init__(self, core: Core, observations: Callable[[], Observations]) -> None:
        self._store, self._journal, self._projects = core.store, core.journal, core.projects
        self._observations = observations
        self._zone = zone_named(core.settings.timezone)

    def add(
        self,
        text: str,
        *,
        title: str | None = None,
        at: str | None = None,
        project: str | None = None,
        session_id: str | None = None,
        origin: Origin = "user",
        operation_id: str | None = None,
    ) -> Saved:
        """Keep ``text`` as a note of now, or of the UTC time ``at``. Raises what a save raises."""
        draft = Draft(title or title_of(text), text, "note", origin=origin, operation_id=operation_id)
        with self._store.transaction():
            saved = self._observations().save(draft, project=project, session_id=session_id)
            if at is not None and saved.outcome == "added":
                self._store.update("observations", {"id": saved.id}, {"created_at": at})
        return replace(saved, suggested_topic_key=None, topic_holder=None)

    def of_day(self, day: str | None = None, *, project: str | None = None) -> Listing:
        """Return the notes of a local day (``2026-03-14``, ``today``), oldest first. Raises InvalidArgumentError."""
        place = self._projects.for_read(project)
        since, until = self._span(day or "today")
        rows = table.notes_between(self._store, project=place.project, since=since, until=until, limit=MOST)
        notes = tuple(Note(row.id, row.content, row.created_at) for row in reversed(rows))
        return Listing("notes", notes, place.warnings)

    def _span(self, day: str) -> tuple[str, str]:
        today = self._journal.moment().astimezone(self._zone).date()
        named = {"today": today, "yesterday": today - timedelta(days=1)}
        try:
            start = named.get(day.strip().lower()) or date.fromisoformat(day.strip())
            return self._midnight(start), self._midnight(start + timedelta(days=1))
        except (ValueError, OverflowError) as exc:
            raise InvalidArgumentError("day", day, expected="a day such as 2026-03-14, today or yesterday") from exc

    def _midnight(self, day: date) -> str:
        local = datetime(day.year, day.month, day.day)
        return to_text(local.replace(tzinfo=self._zone) if self._zone is not None else local.astimezone())
