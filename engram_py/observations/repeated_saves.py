"""A save that is repeated under its ``operation_id`` answers what the first one did."""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta
from typing import NamedTuple

from engram_py.database.journal import Journal
from engram_py.database.store import Store
from engram_py.dataclass import asdict, replace
from engram_py.errors import OperationConflictError, TextTooLongError
from engram_py.observations.validation import NAME_LIMIT_CHARS, Prepared
from engram_py.observations.values import Candidate, Draft, RelationNote, Saved, Truncated
from engram_py.text.normalize import check_text
from engram_py.times import to_text

_KEPT_DAYS = 30
_FORGET = """
delete from save_operations where operation_id in
    (select operation_id from save_operations where created_at < :before order by created_at limit 50)
"""


class Operation(NamedTuple):
    """A save that may be repeated: a digest of its id, which keeps no secret, and one of its arguments."""

    id: str
    fingerprint: str

    def answer(self, store: Store) -> Saved | None:
        """Return the first answer. Raises OperationConflictError when something else is asked for now."""
        row = store.row("select * from save_operations where operation_id = :id", id=self.id)
        if row is None:
            return None
        if row["fingerprint"] != self.fingerprint:
            raise OperationConflictError
        return replace(_saved_from_json(row["answer"]), replayed=True)

    def remember(self, store: Store, journal: Journal, saved: Saved) -> None:
        """Keep the answer for a month, and forget up to 50 that are older. Call inside a transaction."""
        store.execute(_FORGET, before=to_text(journal.moment() - timedelta(days=_KEPT_DAYS)))
        values = {"operation_id": self.id, "fingerprint": self.fingerprint, "answer": json.dumps(asdict(saved))}
        store.insert("save_operations", values | {"created_at": journal.now()})


def operation_of(draft: Draft, new: Prepared, project: str | None, session_id: str | None) -> Operation | None:
    """Return the operation that a draft names. Raises InvalidTextError, TextTooLongError."""
    if not draft.operation_id:
        return None
    check_text("operation_id", draft.operation_id)
    if len(draft.operation_id) > NAME_LIMIT_CHARS:
        raise TextTooLongError("operation_id", len(draft.operation_id), NAME_LIMIT_CHARS)
    parts = [session_id, new.type, new.title, new.content, new.tool_name, project, new.scope, new.topic_key]
    parts += [new.aliases] if new.aliases else []
    parts += ["files", *draft.files] if draft.files else []
    # Each part with its length, so that no two requests run together.
    joined = "".join(f"{len(part)}:{part}" for part in (part or "" for part in parts))
    fingerprint = hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()
    return Operation(hashlib.sha256(draft.operation_id.encode()).hexdigest(), f"v1:{fingerprint}")


def _saved_from_json(text: str) -> Saved:
    values = json.loads(text)
    values["truncation"] = Truncated(**values["truncation"]) if values["truncation"] else None
    values["candidates"] = tuple(Candidate(**candidate) for candidate in values["candidates"])
    values["warnings"] = tuple(values["warnings"])
    values["replaced"] = tuple(RelationNote(**note) for note in values.get("replaced", ()))
    return Saved(**values)
