"""Everything one can do with observations, behind one name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram_py.database.journal import Journal
from engram_py.database.store import Store
from engram_py.observations.bulk import Bulk
from engram_py.observations.read import Reading
from engram_py.observations.save import Saving
from engram_py.observations.undo import Undoing
from engram_py.observations.usage import Usage
from engram_py.privacy.switches import Switches
from engram_py.projects.projects import Projects

if TYPE_CHECKING:
    from engram_py.anchors.anchors import Anchors
    from engram_py.recall.related import Candidates
    from engram_py.recall.search_log import SearchLog
    from engram_py.sessions.sessions import Sessions


class Observations(Saving, Reading, Bulk, Undoing):
    """Save, read, correct and delete observations."""

    def __init__(
        self,
        store: Store,
        journal: Journal,
        projects: Projects,
        sessions: Sessions,
        candidates: Candidates,
        *,
        anchors: Anchors,
        trail: SearchLog,
        usage: Usage,
        switches: Switches,
    ) -> None:
        self._store = store
        self._journal = journal
        self._projects = projects
        self._sessions = sessions
        self._candidates = candidates
        self._anchors = anchors
        self._trail = trail
        self._usage = usage
        self._switches = switches
