"""Parse and check the answers of a server, which may be another program or a proxy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engram_py.dataclass import dataclass, field
from engram_py.sync.autosync.problems import Problem
from engram_py.sync.autosync.values import UNKNOWN_SEQ, Grant

# Below SQLite's largest integer, with room to count on.
_MOST_SEQ = 2**62
_SHOWN = 200
_MOST_PROJECTS = 20_000


@dataclass(frozen=True, slots=True)
class Identity:
    """The account that a token belongs to."""

    principal: str
    role: str
    expires_at: str | None


@dataclass(frozen=True, slots=True)
class Rejected:
    index: int
    code: str
    reason: str
    repairable: bool


@dataclass(frozen=True, slots=True)
class Pushed:
    """The answer to a push: indexes into the entries sent. ``seqs`` are the log positions of ``accepted``, in order."""

    accepted: tuple[int, ...]
    unchanged: tuple[int, ...]
    rejected: tuple[Rejected, ...]
    seqs: tuple[int, ...]
    # The end of each project's log before the push, if the server reports it.
    previous: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Listing:
    """The projects that the token may see, None when the server does not list them. ``instance`` names its database.

    ``every`` is what the token may do in any project, those that are not there yet included; empty when nothing.
    """

    grants: dict[str, Grant] | None
    instance: str = ""
    every: str = ""

    def may_write(self, name: str) -> bool:
        """Return whether it is sure that the token may."""
        grant = (self.grants or {}).get(name)
        return self.every == "write" or (grant is not None and grant.access == "write")


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the log: ``entries`` are (position, entry), ``upto`` is the next cursor."""

    entries: tuple[tuple[int, dict[str, Any]], ...]
    upto: int
    more: bool
    size: int = field(default=0, compare=False)


def identity(value: Any) -> Identity:
    """Parse the answer to ``/whoami``. Raises Problem, as every parser here does."""
    found = _object(value)
    principal = found.get("principal")
    if isinstance(principal, dict):
        principal = principal.get("display_name") or principal.get("name")
    if not isinstance(principal, str) or not principal.strip():
        raise _invalid_answer("it does not say whose token it is")
    expires = found.get("token_expires_at")
    return Identity(one_line(principal), _text(found.get("role")), expires if isinstance(expires, str) else None)


def listing(value: Any) -> Listing:
    listed = _object(value).get("projects")
    if not isinstance(listed, list) or len(listed) > _MOST_PROJECTS:
        raise _invalid_answer("it does not list projects")
    found = {}
    for one in listed:
        name, access = _object(one).get("name"), _object(one).get("access")
        if not isinstance(name, str) or access not in ("read", "write"):
            raise _invalid_answer("it does not say which projects are granted")
        latest = _seq(one["latest_seq"]) if "latest_seq" in one else UNKNOWN_SEQ
        found[name] = Grant(name, access, one.get("paused") is True, latest, _text(one.get("paused_reason")))
    every = value.get("every")
    return Listing(found, _text(value.get("instance")), every if every in ("read", "write") else "")


def pushed(value: Any, sent: int) -> Pushed:
    """Parse the answer to a push. Raises Problem unless each entry is answered exactly once."""
    found = _object(value)
    seqs = tuple(_seq(one) for one in _list(found.get("accepted_seqs", [])))
    if "accepted" not in found and len(seqs) == sent:  # Engram's server: all or nothing
        return Pushed(tuple(range(sent)), (), (), seqs)
    accepted = _indexes(found.get("accepted"), sent)
    unchanged = _indexes(found.get("unchanged", []), sent)
    rejected = tuple(_rejected(one, sent) for one in _list(found.get("rejected", [])))
    if sorted([*accepted, *unchanged, *(one.index for one in rejected)]) != list(range(sent)):
        raise _invalid_answer("it does not answer for each entry once")
    previous = {name: _seq(one) for name, one in _object(found.get("previous", {})).items()}
    return Pushed(accepted, unchanged, rejected, seqs if len(seqs) == len(accepted) else (), previous)


def page(value: Any, *, since: int, size: int) -> Page:
    found = _object(value)
    more, latest = found.get("has_more"), _seq(found.get("latest_seq"))
    if not isinstance(more, bool):
        raise _invalid_answer("has_more is neither true nor false")
    entries = []
    last = since
    for one in _list(found.get("mutations")):
        place = _seq(_object(one).get("seq"))
        if place <= last:
            raise _invalid_answer("its entries are not in order")
        last = place
        entries.append((place, one))
    if more and not entries:
        raise _invalid_answer("it says that there is more, and gives nothing")
    return Page(tuple(entries), last if more else max(latest, last) if entries else latest, more, size)


def one_line(text: str) -> str:
    """Return one short printable line: it cannot move a terminal's cursor."""
    line = " ".join(text.split())
    return "".join(char for char in line if char.isprintable())[:_SHOWN]


def _rejected(value: Any, sent: int) -> Rejected:
    found = _object(value)
    [index] = _indexes([found.get("index")], sent)
    code = _text(found.get("reason_code")) or "refused"
    return Rejected(index, code, _text(found.get("reason")) or code, found.get("repairable") is True)


def _indexes(value: Any, sent: int) -> tuple[int, ...]:
    found = _list(value)
    if not all(type(one) is int and 0 <= one < sent for one in found):
        raise _invalid_answer("it names entries that were not sent")
    return tuple(found)


def _seq(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= _MOST_SEQ:
        raise _invalid_answer("a place in its log is no number")
    return value


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _invalid_answer("it is not a JSON object")
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise _invalid_answer("a list is missing")
    return value


def _text(value: Any) -> str:
    return one_line(value) if isinstance(value, str) else ""


def _invalid_answer(flaw: str) -> Problem:
    return Problem("transport_failed", f"the server's answer is not one of a sync server: {flaw}")
