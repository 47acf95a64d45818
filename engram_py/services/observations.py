"""Everything one can do with observations, behind one name."""

from __future__ import annotations

from engram_py.services.anchors import Anchors
from engram_py.services.bulk import Bulk
from engram_py.services.candidates import Candidates
from engram_py.services.journal import Journal
from engram_py.services.projects import Projects
from engram_py.services.reading import Reading
from engram_py.services.saving import Saving
from engram_py.services.sessions import Sessions
from engram_py.services.switches import Switches
from engram_py.services.trail import Trail
from engram_py.services.undoing import Undoing
from engram_py.services.usage import Usage
from engram_py.store.database import Store


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
        trail: Trail,
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
