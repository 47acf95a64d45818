"""Proof of use: what sessions were shown unasked, and what of it they cited."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal

from engram_py.database.journal import Journal
from engram_py.database.store import Store
from engram_py.ledger import citations_table as table
from engram_py.sessions.turn_values import Tally

Surface = Literal["session", "prompt", "compact", "subagent", "file"]

MOST_KEPT = 20_000


class Citations:
    """Records injections and citations. Both are of this machine alone, and the latest 20,000 of each are kept."""

    def __init__(self, store: Store, journal: Journal) -> None:
        self._store = store
        self._journal = journal

    def inject(
        self, session_id: str, shown: Mapping[int, int], surface: Surface, *, visible: Collection[int] | None = None
    ) -> None:
        """A session (that exists) was shown these ids unasked; ``shown`` holds the bytes each took.

        ``visible``: those of them that need not be shown again in this context window, None all of them.
        """
        if not shown:
            return
        with self._store.transaction():
            table.inject(
                self._store,
                shown,
                visible=shown if visible is None else visible,
                session_id=session_id,
                surface=surface,
                now=self._journal.now(),
            )
            table.shrink(self._store, most=MOST_KEPT)

    def visible(self, session_id: str, *surfaces: Surface) -> set[int]:
        """The ids that one of the surfaces made visible since the session's context window began."""
        return table.visible(self._store, session_id, surfaces=surfaces)

    def last_given(self, session_id: str, *surfaces: Surface) -> str | None:
        """When one of the surfaces last gave the session anything; None if it never did."""
        return table.last_given(self._store, session_id, surfaces=surfaces)

    def new_window(self, session_id: str) -> None:
        """The session's context window begins anew: what was shown in the last one may be shown again."""
        with self._store.transaction():
            table.hide(self._store, session_id)

    def cite(self, session_id: str, ids: Iterable[int]) -> int:
        """An agent cited these ids, each as often as it is given; how many of them name an observation."""
        counted = Counter(ids)
        if not counted:
            return 0
        with self._store.transaction():
            found = table.cite(self._store, counted, session_id=session_id, now=self._journal.now())
            table.shrink(self._store, most=MOST_KEPT)
        return found

    def tallies(self, ids: Sequence[int]) -> dict[int, Tally]:
        """In how many sessions each id was injected and cited; ids of which neither is known are left out."""
        return table.tallies(self._store, ids) if ids else {}
