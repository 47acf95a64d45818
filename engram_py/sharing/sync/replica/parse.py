"""Parse the payload of an arrived row: redacted, checked, in our columns.

The result depends on the mutation alone, never on the time or the machine: every replica must parse the same.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from engram_py.base.capture.redact import redact
from engram_py.base.clock import parse_stamp
from engram_py.base.dataclass import dataclass, field, replace
from engram_py.base.errors import EngramError
from engram_py.base.text.words import derived_terms
from engram_py.base.times import to_text
from engram_py.memory.anchors.values import MOST_ANCHORS
from engram_py.memory.observations.table import OWN_COLUMNS, OWN_SOMETIMES, SPECIAL
from engram_py.memory.observations.validation import Prepared, clean_content, clean_line
from engram_py.memory.observations.values import TITLE_LIMIT_CHARS, chosen_lifecycle
from engram_py.memory.projects.values import normalize_project
from engram_py.sharing.sync.mutation import KINDS, OWN_BLOCK, Mutation, version_digest, version_key, version_owner
from engram_py.sharing.sync.replica.columns import (
    EPOCH,
    Clean,
    anchor_columns,
    has_verdict,
    made_session,
    moment_of,
    observation_columns,
    own_columns,
    prepared_of,
    relation_columns,
    session_columns,
    session_key,
    without_nul,
)
from engram_py.sharing.sync.replica.models import (
    ObservationIn,
    OwnAnchor,
    OwnObservation,
    OwnSession,
    PromptIn,
    RelationIn,
    SessionIn,
    first_problem,
)

_LATEST = datetime(9999, 1, 1, tzinfo=UTC).timestamp() * 1000
_Model = TypeVar("_Model", bound=BaseModel)


class UnreadableError(ValueError):
    """A payload that is no row of its kind; the text is the reason."""


@dataclass(frozen=True, slots=True)
class ParsedRow:
    """A parsed row. ``columns`` are compared between replicas, ``derived`` follows from them. ``keeps`` names the
    columns that a row of Engram itself does not have: the row here keeps its own. ``number`` is its id there."""

    project: str
    columns: dict[str, Any]
    derived: dict[str, Any] = field(default_factory=dict)
    number: object = None
    anchors: tuple[dict[str, Any], ...] = ()
    keeps: tuple[str, ...] = ()


# The columns that a row of Engram itself does not have.
OURS = ("pinned", *SPECIAL, *OWN_COLUMNS, *OWN_SOMETIMES)


def read_observation(mutation: Mutation) -> ParsedRow:
    row = _model(ObservationIn, mutation.payload)
    block = mutation.payload.get(OWN_BLOCK)
    own = _model(OwnObservation, block or {})
    new, project = _checked(lambda: prepared_of(row, own)), _project(mutation, row.project)
    columns, derived = observation_of(row, own, new, _text, now=_clock_time(mutation))
    columns["session_id"] = session_key(row.session_id) or made_session(project)
    anchors = _anchors(block, columns["updated_at"])
    return ParsedRow(project, columns, derived, row.id, anchors, () if block is not None else OURS)


def observation_of(
    row: ObservationIn, own: OwnObservation, new: Prepared, clean: Clean, *, now: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the columns of an observation, but for its session, and those that follow from them.

    ``clean`` takes the secrets out of a text; ``now`` is the time of a row without any.
    """
    columns = observation_columns(row, own, new, now=now)
    derived = {name: columns.pop(name) for name in ("terms", "content_hash")}
    columns |= {
        "review_after": moment_of(own.review_after, row.review_after),
        "origin": own.origin,
        "lifecycle": chosen_lifecycle(own.lifecycle),
        **own_columns(own, OWN_COLUMNS | OWN_SOMETIMES, clean),
    }
    return columns, derived


def read_session(mutation: Mutation) -> ParsedRow:
    row = _model(SessionIn, mutation.payload)
    own = _model(OwnSession, mutation.payload.get(OWN_BLOCK) or {})
    return ParsedRow(_project(mutation, row.project), session_columns(row, own, _text, now=_clock_time(mutation)))


def read_prompt(mutation: Mutation) -> ParsedRow:
    row = _model(PromptIn, mutation.payload)
    block = mutation.payload.get(OWN_BLOCK) or {}
    content = _text(row.content)
    if content is None:
        raise UnreadableError("payload.content: missing")
    project = _project(mutation, row.project)
    columns = {
        "session_id": session_key(row.session_id) or made_session(project),
        "content": content,
        "created_at": moment_of(block.get("created_at"), row.created_at) or _clock_time(mutation),
    }
    return ParsedRow(project, columns, {"terms": derived_terms(content)}, row.id)


def read_relation(mutation: Mutation) -> ParsedRow:
    row = _model(RelationIn, mutation.payload)
    if not has_verdict(row):
        raise UnreadableError(f"payload.relation: {row.relation[:40]!r} is no verdict")
    block = mutation.payload.get(OWN_BLOCK) or {}
    columns = relation_columns(row, block, _text, now=_clock_time(mutation))
    return ParsedRow(_project(mutation, row.project), columns)


def read_version(mutation: Mutation) -> tuple[str, str, dict[str, str]]:
    """Return the observation, the digest and the text of an older version, redacted."""
    owner, digest = version_owner(mutation.entity_key)
    title, content, at = (_string(mutation.payload, name) for name in ("title", "content", "created_at"))
    if not owner or version_digest(at, title, content) != digest:
        raise UnreadableError("entity_key: does not match this text")
    clean = _checked(lambda: clean_line("title", without_nul(title), limit=TITLE_LIMIT_CHARS)[0])
    text = _checked(lambda: clean_content(without_nul(content))[0])
    moment = moment_of(at) or _clock_time(mutation)
    # What redaction changed has the name of what is kept, or nobody could be told of it.
    return owner, version_digest(moment, clean, text), {"title": clean, "content": text, "at": moment}


def redacted(mutation: Mutation, read: Any) -> Mutation:
    """Return a mutation as it may be kept until it can be applied; ``read`` is what it was parsed to."""
    if mutation.op == "delete" or mutation.entity not in KINDS:
        return mutation  # a deletion has no text, and what is not known is passed on untouched
    if mutation.entity == "version":  # what redaction changed has the name of what is kept
        owner, digest, text = read
        kept = {"title": text["title"], "content": text["content"], "created_at": text["at"]}
        return replace(mutation, entity_key=version_key(owner, digest), payload=kept)
    return replace(mutation, payload=_redacted(mutation.payload))


def _redacted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _redacted(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_redacted(one) for one in value]
    return redact(value).text if isinstance(value, str) else value


def read_name(mutation: Mutation) -> dict[str, str]:
    """Return the columns of a project or an alias."""
    at = _clock_time(mutation)
    created = moment_of(mutation.payload.get("created_at")) or at
    if mutation.entity == "alias":
        project = _known_name(_string(mutation.payload, "project"))
        return {"alias": _known_name(mutation.entity_key), "project": project, "created_at": created}
    display = mutation.payload.get("display_name")
    return {
        "name": _known_name(mutation.entity_key),
        "display_name": (_text(display) if isinstance(display, str) else None) or mutation.entity_key,
        "origin": _text(mutation.payload.get("origin")) or "agent",
        "created_at": created,
        "updated_at": moment_of(mutation.payload.get("updated_at")) or created,
    }


def deletion_time(mutation: Mutation) -> str:
    block = mutation.payload.get(OWN_BLOCK) or {}
    return moment_of(block.get("deleted_at"), mutation.payload.get("deleted_at")) or _clock_time(mutation)


def _anchors(block: Any, updated: str) -> tuple[dict[str, Any], ...]:
    offered = (block or {}).get("anchors") or []
    if not isinstance(offered, list):
        raise UnreadableError("payload.engram_py.memory.anchors: not a list")
    read = [anchor_columns(_model(OwnAnchor, one), updated) for one in offered[:MOST_ANCHORS]]
    return tuple(values for values in read if values is not None)


def _model(kind: type[_Model], value: object) -> _Model:
    try:
        return kind.model_validate(value)
    except ValidationError as exc:
        raise UnreadableError(f"payload.{first_problem(exc)}") from None


def _checked(action: Callable[[], Any]) -> Any:
    try:
        return action()
    except EngramError as exc:
        raise UnreadableError(exc.message) from None


def _project(mutation: Mutation, named: str | None) -> str:
    return _known_name(named or mutation.project)


def _known_name(name: str) -> str:
    return str(_checked(lambda: normalize_project(name)))


def _string(payload: dict[str, Any], name: str) -> str:
    value = payload.get(name)
    if not isinstance(value, str):
        raise UnreadableError(f"payload.{name}: missing, or not a text")
    return value


def _text(text: Any) -> str | None:
    """Return a text without its secrets, None for an empty one."""
    if not isinstance(text, str) or not without_nul(text).strip():
        return None
    return str(_checked(lambda: clean_content(without_nul(text))[0]))


def _clock_time(mutation: Mutation) -> str:
    milliseconds = parse_stamp(mutation.clock).milliseconds
    if not 0 < milliseconds < _LATEST:
        return EPOCH
    return to_text(datetime.fromtimestamp(milliseconds / 1000, UTC))
