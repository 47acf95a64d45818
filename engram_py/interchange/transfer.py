"""The memory as a file: out, and in again."""

from __future__ import annotations

from engram_py.database.journal import Journal
from engram_py.database.store import Store
from engram_py.interchange.exporting import Exporting
from engram_py.interchange.importing import Importing
from engram_py.projects.projects import Projects


class Transfer(Exporting, Importing):
    """Export and import in Engram's JSON."""

    def __init__(self, store: Store, journal: Journal, projects: Projects) -> None:
        self._store = store
        self._journal = journal
        self._projects = projects
