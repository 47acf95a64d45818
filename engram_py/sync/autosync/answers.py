"""The answers of a server, which may be another program or a proxy, as checked models."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, StrictInt, ValidationError

from engram_py.sync.errors import CloudFailedError

UNKNOWN_SEQ = -1
_SHOWN = 200
_MOST_PROJECTS = 20_000


def one_line(text: object) -> str:
    """Return one short printable line, which cannot move a terminal's cursor; '' for what is no text."""
    line = " ".join(text.split()) if isinstance(text, str) else ""
    return "".join(char for char in line if char.isprintable())[:_SHOWN]


def _account_name(principal: object) -> object:
    return principal.get("display_name") or principal.get("name") if isinstance(principal, dict) else principal


Line = Annotated[str, BeforeValidator(one_line)]
# Below SQLite's largest integer, with room to count on.
Seq = Annotated[StrictInt, Field(ge=0, le=2**62)]
# A position in the log, and the entry that has it.
Entry = Annotated[
    tuple[Seq, dict[str, Any]],
    BeforeValidator(lambda entry: (entry.get("seq"), entry) if isinstance(entry, dict) else entry),
]


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Identity(_Answer):
    """The account that a token belongs to."""

    principal: Annotated[Line, BeforeValidator(_account_name), Field(min_length=1)]
    role: Line = ""
    token_expires_at: Annotated[str | None, BeforeValidator(lambda at: at if isinstance(at, str) else None)] = None


class Grant(_Answer):
    """A project as the server lists it for this token."""

    name: str
    access: Literal["read", "write"]
    paused: Annotated[bool, BeforeValidator(lambda value: value is True)] = False
    latest_seq: Seq = UNKNOWN_SEQ
    paused_reason: Line = ""


class Listing(_Answer):
    """The projects that the token may see, None when the server does not list them. ``instance`` names its database.

    ``every`` is what the token may do in any project, those that are not there yet included; empty when nothing.
    """

    grants: dict[str, Grant] | None = None
    instance: Line = ""
    every: Line = ""

    def may_write(self, name: str) -> bool:
        """Return whether it is sure that the token may."""
        grant = (self.grants or {}).get(name)
        return self.every == "write" or (grant is not None and grant.access == "write")


class _Projects(_Answer):
    projects: Annotated[list[Grant], Field(max_length=_MOST_PROJECTS)]


class Rejected(_Answer):
    index: StrictInt
    reason_code: Line = ""
    reason: Line = ""
    repairable: Annotated[bool, BeforeValidator(lambda value: value is True)] = False


class Pushed(_Answer):
    """The answer to a push: indexes into the entries sent. ``accepted_seqs`` are the log positions of ``accepted``.

    ``previous`` is the end of each project's log before the push, if the server reports it.
    """

    accepted: list[StrictInt]
    unchanged: list[StrictInt] = []
    rejected: list[Rejected] = []
    accepted_seqs: list[Seq] = []
    previous: dict[str, Seq] = {}


class Page(_Answer):
    """A page of the log. ``size`` is the number of bytes it came in."""

    entries: list[Entry] = Field(validation_alias="mutations")
    more: StrictBool = Field(validation_alias="has_more")
    latest_seq: Seq
    size: int = 0

    @property
    def upto(self) -> int:
        """The next cursor."""
        last = self.entries[-1][0] if self.entries else 0
        return last if self.more else max(self.latest_seq, last)


def identity(value: Any) -> Identity:
    """Parse the answer to ``/whoami``. Raises CloudFailedError, as every parser here does."""
    return _parsed(Identity, value)


def listing(value: Any) -> Listing:
    projects = _parsed(_Projects, value).projects
    return _parsed(Listing, value | {"grants": {one.name: one for one in projects}})


def pushed(value: Any, sent: int) -> Pushed:
    """Parse the answer to a push. Raises CloudFailedError unless each entry is answered exactly once."""
    seqs = value.get("accepted_seqs") if isinstance(value, dict) and "accepted" not in value else None
    if isinstance(seqs, list) and len(seqs) == sent:  # Engram's server: all or nothing
        value = {**value, "accepted": list(range(sent))}
    answer = _parsed(Pushed, value)
    indexes = [*answer.accepted, *answer.unchanged, *(one.index for one in answer.rejected)]
    if sorted(indexes) != list(range(sent)):
        raise _invalid_answer("it does not answer for each entry once")
    return answer


def page(value: Any, *, since: int, size: int) -> Page:
    found = _parsed(Page, value).model_copy(update={"size": size})
    positions = [since, *(position for position, _ in found.entries)]
    if any(later <= earlier for earlier, later in pairwise(positions)):
        raise _invalid_answer("its entries are not in order")
    if found.more and not found.entries:
        raise _invalid_answer("it says that there is more, and gives nothing")
    return found


_Model = TypeVar("_Model", bound=_Answer)


def _parsed(model: type[_Model], value: Any) -> _Model:
    try:
        return model.model_validate(value)
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_input=False)[0]
        raise _invalid_answer(f"{'.'.join(map(str, first['loc']))[:_SHOWN]}: {first['msg']}") from exc


def _invalid_answer(flaw: str) -> CloudFailedError:
    return CloudFailedError("transport_failed", f"the server's answer is not one of a sync server: {flaw}")
