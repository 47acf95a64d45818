"""Memories of a repository with a long scripted history, against what `git diff` and `git log -L` say of each."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from engram_py import Draft, Engram
from engram_py.anchors.values import AnchorState
from engram_py.observations import table
from engram_py.observations.values import Observation
from tests.anchors.git_oracle import Oracle, Span
from tests.anchors.scripted_history import History

RECORDED_AT = 20  # commits of the history at which memories are saved


def checkout(root: Path, commit: str) -> None:
    subprocess.run(["git", "checkout", "-q", "--detach", commit], cwd=root, check=True, capture_output=True)


def some_span(random: Random, commit: str, tree: dict[str, tuple[str, ...]]) -> Span:
    """A file, one time in six, or lines of it that do not stand in every file."""
    path = random.choice(sorted(tree))
    if random.random() < 1 / 6:
        return Span(commit, path, None, None)
    lines = tree[path]
    while True:
        start = random.randint(1, len(lines))
        end = min(len(lines), start + random.choice((0, 0, 2, 5, 11)))
        if any("compute" in line or "def" in line for line in lines[start - 1 : end]):
            return Span(commit, path, start, end)


def remember(app: Engram, root: Path, history: History, commits: list[str], spans: int) -> dict[int, Span]:
    """Memories of ``spans`` places, saved at commits of the first three quarters of the history."""
    random = Random(history.seed)
    made: dict[int, Span] = {}
    for place in sorted(random.sample(range(len(commits) * 3 // 4), RECORDED_AT)):
        checkout(root, commits[place])
        for _ in range(spans // RECORDED_AT):
            span = some_span(random, commits[place], history.commits[place].tree)
            name = span.path if span.start is None else f"{span.path}:{span.start}-{span.end}"
            saved = app.save(Draft(f"Memory {len(made)}", f"It is about {name}", files=(name,)))
            made[saved.id] = span
    return made


def verify(oracle: Oracle, span: Span, state: AnchorState, head: str) -> str:
    """Check one state against the oracle; what was checked."""
    told = oracle.tell(span, head)
    another = told.where[0] if told.where is not None and told.where[0] != told.file else None
    if another and state.stale and state.commit and another not in oracle.wrote(state.commit):
        return "went to a file that got another name since"  # nobody follows that far
    assert (state.state, span) == (told.state, span)
    if told.where is not None:
        path, line = told.where
        here = state.state == "fresh"
        assert (state.path if here else state.now_path, state.start if here else state.now_start) == (path, line)
        return state.state
    if state.commit is None:
        assert state.state != "gone"
        assert not oracle.ever_held(span, head), f"{span}: {state}"
        return "never said in this history"
    if state.state == "gone":
        assert oracle.deleted(span, state.commit, head), f"{span}: {state}"
    else:
        assert oracle.took_it_out(span, state.commit, head) == "", f"{span}: {state}"
    assert oracle.git("rev-list", "--count", f"{state.commit}..{head}").strip() == str(state.commits_ago)
    assert oracle.git("show", "-s", "--format=%an", state.commit).strip() == state.author
    return state.state


def asked_for(app: Engram, states: dict[int, tuple[AnchorState, ...]]) -> int:
    """How many memories moved to another file; each is found by it."""
    moved = {row: state.now_path for row, (state,) in states.items() if state.now_path not in (None, state.path)}
    for row, path in moved.items():
        assert path is not None
        assert row in app.anchors.of_file(path), f"{states[row]}"
    return len(moved)


def replayed(data_dir: Path, root: Path, *, seed: int, commits: int, spans: int, heads: int) -> Counter[str]:
    """Save memories along a history, go to some of its later commits, and check every state there."""
    history = History(seed, files=24)
    history.grow(commits)
    ids = history.write(root)
    checked: Counter[str] = Counter()
    with Engram(data_dir, directory=root) as app:
        made = remember(app, root, history, ids, spans)
        rows: list[Observation] = list(table.by_ids(app.store, list(made)).values())
        oracle = Oracle(root)
        for number in range(heads):
            head = ids[history.main[-1 - number * len(history.main) // (3 * heads)]]
            checkout(root, head)
            states = app.anchors.states(rows)
            checked["found where it moved to"] += asked_for(app, states)
            checked.update(verify(oracle, span, states[row][0], head) for row, span in made.items())
    return checked


def test_every_state_of_sixty_memories_is_what_git_says(data_dir: Path, tmp_path: Path) -> None:
    checked = replayed(data_dir, tmp_path / "scripted", seed=1, commits=120, spans=60, heads=2)

    assert checked.pop("found where it moved to") >= 5
    assert sum(checked.values()) == 120
    assert min(checked[word] for word in ("fresh", "moved", "changed")) >= 10


@pytest.mark.soak
@pytest.mark.parametrize("seed", [2, 3])
def test_every_state_of_two_hundred_memories_in_six_hundred_commits_is_what_git_says(
    data_dir: Path, tmp_path: Path, seed: int
) -> None:
    checked = replayed(data_dir, tmp_path / "scripted", seed=seed, commits=600, spans=200, heads=4)

    assert checked.pop("found where it moved to") >= 20
    assert sum(checked.values()) == 800
    assert min(checked[word] for word in ("fresh", "moved", "changed", "gone")) >= 20
    assert checked["went to a file that got another name since"] <= 16
