"""What it costs to compare memories with the code they are about: an anchor of each kind, and a memory's commit."""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bench.report import Line, judged, percentile, seconds
from bench.workplace import Workplace, git

if TYPE_CHECKING:
    from engram_py.app import Engram
    from engram_py.memory.observations.values import Observation

ANCHOR_SECONDS = 0.005
_FILES, _COMMITS, _QUICK_COMMITS, _LINES = 800, 4_000, 800, 200
_HITS, _EACH = 10, 2  # a page of hits, each about two places


def anchors(place: Workplace) -> list[Line]:
    """States and visibility for a page of ten hits with two anchors each, in a repository with a long history."""
    from engram_py.app import Engram

    root = place.root / "anchored"
    commits = place.rounds(_COMMITS, _QUICK_COMMITS)
    _history(root, commits)
    with Engram(place.data_dir("anchors"), directory=root) as app:
        names = {kind: _remembered(app, kind) for kind in ("fresh", "moved", "changed", "renamed", "gone")}
        large = _large(app, root)
        _change(root)
        lines = [_kind(place, root, kind, rows) for kind, rows in names.items()]
        lines += [_one(app, place, *pair) for pair in large.items()]
        lines.append(_visibility(place, root, names["fresh"]))
        lines.append(_asked(app, place))
        lines.append(_saving(app, place))
    return [replace(lines[0], what=f"{lines[0].what} ({commits:,} commits, {_FILES} files)"), *lines[1:]]


def _kind(place: Workplace, root: Path, kind: str, rows: list[Observation]) -> Line:
    """One page of hits of a kind: the first time git is asked, afterwards the database or the process knows."""
    from engram_py.app import Engram

    with Engram(place.data_dir("anchors"), directory=root) as app:
        first = _seconds(partial(app.anchors.states, rows))
        known = [_seconds(partial(app.anchors.states, rows)) for _ in range(place.rounds(50, 15))]
        [seen] = {state.state for states in app.anchors.states(rows).values() for state in states}
    with Engram(place.data_dir("anchors"), directory=root) as app:
        app.anchors.states([])
        other = _seconds(partial(app.anchors.states, rows))
    count = _HITS * _EACH
    p95 = percentile(known, 95) / count
    return Line(
        f"anchor, {kind} (state: {seen})",
        f"p50 {seconds(percentile(known, 50) / count)}, p95 {seconds(p95)}",
        "",
        f"first {seconds(first)}, next process {seconds(other)} for {count}",
        f"<= {seconds(ANCHOR_SECONDS)} each",
        judged(p95, ANCHOR_SECONDS),
        numbers={"p95_s": p95, "first_s": first, "next_process_s": other},
    )


def _one(app: Engram, place: Workplace, what: str, row: Observation) -> Line:
    times = [_seconds(partial(app.anchors.states, [row])) for _ in range(place.rounds(50, 15))]
    p95 = percentile(times, 95)
    return Line(
        what,
        f"p50 {seconds(percentile(times, 50))}, p95 {seconds(p95)}",
        budget=f"<= {seconds(ANCHOR_SECONDS)} each",
        verdict=judged(p95, ANCHOR_SECONDS),
        numbers={"p95_s": p95},
    )


def _visibility(place: Workplace, root: Path, rows: list[Observation]) -> Line:
    from engram_py.app import Engram

    old = _git(root, "rev-list", "--max-count=400", "HEAD").split()[::40]
    rows = [replace(row, git_commit=commit) for row, commit in zip(rows, old, strict=True)]
    with Engram(place.data_dir("anchors"), directory=root) as app:
        first = _seconds(partial(app.anchors.visibility, rows))
        known = [_seconds(partial(app.anchors.visibility, rows)) for _ in range(place.rounds(50, 15))]
    with Engram(place.data_dir("anchors"), directory=root) as app:
        other = _seconds(partial(app.anchors.visibility, rows))
    return Line(
        f"visibility of {len(rows)} rows of as many commits",
        f"p50 {seconds(percentile(known, 50))}, p95 {seconds(percentile(known, 95))}",
        "",
        f"first {seconds(first)}, next process {seconds(other)}",
        numbers={"first_s": first, "next_process_s": other, "p95_s": percentile(known, 95)},
    )


def _asked(app: Engram, place: Workplace) -> Line:
    """What ``file:`` costs that finds the memories of a file under the name it got since."""
    old = Path(_name("renamed", 0))
    path = (old.parent / f"renamed_{old.name}").as_posix()
    first = _seconds(partial(app.anchors.of_file, path))
    known = [_seconds(partial(app.anchors.of_file, path)) for _ in range(place.rounds(50, 15))]
    found = len(app.anchors.of_file(path))
    return Line(
        f"file: of a file that was renamed ({found} found)",
        f"p50 {seconds(percentile(known, 50))}, p95 {seconds(percentile(known, 95))}",
        "",
        f"first {seconds(first)}",
        numbers={"first_s": first, "p95_s": percentile(known, 95)},
    )


def _saving(app: Engram, place: Workplace) -> Line:
    """A save that names three files against one that names none."""
    from engram_py.memory.observations.values import Draft

    times: dict[bool, list[float]] = {True: [], False: []}
    for number in range(place.rounds(100, 30)):
        for named, took in times.items():
            files = tuple(f"pkg{number % 20}/mod{number % 20 + one * 20}.py:10-30" for one in range(3)) if named else ()
            draft = Draft(f"Save {number} {named}", f"Text {number} {named}", files=files)
            took.append(_seconds(partial(app.save, draft)))
    mine, plain = percentile(times[True], 50), percentile(times[False], 50)
    return Line("save with three files, in process", seconds(mine), seconds(plain), f"+{seconds(mine - plain)}")


def _remembered(app: Engram, kind: str) -> list[Observation]:
    from engram_py.memory.observations.values import Draft

    rows = []
    for number in range(_HITS):
        files = tuple(f"{_name(kind, number * _EACH + one)}:40-60" for one in range(_EACH))
        saved = app.save(Draft(f"{kind} {number}", f"About {kind} {number}", files=files))
        rows.append(app.get(saved.id).observation)
    return rows


def _large(app: Engram, root: Path) -> dict[str, Observation]:
    """Files of 100 KB and nearly 1 MB, anchored by lines near their end, and changed near their start."""
    from engram_py.memory.observations.values import Draft

    found = {}
    for size in (100, 500):
        lines = [f"value_{number} = compute({number * 7919})" for number in range(size * 30)]
        (root / f"large{size}.py").write_text("\n".join(lines) + "\n")
        saved = app.save(
            Draft(f"Large {size}", "About it", files=(f"large{size}.py:{len(lines) - 30}-{len(lines) - 5}",))
        )
        (root / f"large{size}.py").write_text("\n".join(["import os", *lines]) + "\n")
        found[f"anchor, moved in a file of {size} KB"] = app.get(saved.id).observation
    return found


def _change(root: Path) -> None:
    """What happens to the files of each kind, in four commits."""
    for kind, step in (("moved", _insert), ("changed", _rewrite), ("renamed", _rename), ("gone", Path.unlink)):
        for number in range(_HITS * _EACH):
            step(root / _name(kind, number))
        git(root, "add", "-A")
        git(root, "commit", "-q", "-m", kind)


def _insert(file: Path) -> None:
    file.write_text("import os\nimport sys\n" + file.read_text())


def _rewrite(file: Path) -> None:
    lines = file.read_text().splitlines()
    lines[49] = "rewritten = True"
    file.write_text("\n".join(lines) + "\n")


def _rename(file: Path) -> None:
    file.rename(file.with_name(f"renamed_{file.name}"))


def _name(kind: str, number: int) -> str:
    first = ("fresh", "moved", "changed", "renamed", "gone").index(kind) * _HITS * _EACH
    number += first
    return f"pkg{number % 20}/mod{number}.py"


def _history(root: Path, commits: int) -> None:
    """A repository in which every commit changes three of the files."""
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    rng = random.Random(7)
    texts = {
        f"pkg{number % 20}/mod{number}.py": [
            f"def f{number}_{line}(x): return x * {rng.random()}" for line in range(_LINES)
        ]
        for number in range(_FILES)
    }
    stream: list[bytes] = []
    for number in range(commits):
        stream.append(
            b"commit refs/heads/main\ncommitter Ada <a@b.c> %d +0000\ndata 1\nc\n" % (1_600_000_000 + number * 60)
        )
        for path in texts if not number else rng.sample(sorted(texts), 3):
            if number:
                texts[path][rng.randrange(_LINES)] = f"changed_{number} = {rng.random()}"
            text = ("\n".join(texts[path]) + "\n").encode()
            stream.append(b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(text), text))
    subprocess.run(["git", "fast-import", "--quiet"], cwd=root, input=b"".join(stream), check=True)
    git(root, "reset", "-q", "--hard")


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout


def _seconds(function: Callable[[], object]) -> float:
    started = time.perf_counter()
    function()
    return time.perf_counter() - started
