"""The values that replicas exchange: mutations, batches of them, and what became of a batch."""

from __future__ import annotations

from typing import Any, Literal

from engram_py.dataclass import dataclass, field

Op = Literal["upsert", "delete"]

# Where a payload keeps what Engram has no place for. Its importer ignores the block.
OWN_BLOCK = "engram_py"
# In the block: whose a row is that the sender passes on without trusting it. It can only take trust away.
UNCHECKED = "unchecked"

# The kinds this program writes. A row of another kind, from a newer one, is kept and passed on untouched.
KINDS = ("project", "alias", "session", "observation", "version", "prompt", "relation")


@dataclass(frozen=True, slots=True)
class Mutation:
    """A row of ``entity`` as one machine had it at ``clock`` (``upsert``), or the end of it (``delete``).

    ``entity_key`` is the same on every machine. ``payload`` is Engram's JSON of the row, with our columns in its block
    ``engram_py``. ``occurred_at`` is UTC text. ``seq`` is the place in the sender's queue, 0 when unknown.
    """

    entity: str
    entity_key: str
    op: Op
    project: str
    payload: dict[str, Any]
    clock: str
    occurred_at: str = ""
    seq: int = 0


@dataclass(frozen=True, slots=True)
class Changes:
    """A batch of local changes. ``upto`` is the next cursor; ``more``: something follows it."""

    mutations: tuple[Mutation, ...]
    upto: int
    more: bool


@dataclass(frozen=True, slots=True)
class Refused:
    """An entry that was refused: its index in the batch, what it is, and the reason for a person."""

    index: int
    entity: str
    entity_key: str
    reason: str


@dataclass(frozen=True, slots=True)
class Applied:
    """The result of applying a batch.

    ``applied`` changed something here; ``unchanged`` was known, or older than what is here; ``deferred`` waits for
    what it depends on; ``refused`` could not be read. ``ahead`` counts rows dated too far in the future to set the
    clock by. The numbers but ``ahead`` add up to the size of the batch.
    """

    applied: int = 0
    unchanged: int = 0
    deferred: int = 0
    refused: tuple[Refused, ...] = ()
    ahead: int = 0

    def __add__(self, other: Applied) -> Applied:
        return Applied(
            self.applied + other.applied,
            self.unchanged + other.unchanged,
            self.deferred + other.deferred,
            self.refused + other.refused,
            self.ahead + other.ahead,
        )


@dataclass(frozen=True, slots=True)
class Digest:
    """The value that two replicas compare: equal when their shared rows are; ``counts`` by kind."""

    value: str
    counts: dict[str, int] = field(default_factory=dict)


def above(mutation: Mutation) -> str:
    """Return the clock, dated ahead, that this state was written to stand above; empty when there is none."""
    named = (mutation.payload.get(OWN_BLOCK) or {}).get("above")
    return named if isinstance(named, str) else ""


def precedence(clock: str, above: str) -> str:
    """Return what states of a row are compared by: the clock, unless it was written to stand above a later one."""
    return f"{above} {clock}" if above > clock else clock


def chosen_lifecycle(lifecycle: str) -> str:
    """Return the lifecycle that travels: ``active`` or ``archived``.

    ``historical`` follows from the verdicts, so each replica derives it.
    """
    return "active" if lifecycle == "historical" else lifecycle
