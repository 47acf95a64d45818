"""The words of exports and imports."""

from __future__ import annotations

from datetime import datetime

from engram_py.interchange.results import Counts, Exported, Imported
from engram_py.interfaces.wording.phrases import Words, amount

_KINDS = ("observations", "sessions", "prompts", "relations")
_MOST_REASONS = 5


def _exported(value: Exported, now: datetime) -> str:
    counts = ", ".join(amount(getattr(value, kind), kind.removesuffix("s")) for kind in _KINDS)
    return f"Exported {counts} to {value.path} (format {value.version}, {value.bytes:,} bytes)"


def _imported(value: Imported, now: datetime) -> str:
    lines = [f"Imported {value.path} (format {value.version})"]
    lines += [_counts(kind, getattr(value, kind)) for kind in _KINDS]
    lines += [_counts(kind, found) for kind in ("versions", "tombstones") if (found := getattr(value, kind)).read]
    lines += [f"redacted {amount(value.redacted, 'secret or private part')}"] if value.redacted else []
    if value.observations.new and not value.trusted:
        lines.append(
            f"They stay apart as not checked; `engram trust --author {value.path.rpartition('/')[2]}` makes them yours."
        )
    return "\n".join(lines)


def _counts(kind: str, counts: Counts) -> str:
    invalid = f", {counts.invalid} invalid" if counts.invalid else ""
    why = "; ".join(f"{reason}: {rows}" for reason, rows in list(counts.reasons.items())[:_MOST_REASONS])
    said = f"{kind}: {counts.read} read, {counts.new} new, {counts.newer} newer, {counts.skipped} skipped{invalid}"
    return f"{said} ({why})" if why else said


WORDS: Words = {Exported: _exported, Imported: _imported}
