"""A save that is repeated under its ``operation_id`` answers what the first one did."""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta
from typing import NamedTuple

from engram_py.database.journal import Journal
from engram_py.database.store import Store
from engram_py.dataclass import asdict, replace
from engram_py.errors import OperationConflictError, OperationExpiredError, TextTooLongError
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
        if not row["answer"]:
            raise OperationExpiredError
        if row["fingerprint"] != self.fingerprint:
            raise OperationConflictError
        return replace(_saved_from_json(row["answer"]), replayed=True)

    def remember(self, store: Store, journal: Journal, saved: Saved) -> None:
        """Keep the answer for a month, and forget up to 50 that are older. Call inside a transaction."""
        store.execute(_FORGET, before=to_text(journal.moment() - timedelta(days=_KEPT_DAYS)))
        values = {"operation_id": self.id, "fingerprint": self.fingerprint, "answer": json.dumps(asdict(saved))}
        store.insert("save_operations", values | {"created_at": journal.now()})


def committed(store: Store, operation_id: str) -> int | None:
    """Return what a save under this id became, None where there was none. Raises OperationExpiredError."""
    row = store.row("select answer from save_operations where operation_id = :id", id=_digest(operation_id))
    if row is None:
        return None
    saved = _saved_from_json(row["answer"]) if row["answer"] else None
    sql = "select 1 from observations where id = :id and deleted_at is null"
    if saved is None or store.row(sql, id=saved.id) is None:
        raise OperationExpiredError
    return saved.id


def expire(store: Store, sync_id: str) -> None:
    """Forget what answers say of a destroyed observation: its own all of it, others whom they named.

    That there was a save stays known. Call inside a transaction.
    """
    for row in store.rows("select * from save_operations where instr(answer, :sync_id)", sync_id=sync_id):
        answer = json.loads(row["answer"])
        own = answer["sync_id"] == sync_id
        kept = "" if own else json.dumps(answer | {"candidates": [], "replaced": [], "warnings": []})
        values = {"answer": kept, "fingerprint": "" if own else row["fingerprint"]}
        store.update("save_operations", {"operation_id": row["operation_id"]}, values)


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
    return Operation(_digest(draft.operation_id), f"v1:{fingerprint}")


def _digest(operation_id: str) -> str:
    return hashlib.sha256(operation_id.encode("utf-8", "surrogatepass")).hexdigest()


def _saved_from_json(text: str) -> Saved:
    values = json.loads(text)
    values["truncation"] = Truncated(**values["truncation"]) if values["truncation"] else None
    values["candidates"] = tuple(Candidate(**candidate) for candidate in values["candidates"])
    values["warnings"] = tuple(values["warnings"])
    values["replaced"] = tuple(RelationNote(**note) for note in values.get("replaced", ()))
    return Saved(**values)
