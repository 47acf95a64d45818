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


class JudgmentNotFoundError(NotFoundError):
    def __init__(self, judgment_id: str) -> None:
        self.judgment_id = judgment_id[:80]
        super().__init__(
            f"no relation {self.judgment_id!r}",
            hint=sentence("use the judgment_id that the save printed; ", operation("unjudged"), " lists open ones"),
        )


class ChangedMeanwhileError(ConflictError):
    def __init__(self, observation_id: int) -> None:
        self.observation_id = observation_id
        super().__init__(
            f"observation #{observation_id} was changed meanwhile; it stays as it is now",
            hint=sentence("read it again: ", operation("get", id=observation_id)),
        )


class ProjectMismatchError(ConflictError):
    """A write expects another project than the one it would change."""

    def __init__(self, owner: str, asked: str, observation_id: int | None = None) -> None:
        if observation_id is None:
            message = f"this would be written to {owner or 'no project'}, not to {asked}"
            hint = f"pass project {asked} to write there, or leave expected_project out"
        else:
            message = f"observation #{observation_id} belongs to {owner}, not to {asked}"
            hint = f"a memory keeps its project here; `engram move {observation_id} --to PROJECT` moves it"
        super().__init__(message, hint=hint, facts={"owner_project": owner, "requested_project": asked})
