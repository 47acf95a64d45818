"""Decide which of two states of a row wins, and which project a name means. Pure.

What a memory holds is a function of the set of mutations it knows, whatever their order:

1. A row is a last-writer-wins register (Shapiro et al., "A comprehensive study of Convergent and Commutative Replicated
   Data Types", 2011, 3.2.1). Its states are compared by ``mutation.precedence``: the clock, or, where the state was
   written to correct one dated ahead, that later clock and then its own. Its older texts are a grow-only set (3.3.1).
2. A state dated more than a day ahead is in the set when its time comes, and not before (``replica/batch.py: wait``).
3. A project is a name, and what it means now follows from all aliases together (``Names``). A row keeps the name it was
   given.
4. Which row of a topic is live follows from all rows that claim it (``observations/topic_folding.py: fold``). That
   changes no row: nobody is told of it, and it is worked out again whenever a row arrives or leaves.

1 is commutative, associative and idempotent; 3 and 4 are views of what 1 and 2 leave, so replicas that saw the same
changes agree, in whatever order and however often they saw them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from engram_py.sync.mutation import fingerprint


def wins(clock: str, columns: Mapping[str, Any], over_clock: str, over: Mapping[str, Any]) -> bool:
    """Return whether a state that arrived replaces the one that is here; equal states do not.

    Of one clock with two contents (a copied database, a broken device) the larger fingerprint wins everywhere.
    """
    if clock != over_clock:
        return clock > over_clock
    return columns != over and fingerprint(dict(columns)) > fingerprint(dict(over))


def version_digest(created_at: str, title: str, content: str) -> str:
    """Return the name of an older text among those of its observation: 32 hex digits."""
    joined = "".join(f"{len(part)}:{part}" for part in (created_at, title, content))
    return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def version_key(sync_id: str, digest: str) -> str:
    return f"{sync_id}/{digest}"


def version_owner(key: str) -> tuple[str, str]:
    """Return the observation and the digest in a version's key; the digest is empty when it is no such key."""
    sync_id, _, digest = key.rpartition("/")
    return sync_id, digest


class Names:
    """Projects by all their names.

    Aliases are taken in the order of their clocks; one that would close a circle (two machines merged two projects
    into each other) is passed over, so that every name ends in one project, the same on every machine.
    """

    def __init__(self, aliases: Iterable[tuple[str, str, str]]) -> None:
        """``aliases`` are (alias, project, clock)."""
        self._parent: dict[str, str] = {}
        for alias, project, _ in sorted(aliases, key=lambda one: (one[2], one[0])):
            root = self.canonical(project)
            if root != alias and alias not in self._parent:
                self._parent[alias] = root

    def canonical(self, name: str) -> str:
        while name in self._parent:
            name = self._parent[name]
        return name

    @property
    def moved(self) -> dict[str, str]:
        """The names that mean another project now, with that project."""
        return {name: self.canonical(name) for name in self._parent}
