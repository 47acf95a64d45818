"""One import from its first row to its last, in the order in which rows depend on each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from engram_py.database.journal import Journal
from engram_py.database.store import Store
from engram_py.interchange.import_ledger import Ledger
from engram_py.interchange.import_observations import import_observation, import_versions
from engram_py.interchange.import_rows import (
    import_aliases,
    import_prompt,
    import_relation,
    import_session,
    import_tombstones,
    link_superseded,
)
from engram_py.observations.relations_table import settle_all

if TYPE_CHECKING:
    from engram_py.interchange.values import ExportIn

Progress = Callable[[int, int], None]

_PROGRESS_EVERY = 100


def run_import(store: Store, journal: Journal, document: ExportIn, progress: Progress | None) -> Ledger:
    """Import everything; what was counted. Call inside a transaction."""
    ledger = Ledger(store, journal, document)
    steps: tuple[tuple[Sequence[Any], Callable[[Ledger, Any], None]], ...] = (
        (document.sessions, import_session),
        (document.observations, import_observation),
        (document.prompts, import_prompt),
        (document.relations, import_relation),
    )
    total = sum(len(rows) for rows, _ in steps)
    done = 0
    import_tombstones(ledger)
    for rows, take in steps:
        for row in rows:
            take(ledger, row)
            done += 1
            if progress and done % _PROGRESS_EVERY == 0:
                progress(done, total)
    import_versions(ledger)
    link_superseded(ledger)
    import_aliases(ledger)
    settle_all(store)
    if progress:
        progress(total, total)
    return ledger
