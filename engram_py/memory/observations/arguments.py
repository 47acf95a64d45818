"""Make drafts and changes of named arguments, check numbers, scopes and dates that callers pass, and find the
observation that an id names.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from engram_py.base.errors import ConflictError, InvalidArgumentError
from engram_py.base.lazy import regex
from engram_py.base.reasons import Reason, reason
from engram_py.base.times import Calendar, to_text
from engram_py.memory.observations.values import EDITED, SCOPES, Change, Draft, Observation, Scope
from engram_py.memory.projects.values import normalize_project

if TYPE_CHECKING:
    from engram_py.base.database.store import Store
    from engram_py.memory.projects.values import Place

MAX_ID = 2**63 - 1

# A text of nothing but handles: `[#1] [#2]`, `#1, #2`.
_HANDLES = regex(r"\s*(?:\[?#[0-9]{1,18}\]?[\s,;]*)+\Z")
_NUMBER = regex(r"#([0-9]+)")


def draft_of(given: Mapping[str, Any], **more: Any) -> Draft:
    """Return the draft of the arguments that are its fields; one that is None takes its default."""
    return Draft(**_fields(given, Draft), **more)


def change_of(given: Mapping[str, Any]) -> Change:
    """Return the change that sets the fields among the arguments that are not None."""
    return Change(**_fields(given, Change))


def _fields(given: Mapping[str, Any], of: type[Draft | Change]) -> dict[str, Any]:
    found = {name: given[name] for name in of.__match_args__ if given.get(name) is not None}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}


def edited_texts(row: Observation) -> dict[str, str]:
    """Return the fields of an observation as a person edits them."""
    return {name: getattr(row, name) or "" for name in EDITED}


def change_from(row: Observation, edited: Mapping[str, str]) -> Change | None:
    """Return what was edited of an observation, None for nothing."""
    before = edited_texts(row)
    changed = {name: text for name, text in edited.items() if text != before[name]}
    return change_of(changed) if changed else None


def change_back(row: Observation, changed: Collection[str]) -> Change | None:
    """Return the change that gives those of the ``changed`` fields that a person edits their texts in ``row`` again."""
    before = {name: text for name, text in edited_texts(row).items() if name in changed}
    return change_of(before) if before else None


def clamp(name: str, value: int, low: int, high: int) -> tuple[int, tuple[Reason, ...]]:
    """``value`` limited to ``low``..``high``, and a warning when it was changed."""
    held = max(low, min(high, value))
    if held == value:
        return held, ()
    return held, (reason("clamped", name=name, value=value, low=low, high=high, used=held),)


def clean_scope(scope: str | None) -> Scope | None:
    if scope is None or not scope.strip():
        return None
    for known in SCOPES:
        if scope.strip().lower() == known:
            return known
    raise InvalidArgumentError("scope", scope, expected=f"one of {', '.join(SCOPES)}")


def key_in(place: Place, scope: str | None) -> dict[str, str]:
    """Return the project and the scope that an operation at ``place`` reads or writes, by their columns."""
    return {"project": place.project, "scope": clean_scope(scope) or place.default_scope}


def end_of(name: str, text: str, calendar: Calendar, *, never: bool = True) -> str | None:
    """Return the first moment after a day or a month that was given, or a time as it is; None for ``never``."""
    if never and text.strip().lower() == "never":
        return None
    # "7d" means a week ago, so it cannot be an expiry date.
    span = None if never and "-" not in text else calendar.span(text)
    if span is None:
        other = "or never" if never else "or 7d, a week ago"
        raise InvalidArgumentError(name, text, expected=f"a date such as 2026-03-14, a time, {other}")
    return to_text(span[1])


def check_id(observation_id: int, name: str = "id") -> int:
    if not 1 <= observation_id <= MAX_ID:
        raise InvalidArgumentError(name, observation_id, expected="a positive observation id, as in [#12]")
    return observation_id


def handles(text: str) -> tuple[int, ...]:
    """Return the ids in a text of nothing but handles, each once; none for any other text."""
    if "#" not in text or not _HANDLES.match(text):
        return ()
    return tuple(dict.fromkeys(int(one) for one in _NUMBER.findall(text)))


def live_observation(store: Store, observation_id: int) -> Observation:
    """Return the observation, unless it was deleted. Raises ObservationNotFoundError, InvalidArgumentError."""
    from engram_py.memory.observations.errors import ObservationNotFoundError

    found = kept_observation(store, observation_id)
    if found.deleted_at:
        raise ObservationNotFoundError(observation_id, deleted_at=found.deleted_at)
    return found


def kept_observation(store: Store, observation_id: int) -> Observation:
    """Return the observation, deleted or not. Raises ObservationNotFoundError, InvalidArgumentError."""
    from engram_py.memory.observations import table  # hooks that only keep texts read no rows
    from engram_py.memory.observations.errors import ObservationNotFoundError

    found = table.by_id(store, check_id(observation_id))
    if found is None:
        raise ObservationNotFoundError(observation_id)
    return found


def check_owner(store: Store, observation_id: int, expected: str) -> None:
    """Raises ConflictError (project_mismatch) for an observation of another project, InvalidProjectError."""
    from engram_py.memory.observations import table

    wanted = normalize_project(expected)
    row = table.by_id(store, check_id(observation_id))
    if row is not None and row.project != wanted:
        raise ConflictError(
            f"observation #{observation_id} belongs to {row.project}, not to {wanted}",
            hint=f"a memory keeps its project here; `engram move {observation_id} --to PROJECT` moves it",
            code="project_mismatch",
            facts={"owner_project": row.project, "requested_project": wanted},
        )


def check_place(project: str, expected: str) -> None:
    """Raises ConflictError (project_mismatch) when a write to ``project`` expects another one, InvalidProjectError."""
    wanted = normalize_project(expected)
    if project != wanted:
        raise ConflictError(
            f"this would be written to {project or 'no project'}, not to {wanted}",
            hint=f"pass project {wanted} to write there, or leave expected_project out",
            code="project_mismatch",
            facts={"owner_project": project, "requested_project": wanted},
        )
