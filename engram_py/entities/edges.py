"""Edges between entities: how one is named, kept and walked. Pure."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from engram_py.entities.values import Edge, Reached
from engram_py.errors import InvalidArgumentError
from engram_py.lazy import regex

PREDICATE = regex(r"[a-z][a-z0-9_]{0,63}")
END = "entity:"
_MOST_REACHED = 200


def predicate_of(text: str) -> str:
    """A predicate as it is. Raises InvalidArgumentError where it is not snake_case."""
    if not PREDICATE.fullmatch(text):
        snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[\s-]+", "_", text.strip()).lower()
        example = snake if PREDICATE.fullmatch(snake) else "works_at"
        raise InvalidArgumentError("predicate", text, expected=f"snake_case of at most 64 characters, as in {example}")
    from engram_py.capture.redact import refuse_secret  # only where one is made

    refuse_secret("predicate", text)
    return text


def is_edge(source: str, predicate: str, target: str) -> bool:
    """Return whether a relation from elsewhere is an edge between two entities."""
    if not (source.startswith(END) and target.startswith(END) and PREDICATE.fullmatch(predicate)):
        return False
    from engram_py.capture.redact import redact

    return not redact(predicate).count


def edge_values(project: str, scope: str, subject: str, predicate: str, object: str) -> dict[str, Any]:
    """Return the columns of an edge. Its id is made of its words: two machines that say the same make the same row."""
    ends = (f"{END}{subject}", f"{END}{object}")
    digest = hashlib.sha256("\n".join((project, scope, ends[0], predicate, ends[1])).encode()).hexdigest()[:16]
    said = {"sync_id": f"rel-{digest}", "source_id": ends[0], "target_id": ends[1], "relation": predicate}
    return said | {"judgment_status": "judged", "project": project}


def walk(start: str, edges: Iterable[Edge], names: Mapping[str, str], *, depth: int) -> tuple[Reached, ...]:
    """Return what edges lead to, whichever way they point, the nearest first."""
    at = defaultdict(list)
    for edge in edges:
        at[edge.subject].append((edge.object, edge))
        at[edge.object].append((edge.subject, edge))
    found: dict[str, Reached] = {}
    paths: dict[str, tuple[Edge, ...]] = {start: ()}
    for step in range(1, depth + 1):
        further: dict[str, tuple[Edge, ...]] = {}
        for slug, path in paths.items():
            for other, edge in at[slug]:
                if other != start and other not in found and len(found) < _MOST_REACHED:
                    further[other] = (*path, edge)
                    found[other] = Reached(other, names.get(other, other), step, further[other])
        paths = further
    return tuple(found.values())
