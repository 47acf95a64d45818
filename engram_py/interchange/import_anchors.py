"""Imports the files observations are about. A path or a hash that somebody made up must not become more than text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from engram_py.anchors import table
from engram_py.anchors.values import LINE_LIMIT, MOST_ANCHORS, NOT_READ
from engram_py.anchors.worktree import is_relative
from engram_py.capture.redact import redact
from engram_py.interchange.import_file import moment_of
from engram_py.interchange.import_ledger import Ledger

if TYPE_CHECKING:
    from engram_py.interchange.values import OwnAnchor

_DIGEST = re.compile(r"[0-9a-f]{32}")
_OBJECT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_PROBE = re.compile(r"\d{1,7}\.\d{1,7}\.\d{1,10}")


def import_anchors(ledger: Ledger, row_id: int, sync_id: str) -> None:
    """Give an imported observation the anchors it came with; one with an impossible path is left out."""
    offered = ledger.own.anchors.get(sync_id, ())[:MOST_ANCHORS]
    usable = [values for one in offered if (values := anchor_values(one, ledger.now))]
    if len(usable) < len(offered):
        ledger.warn(
            f"{len(offered) - len(usable)} file(s) of observation {sync_id[:80]!r} left out: no path in a project"
        )
    if usable or ledger.own.anchors:
        table.replace(ledger.store, row_id, usable)


def anchor_values(anchor: OwnAnchor, now: str) -> dict[str, Any] | None:
    """The columns of an anchor that came from elsewhere, None when its path is no path in a project.

    ``now`` is when it was recorded if it does not say.
    """
    path = anchor.path.rstrip("/")
    if not is_relative(path) or redact(path).count:
        return None
    start, end = anchor.start_line, anchor.end_line
    if start is None or end is None or not 1 <= start <= end <= LINE_LIMIT:
        start = end = None
    digest = _matching(_DIGEST, anchor.digest)
    probe = _matching(_PROBE, anchor.probe)
    if start is not None and probe is None:
        digest = None
    copies = max(1, anchor.copies)
    return {
        "path": path,
        "start_line": start,
        "end_line": end,
        "origin": anchor.origin if anchor.origin in ("given", "where") else "given",
        "digest": digest,
        "probe": probe if start is not None else None,
        "copies": copies,
        "ordinal": min(max(0, anchor.ordinal), copies - 1),
        "file_digest": _matching(_DIGEST, anchor.file_digest),
        "blob": _matching(_OBJECT, anchor.blob),
        "git_commit": _matching(_OBJECT, anchor.git_commit),
        "reason": None if digest else NOT_READ,
        "recorded_at": moment_of(anchor.recorded_at) or now,
    }


def _matching(shape: re.Pattern[str], text: str | None) -> str | None:
    return text if text is not None and shape.fullmatch(text) else None
