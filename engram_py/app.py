"""The composition root: opens the store and hands the services to whoever asks, a program or an interface."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from engram_py.config import Settings, load_settings
from engram_py.errors import StoreError
from engram_py.project.locate import Locator
from engram_py.services.backups import Backups
from engram_py.services.candidates import Candidates
from engram_py.services.context import Contexts
from engram_py.services.doctor import Doctor
from engram_py.services.journal import Journal
from engram_py.services.merging import Merging
from engram_py.services.observations import Observations
from engram_py.services.projects import Projects
from engram_py.services.prompts import Episodes, Prompts
from engram_py.services.relations import Relations
from engram_py.services.search import Search
from engram_py.services.sessions import SessionMode, Sessions
from engram_py.services.transfer import Transfer
from engram_py.store.database import Store

logger = logging.getLogger(__name__)

_CLOSING_SECONDS = 0.2


class Engram:
    """An open memory and everything one can do with it. A context manager; ``close`` ends it.

    ``data_dir`` is where the database lives, by default the platform's data directory (``ENGRAM_DATA_DIR``).
    ``directory`` decides the project, by default the working directory. ``project`` overrides it.

    Raises (on construction):
        StoreError: the database cannot be opened; it is left as it was.
    """

    def __init__(
        self,
        data_dir: Path | str | None = None,
        *,
        directory: Path | str | None = None,
        project: str | None = None,
        settings: Settings | None = None,
        session_mode: SessionMode = "manual",
        agent: str = "",
    ) -> None:
        if settings is None:
            settings = load_settings(data_dir=Path(data_dir) if data_dir else None)
        elif data_dir is not None:
            settings = replace(settings, data_dir=Path(data_dir))
        self.settings = settings
        self._closed = False
        self.store = Store.open(settings.data_dir)
        where = Path(directory) if directory else Path.cwd()
        self.journal = Journal(self.store, settings.clock)
        self.projects = Projects(
            self.store, self.journal, Locator(), directory=where, override=project or settings.project
        )
        self.sessions = Sessions(self.store, self.journal, self.projects, mode=session_mode, agent=agent)
        candidates = Candidates(self.store, self.journal)
        self.observations = Observations(self.store, self.journal, self.projects, self.sessions, candidates)
        self.relations = Relations(self.store, self.journal, self.projects)
        self.prompts = Prompts(self.store, self.journal, self.projects, self.sessions)
        self.episodes = Episodes(self.store, self.observations, self.sessions, self.projects)
        self.searches = Search(self.store, self.journal, self.projects)
        self.contexts = Contexts(self.store, self.journal, self.projects)
        self.merging = Merging(self.store, self.journal)
        self.backups = Backups(self.store, settings.clock)
        self.doctor = Doctor(self.store, self.journal, self.backups)
        self.transfer = Transfer(self.store, self.journal, self.projects)
        # The verbs a program uses most, without the room they live in.
        self.save = self.observations.save
        self.get = self.observations.get
        self.search = self.searches.search

    def close(self) -> None:
        """End the sessions this process opened by itself and close the file. Closing twice is fine."""
        if self._closed:
            return
        self._closed = True
        try:
            self.store.hurry(_CLOSING_SECONDS)
            self.sessions.end_own()
        except StoreError as exc:  # somebody else writes; an open session harms nobody
            logger.info("the session was left open: %s", exc.message)
        finally:
            self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
