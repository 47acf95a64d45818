"""Refusals of saving, finding and changing an observation."""

from __future__ import annotations

from engram_py.base.errors import ConflictError, InvalidInputError, NotFoundError
from engram_py.base.reasons import operation, sentence


class BulkFilterError(InvalidInputError):
    def __init__(self, text: str, *unread: str) -> None:
        self.text, self.unread = text[:80], unread
        why = f"{', '.join(unread)} is no filter" if unread else "it must consist of filters"
        super().__init__(
            f"{self.text!r} does not select memories: {why}; nothing was changed",
            hint="use filters, such as --where 'type:note until:2026-01'; `engram search` finds ids by words",
        )


class ObservationNotFoundError(NotFoundError):
    def __init__(self, observation_id: int, *, deleted_at: str | None = None) -> None:
        self.observation_id, self.deleted_at = observation_id, deleted_at
        state = f"was deleted at {deleted_at}" if deleted_at else "does not exist"
        find = sentence("find the id with ", operation("search"), " or ", operation("context"))
        back = sentence(operation("undelete", id=observation_id), " brings it back")
        super().__init__(f"observation #{observation_id} {state}", hint=back if deleted_at else find)


class ChangedMeanwhileError(ConflictError):
    def __init__(self, observation_id: int) -> None:
        self.observation_id = observation_id
        super().__init__(
            f"observation #{observation_id} was changed meanwhile; it stays as it is now",
            hint=sentence("read it again: ", operation("get", id=observation_id)),
        )
