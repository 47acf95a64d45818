"""Find an observation by id, and the relations of several."""

from __future__ import annotations

from collections.abc import Sequence

from engram_py.database.store import Store
from engram_py.errors import InvalidArgumentError
from engram_py.lazy import regex
from engram_py.observations import table
from engram_py.observations.errors import ObservationNotFoundError
from engram_py.observations.values import Observation, RelationNote
from engram_py.relations import table as relations

MAX_ID = 2**63 - 1

# A text of nothing but handles: `[#1] [#2]`, `#1, #2`.
_HANDLES = regex(r"\s*(?:\[?#[0-9]{1,18}\]?[\s,;]*)+\Z")
_NUMBER = regex(r"#([0-9]+)")

# How a judged relation reads from its source, and from its target.
_LABELS = {
    "duplicates": ("duplicates", "repeated_by"),
    "supersedes": ("supersedes", "superseded_by"),
    "conflicts_with": ("conflicts", "conflicts"),
    "related": ("related", "related"),
    "compatible": ("compatible", "compatible"),
    "scoped": ("limits", "limited_by"),
    "contested": ("contested", "contested"),
}


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
    found = kept_observation(store, observation_id)
    if found.deleted_at:
        raise ObservationNotFoundError(observation_id, deleted_at=found.deleted_at)
    return found


def kept_observation(store: Store, observation_id: int) -> Observation:
    """Return the observation, deleted or not. Raises ObservationNotFoundError, InvalidArgumentError."""
    found = table.by_id(store, check_id(observation_id))
    if found is None:
        raise ObservationNotFoundError(observation_id)
    return found


def relation_notes(store: Store, sync_ids: Sequence[str]) -> dict[str, tuple[RelationNote, ...]]:
    """Return the relations of each observation, by its sync id: those judged, without ``not_conflict``, and the
    questions for which more than like titles speaks (``contested``)."""
    wanted = set(sync_ids)
    notes: dict[str, list[RelationNote]] = {}
    for row in relations.touching(store, sync_ids) if wanted else ():
        for here, end in (("source", "target"), ("target", "source")):
            sync_id = row[f"{here}_id"]
            label = _LABELS.get(row["relation"], (None, None))[here == "target"]
            if sync_id in wanted and label:
                title = row[f"{end}_title"] or ""
                gone = row[f"{end}_observation"] is None or row[f"{end}_deleted_at"] is not None
                notes.setdefault(sync_id, []).append(RelationNote(label, row[f"{end}_observation"], title, gone))
    return {sync_id: tuple(found) for sync_id, found in notes.items()}


def replacement(relations: Sequence[RelationNote]) -> int | None:
    """Return the newest observation that replaced the one these notes are about."""
    found = [note.id for note in relations if note.label == "superseded_by" and not note.deleted and note.id]
    return max(found, default=None)
