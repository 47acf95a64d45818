"""Older texts of observations, which every replica keeps under the same names."""

from __future__ import annotations

from engram_py.sync.merge import version_digest, version_key
from engram_py.sync.replica import table
from engram_py.sync.replica.batch import Batch


def add_version(batch: Batch, row_id: int, sync_id: str, text: tuple[str, str, str], *, clock: str) -> bool:
    """Add an older text that no machine may have named yet, and tell the others of it."""
    at, title, content = text
    digest = version_digest(at, title, content)
    added = table.add_version(batch.store, row_id, digest=digest, title=title, content=content, at=at, clock=clock)
    if added:
        batch.renumbered.add(row_id)
        project = batch.store.value("select project from observations where id = :id", id=row_id)
        batch.queue("version", version_key(sync_id, digest), "upsert", project=project, clock=clock)
    return added
