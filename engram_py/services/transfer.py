"""The memory as a file: out, and in again."""

from __future__ import annotations

from engram_py.services.exporting import Exporting
from engram_py.services.importing import Importing
from engram_py.services.journal import Journal
from engram_py.services.projects import Projects
from engram_py.store.database import Store


class Transfer(Exporting, Importing):
    """Export and import in Engram's JSON."""

    def __init__(self, store: Store, journal: Journal, projects: Projects) -> None:
        self._store = store
        self._journal = journal
        self._projects = projects
