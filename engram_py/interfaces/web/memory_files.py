"""The files of a memory as its page shows them: their state, and what changed in them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from engram_py.anchors.values import AnchorState
from engram_py.app import Engram
from engram_py.dataclass import dataclass
from engram_py.files import is_folder
from engram_py.interfaces.web.diffs import DiffLine, diff
from engram_py.interfaces.wording.anchors import anchor, place
from engram_py.observations.values import Detail, Observation
from engram_py.sessions import table as session_table

_DIFF_LINES = 400


@dataclass(frozen=True, slots=True)
class File:
    """A file with its state, in words too, how it changed since, and the reason if that cannot be shown."""

    state: AnchorState
    said: str
    changed: Sequence[DiffLine]
    why: str


def files_of(app: Engram, detail: Detail) -> list[File]:
    texts = {one.state: one for one in app.anchors.texts(detail.observation, detail.anchors)}
    found = []
    for state in detail.anchors:
        one = texts.get(state)
        changed = diff(one.before, one.after, span=one.span) if one is not None and not one.why else ()
        said = f"{place(state.path, state.start, state.end)} unchanged" if state.state == "fresh" else anchor(state)
        found.append(File(state, said, changed[:_DIFF_LINES], one.why if one is not None else ""))
    return found


def not_here(app: Engram, row: Observation) -> str:
    """Return why the files of the observation cannot be looked at on this machine; empty where they may be."""
    session = session_table.by_id(app.store, row.session_id)
    if session is None or session_table.arrived(app.store, row.session_id):
        return "It was saved on another machine."
    gone = session.directory and not is_folder(Path(session.directory))
    return f"The folder that it was saved in is not on this disk: {session.directory}" if gone else ""


def where_it_was_saved(app: Engram, row: Observation) -> Engram:
    """The memory as it stands in the folder of the session that saved the observation, where it is one of this
    machine's: its files are looked at there."""
    session = session_table.by_id(app.store, row.session_id)
    if session is None or not session.directory or session_table.arrived(app.store, row.session_id):
        return app
    folder = Path(session.directory)
    return app.standing_in(folder) if folder.is_absolute() and is_folder(folder) else app
