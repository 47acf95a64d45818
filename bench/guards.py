"""``python -m bench.guards``: which decisions are offered a guard, whether it is the one their text says, and in how
many of a repository's commits the accepted guards would have spoken.

``guards.json`` labels thirty decision records of ``adr`` (read from the data folder, never copied) and thirty decisions
of our own by hand: an act that the decision forbids, or null where nothing in it can be matched. An offer is sound when
it speaks at that act. ``--history FOLDER`` is a repository with its commits (``bench.releases`` makes one of a
project's releases); a folder's name may be one of ``projects``, whose own decisions are asked as well, each a text that
offers a guard or the guard itself. Every place is printed, for a person to judge.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.datasets import data_folder
from engram_py.base.capture.acts import Act
from engram_py.base.git.repository import find_repository
from engram_py.guidance.guards.diff import Changes, FileChange, found_in, history, parsed
from engram_py.guidance.guards.matching import Scene, breaks
from engram_py.guidance.guards.proposals import proposal
from engram_py.guidance.guards.values import Guard, checked, from_json
from engram_py.interfaces.wording.acting import rule_words

LABELS = Path(__file__).with_name("guards.json")
COMMITS = 2_000


@dataclass(frozen=True, slots=True)
class Decision:
    """A labelled decision; ``act`` is what it forbids, None where no matcher can tell."""

    source: str
    title: str
    content: str
    act: dict[str, str] | None


def decisions() -> Iterator[Decision]:
    labels: dict[str, Any] = json.loads(LABELS.read_text(encoding="utf-8"))
    with gzip.open(data_folder() / "adr.jsonl.gz", "rt", encoding="utf-8") as lines:
        records = {row["id"]: row for row in map(json.loads, lines) if row["t"] == "mem"}
    for name, act in labels["adr"].items():
        yield Decision("adr", records[name]["title"], records[name]["content"], act)
    for title, content, act in labels["own"]:
        yield Decision("own", title, content, act)


def is_sound(guard: Guard, said: dict[str, str] | None) -> bool:
    """Return whether a guard speaks at the act that a decision forbids."""
    if said is None:
        return False
    file = said.get("path") or said.get("in") or ("a.js" if "from '" in said.get("added", "") else "a.py")
    if "command" not in said:
        change = FileChange(file, [(1, said.get("added", ""))])
        return bool(found_in([(1, "", "", guard)], Changes((change,), said.get("branch"))))
    act, here = Act(command=said["command"].replace(" *", " x")), Path("/nowhere")
    return bool(breaks(guard, Scene(act, directory=here, root=here, branch=said.get("branch"))))


def offers() -> list[Guard]:
    """Print how many decisions are offered the guard they say, and return the sound ones."""
    sound: list[Guard] = []
    for source in ("adr", "own"):
        rows = [(one, proposal(one.title, one.content)) for one in decisions() if one.source == source]
        offered = [(one, guard) for one, guard in rows if guard is not None]
        good = [guard for one, guard in offered if is_sound(guard, one.act)]
        guardable = sum(one.act is not None for one, _ in rows)
        print(f"{source}: {len(rows)} decisions, {guardable} of them say what can be matched")
        print(f"  offered {len(offered)}, sound {len(good)}, of those that can be matched {len(good)} of {guardable}")
        for one, guard in offered:
            if guard not in good:
                print(f"  NOT SOUND {one.title}: {rule_words(guard)}")
        for missed in (one.title for one, guard in rows if one.act is not None and guard is None):
            print(f"  missed {missed}")
        sound += good
    return sound


def of_project(name: str) -> Iterator[tuple[str, Guard]]:
    """Yield the guards of the decisions that a project could have, written before its changes were looked at."""
    for title, said in json.loads(LABELS.read_text(encoding="utf-8"))["projects"].get(name, ()):
        guard = proposal(title, said) if isinstance(said, str) else from_json(json.dumps([said]))[0]
        if guard is None:
            print(f"  {name} missed {title}: {said}")
        else:
            yield title, checked(guard)


def alarms(folder: Path, guards: list[Guard]) -> None:
    """Print where the guards would have spoken in a repository's last 2,000 commits, but for its first."""
    repository = find_repository(folder)
    assert repository is not None, folder
    asked = [("own", guard) for guard in guards] + list(of_project(folder.name))
    numbered = [(number, title, "decision", guard) for number, (title, guard) in enumerate(asked)]
    commits = spoke = told = 0
    for files in list(history(repository, texts=True, count=COMMITS + 1, seconds=300))[:-1]:
        found = found_in(numbered, Changes(tuple(files), repository.branch, committed=True))
        texts = {
            (file.path, at, kind): line
            for file in files
            for kind in ("added", "removed")
            for at, line in getattr(file, kind)
        }
        commits, spoke, told = commits + 1, spoke + bool(found), told + len({one.id for one in found})
        for one in found:
            text = texts.get((one.file, one.line, one.rule.kind), "")
            print(f"  {commits} {one.file}:{one.line} [{rule_words(one.rule)}] {text}")
    print(f"{folder}: {len(asked)} guards spoke in {spoke} of {commits} commits, {told} times")


def patched(folder: Path, guards: list[Guard]) -> None:
    """Print where the guards would have spoken in patches, as `apt-get source --diff-only` brings a package's."""
    numbered = [(number, "own", "decision", guard) for number, guard in enumerate(guards)]
    patches = spoke = 0
    for path in sorted(one for one in folder.rglob("*") if one.is_file() and "debian/patches" in one.as_posix()):
        files = tuple(parsed(_with_headers(path.read_text(encoding="utf-8", errors="replace"))))
        found = found_in(numbered, Changes(files, "main", committed=True))
        patches, spoke = patches + bool(files), spoke + bool(found)
        for one in found:
            print(f"  {path.relative_to(folder)} {one.file}:{one.line} [{rule_words(one.rule)}]")
    print(f"{folder}: {len(guards)} guards spoke in {spoke} of {patches} patches")


def _with_headers(patch: str) -> str:
    """Return a patch of quilt with the lines that git writes before each file."""
    lines = ["", *patch.split("\n")]
    for at in range(1, len(lines) - 1):
        if lines[at].startswith("--- ") and lines[at + 1].startswith("+++ "):
            names = [line[4:].split("\t")[0].strip() for line in lines[at : at + 2]]
            name = next(one for one in reversed(names) if one != "/dev/null" or one == names[0]).partition("/")[2]
            lines[at - 1] = f"diff --git a/{name} b/{name}"
            lines[at], lines[at + 1] = (
                line[:4] + (one if one == "/dev/null" else f"{side}/{name}")
                for line, one, side in zip(lines[at : at + 2], names, "ab", strict=True)
            )
    first = next((at for at, line in enumerate(lines) if line.startswith("diff --git")), len(lines))
    return "\n".join(lines[first:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--history", type=Path, action="append", default=[], help="A repository; repeatable.")
    parser.add_argument("--patches", type=Path, help="A folder of source packages of Debian, unpacked.")
    asked = parser.parse_args()
    guards = offers()
    for folder in asked.history:
        alarms(folder, guards)
    if asked.patches:
        patched(asked.patches, guards)


if __name__ == "__main__":
    main()
