"""Imports Engram's JSON, versions 0.1.0 and 0.2.0, in one transaction: all of it or nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from engram_py.database.journal import Journal
from engram_py.database.store import Store
from engram_py.interchange.results import Imported

Progress = Callable[[int, int], None]


class Importing:
    """Imports exports: rows are matched by sync id, the newer text wins, the older one is kept as a version."""

    _store: Store
    _journal: Journal

    def import_file(self, source: Path | BinaryIO, *, progress: Progress | None = None) -> Imported:
        """Import a file or an open stream; ``progress(done, total)`` is called now and then.

        Importing twice changes nothing the second time.

        Raises InvalidExportError: not JSON, another version, wrong types. Nothing is imported then.
        """
        # Imported here: no other command needs them.
        from engram_py.database.compaction import IMPORT_SHARE, compacted
        from engram_py.interchange.import_file import name_of, read_export
        from engram_py.interchange.import_run import run_import

        document = read_export(source)
        started = time.monotonic()
        with self._store.transaction():
            ledger = run_import(self._store, self._journal, document, progress)
        compacted(self._store, seconds=IMPORT_SHARE * (time.monotonic() - started))
        return Imported(
            name_of(source),
            document.version or "0.1.0",
            **ledger.counts,
            redacted=ledger.redacted,
            warnings=ledger.warnings,
        )
