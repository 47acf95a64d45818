"""Asks a memory the questions of a set, through ``engram mcp`` over stdio or, for tuning, in this process."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from bench.datasets import Question
from bench.scoring import DEPTH, Answer
from bench.wire import Server, engram_command, text_of

if TYPE_CHECKING:
    from engram_py.app import Engram


class Asker(Protocol):
    """Answers a question in one project of a memory."""

    def ask(self, question: Question, project: str) -> Answer: ...


@dataclass(frozen=True, slots=True)
class OverStdio:
    """``mem_search`` of a running server, as a program would call it; the seconds include the pipes."""

    server: Server
    keys: Mapping[str, str]

    def ask(self, question: Question, project: str) -> Answer:
        result, elapsed = self.server.try_call(
            "mem_search", query=question.text, project=project, limit=DEPTH, response_format="json"
        )
        if result.get("isError"):
            return Answer(question, (), elapsed, refused=True)
        shown = json.loads(text_of(result))
        keys = [self.keys.get(hit["sync_id"], "") for hit in shown["results"]]
        quoted = [self.keys.get(hit["sync_id"], "") for hit in shown["results"] if hit["snippet"]]
        return Answer(question, keys, elapsed, quoted)


@dataclass(frozen=True, slots=True)
class InProcess:
    """``app.searches.search`` itself: the same figures in less time."""

    app: Engram
    keys: Mapping[str, str]

    def ask(self, question: Question, project: str) -> Answer:
        from engram_py.base.errors import EngramError

        started = time.perf_counter()
        try:
            found = self.app.searches.search(question.text, project=project, limit=DEPTH, recorded=False)
        except EngramError:
            return Answer(question, (), time.perf_counter() - started, refused=True)
        elapsed = time.perf_counter() - started
        keys = [self.keys.get(hit.sync_id, "") for hit in found.results]
        quoted = [self.keys.get(hit.sync_id, "") for hit in found.results if hit.snippet]
        return Answer(question, keys, elapsed, quoted)


@contextmanager
def asker(data_dir: Path, folder: Path, keys: Mapping[str, str], *, in_process: bool) -> Iterator[Asker]:
    """Whoever answers from the memory in ``data_dir``; ``keys`` are the sets' names of its sync ids."""
    if in_process:
        from engram_py import Engram

        with Engram(data_dir, directory=folder) as app:
            yield InProcess(app, keys)
    else:
        with Server(engram_command("mcp"), data_dir=data_dir, folder=folder) as server:
            server.initialize()
            yield OverStdio(server, keys)
