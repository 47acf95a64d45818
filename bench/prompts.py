"""``python -m bench.prompts``: does a prompt get, unasked, what a good colleague would remind of, and else nothing?

The projects of ``bench/prompts/`` are scripted: memories as an agent saves them, and prompts as a person types them,
each with the memories that are due (and those that are tolerable). Each prompt is asked in a session of its own, as the
prompt hook asks. Half of the prompts, by a hash of their text, are for building; ``--half report`` asks the others.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

from bench import memories
from bench.workplace import git
from engram_py import Draft, Engram
from engram_py.base.settings import Settings
from engram_py.guidance.context.prompt_gate import phrase_in
from engram_py.guidance.context.values import POINTED
from engram_py.memory.observations.values import Observation
from engram_py.memory.sessions.values import SessionLine
from engram_py.recall.vectors.model import LANES, fetch

FOLDER = Path(__file__).parent / "prompts"
NOW = datetime(2026, 11, 2, 9, tzinfo=UTC)
SUMMARY = "session_summary"


@dataclass(frozen=True, slots=True)
class Prompt:
    """``due`` are the keys of memories that must be given (one is enough), ``ok`` those that may be."""

    project: str
    text: str
    due: tuple[int, ...]
    ok: tuple[int, ...]
    kind: str

    @property
    def half(self) -> str:
        return "report" if sha256(self.text.encode()).digest()[0] % 2 else "build"


@dataclass(frozen=True, slots=True)
class Given:
    """What a prompt was given, by the keys of the memories."""

    prompt: Prompt
    keys: tuple[int, ...]
    pointed: bool = False


class Clock:
    """Tells the time it was set to."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.prompts", description=__doc__.partition("\n")[0])
    parser.add_argument("--half", choices=("build", "report"), default="build", help="which prompts to ask")
    parser.add_argument("--vectors", action="store_true", help="ask where a server tells meaning as well")
    parser.add_argument("--faults", action="store_true", help="print each prompt that was answered wrongly")
    arguments = parser.parse_args()
    memories.without_settings()
    lane = "sentence" if arguments.vectors else ""
    found = [one for file in projects() for one in _given(file, arguments.half, lane)]
    for title, some in _parts(found):
        print(line_of(title, some))
    if arguments.faults:
        print(*(_fault(one) for one in found if not _is_right(one)), sep="\n")
    return 0


def projects() -> list[Path]:
    return sorted(FOLDER.glob("*.json"))


def prompts_of(values: dict[str, Any]) -> list[Prompt]:
    return [
        Prompt(values["project"], one["text"], tuple(one["due"]), tuple(one.get("ok", ())), one["kind"])
        for one in values["prompts"]
    ]


@contextmanager
def project_memory(values: dict[str, Any], lane: str = "") -> Iterator[tuple[Engram, dict[int, int]]]:
    """The memories of a project, saved in the order of time, and the key of each observation's id. With a ``lane``
    they have vectors."""
    with tempfile.TemporaryDirectory(prefix="engram-prompts-") as name:
        room = Path(name).resolve()
        (folder := room / values["project"]).mkdir()
        git(folder, "init", "--quiet")
        clock = Clock()
        if lane:
            fetch(LANES[lane], room / "memory" / "models")
        with Engram(settings=Settings(room / "memory", clock=clock, embedder=lane), directory=folder) as app:
            keys: dict[int, int] = {}
            for one in sorted(values["memories"], key=lambda one: -one["days_ago"]):
                clock.now = NOW - timedelta(days=one["days_ago"])
                keys[_save(app, one)] = one["id"]
            ids = {key: row for row, key in keys.items()}
            clock.now = NOW
            for one in values["memories"]:
                if one.get("superseded_by") and one["id"] in ids:  # else it was revised under its topic key
                    new, old = ids[one["superseded_by"]], ids[one["id"]]
                    app.relations.compare(new, old, "supersedes", confidence=0.9, reasoning="decided later")
            if lane:
                app.vectors.compute()
            yield app, keys


def _save(app: Engram, one: dict[str, Any]) -> int:
    session = f"s-{one['id']}"
    if one["type"] == SUMMARY:
        return app.episodes.summarize(f"{one['content']}", session_id=session).id
    scope = "personal" if one["type"] == "preference" else "project"
    draft = Draft(one["title"], one["content"], one["type"], topic_key=one.get("topic_key"), scope=scope)
    return app.save(draft, session_id=session).id


def _given(file: Path, half: str, lane: str) -> Iterator[Given]:
    values = json.loads(file.read_text(encoding="utf-8"))
    with project_memory(values, lane) as (app, keys):
        app.caller = replace(app.caller, mode="process")  # a server's gate asks its own model
        for number, prompt in enumerate(one for one in prompts_of(values) if one.half == half):
            shown = app.prompt_gate.gated(prompt.text, f"ask-{number}").shown
            items = [item for section in shown.sections for item in section.items] if shown else []
            summaries = shown.remarks.summaries if shown else {}
            ids = [
                summaries.get(item.id, 0) if isinstance(item, SessionLine) else item.id
                for item in items
                if isinstance(item, SessionLine | Observation)
            ]
            pointed = shown is not None and shown.section == POINTED
            yield Given(prompt, tuple(keys.get(one, 0) for one in ids), pointed)


def _parts(found: Sequence[Given]) -> Iterator[tuple[str, list[Given]]]:
    yield "all", list(found)
    yield "without a phrase", [one for one in found if phrase_in(one.prompt.text, NOW.date()) is None]
    by: dict[str, list[Given]] = defaultdict(list)
    for one in found:
        by[f"project {one.prompt.project}"].append(one)
    for one in found:
        by[one.prompt.kind].append(one)
    yield from by.items()


def line_of(title: str, some: Sequence[Given]) -> str:
    """Due memory given, silence where nothing is due, and the share of what is given (not named) that is of use."""
    due = [one for one in some if one.prompt.due]
    quiet = [one for one in some if not one.prompt.due]
    lines = [key in (*one.prompt.due, *one.prompt.ok) for one in some if not one.pointed for key in one.keys]
    right = [one for one in due if set(one.keys) & set(one.prompt.due)]
    loud = [one for one in quiet if set(one.keys) - set(one.prompt.ok)]
    parts = [_shares("due", right, len(due))] if due else []
    parts += [_shares("nothing due", loud, len(quiet))] if quiet else []
    parts += [f"of use {sum(lines)} of {len(lines)} lines ({sum(lines) / len(lines):.2f})" if lines else ""]
    return f"{title:22} {'; '.join(parts)}"


def _shares(title: str, some: Sequence[Given], count: int) -> str:
    given, pointed = sum(not one.pointed for one in some), sum(one.pointed for one in some)
    return f"{title} {count}: given {given / count:.2f}, pointed to {pointed / count:.2f}"


def _is_right(one: Given) -> bool:
    wanted, allowed = set(one.prompt.due), {*one.prompt.due, *one.prompt.ok}
    return set(one.keys) <= allowed and (not wanted or bool(wanted & set(one.keys)))


def _fault(one: Given) -> str:
    text = " ".join(one.prompt.text.split())[:140]
    return f"[{one.prompt.project} {one.prompt.kind}] {text!r}: due {one.prompt.due}, given {one.keys}"


if __name__ == "__main__":
    sys.exit(main())
