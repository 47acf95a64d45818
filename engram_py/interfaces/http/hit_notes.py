"""What to know of a hit before it is believed, for the header: Engram's list has no place for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from engram_py.anchors.values import AnchorState
from engram_py.interfaces.http.notes import Notes
from engram_py.interfaces.wording import relation
from engram_py.recall.values import Hit

# Of an answer, of a hit, and letters of one name: the header holds 2,000 bytes, and other notes come first.
_MOST_HITS, _MOST_SAID, _NAME_CHARS = 8, 3, 60


def hit_notes(hits: Sequence[Hit]) -> Notes:
    """One sentence for each hit whose files or relations say something: ``#49: session.ts changed; supersedes #36``."""
    told = [f"#{hit.id}: {'; '.join(said)}" for hit in hits if (said := _shortened([*_said(hit)]))]
    more = len(told) - _MOST_HITS
    rest = [f"and {more} more hits to know such things of: response_format=json tells them"] if more > 0 else []
    return [*told[:_MOST_HITS], *rest]


def _said(hit: Hit) -> Iterator[str]:
    yield from (_file(state) for state in hit.anchors if state.state in ("changed", "moved", "gone"))
    yield from (_file(state) for state in hit.anchors if state.unreadable)
    if hit.branch:
        yield f"saved on branch {hit.branch[:_NAME_CHARS]}, which is not checked out"
    old = hit.instead_of
    if old is not None:
        yield f"replaced #{old.id}"
    if hit.lifecycle != "active":
        yield hit.lifecycle
    for note in hit.relations:
        if note.id not in (None, old and old.id) and not note.deleted:
            yield relation(replace(note, title="")).replace("[", "").replace("]", "")


def _file(state: AnchorState) -> str:
    from engram_py.interfaces.wording_anchors import phrase

    elsewhere = state.now_path not in (None, state.path)  # then it is named whole, and so is what it was
    name = state.path if elsewhere else PurePosixPath(state.path).name[:_NAME_CHARS]
    return f"{name} {phrase(state, with_path=False)}"


def _shortened(said: list[str]) -> list[str]:
    said = list(dict.fromkeys(said))
    more = len(said) - _MOST_SAID
    return [*said[:_MOST_SAID], *([f"and {more} more"] if more > 0 else [])]
