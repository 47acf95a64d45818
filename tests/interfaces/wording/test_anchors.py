"""The words of anchors."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from engram_py.anchors.values import AnchorState, Checked, StaleLine
from engram_py.interfaces.wording import render
from engram_py.interfaces.wording.anchors import anchor, anchors
from engram_py.reasons import reason

NOW = datetime(2026, 3, 4, 10, 0, tzinfo=UTC)


def state(word: Any, **more: Any) -> AnchorState:
    return AnchorState("auth.py", 10, 20, word, **more)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (state("fresh"), "fresh"),
        (state("changed", commits_ago=3, author="Ada"), "changed 3 commits ago by Ada"),
        (state("changed", commits_ago=1, author="Ada"), "changed 1 commit ago by Ada"),
        (state("changed", commits_ago=0, author="Ada"), "changed in the last commit by Ada"),
        (state("changed", uncommitted=True), "changed, not committed yet"),
        (state("changed"), "changed"),
        (state("changed", commits_ago=1_234, now_path="b.py"), "changed 1,234 commits ago, now in b.py"),
        (state("moved", now_path="src/login.py", now_start=14, now_end=24), "moved to src/login.py:14-24"),
        (state("gone", commits_ago=2, author="Ada"), "gone 2 commits ago by Ada"),
        (state("gone", uncommitted=True), "gone, not committed yet"),
        (state("unknown", reason=reason("unreadable", problem="a directory")), "unknown (a directory)"),
        (state("unknown", reason=reason("only_on_branch", branch="topic")), "only on branch topic"),
        (AnchorState("a.py", 3, 3, "fresh"), "a.py:3 fresh"),
        (AnchorState("a.py", None, None, "moved", "b.py"), "a.py moved to b.py"),
        (AnchorState("a.py", 4, 8, "moved", "a.py", 7, 11), "a.py:4-8 moved to lines 7-11"),
        (AnchorState("a.py", 4, 4, "moved", "a.py", 7, 7), "a.py:4 moved to line 7"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_state_is_one_short_phrase(found: AnchorState, said: str) -> None:
    assert anchor(found) == (said if found.path == "a.py" else f"auth.py:10-20 {said}")


def test_without_its_path_a_fresh_anchor_needs_no_word() -> None:
    assert anchor(state("fresh"), with_path=False) == ""
    assert anchor(state("moved", now_path="b.py"), with_path=False) == "moved to b.py"


def test_a_file_is_not_named_beside_its_lines_unless_it_fared_otherwise() -> None:
    whole, lines = AnchorState("a.py", None, None, "fresh"), AnchorState("a.py", 4, 4, "fresh")
    gone = AnchorState("b.py", None, None, "gone")
    assert anchors((whole, lines, gone)) == "a.py:4 fresh; b.py gone"
    assert anchors((AnchorState("a.py", None, None, "changed"), lines)) == "a.py changed; a.py:4 fresh"


def test_a_check_names_what_went_stale_and_the_next_step() -> None:
    anchors = tuple(AnchorState(f"{number}.py", None, None, "changed") for number in range(6))
    stale = StaleLine(12, "Token refresh", "bugfix", "widgets", None, "2026-03-01T10:00:00.000Z", anchors)
    checked = Checked("widgets", 3, 9, {"changed": 6, "fresh": 3}, (stale,), ("a note",))
    assert render.text(checked, now=NOW, door="python").splitlines() == [
        "1 of 3 observations with files went stale in widgets (files: 6 changed, 3 fresh)",
        "[#12] Token refresh (bugfix, 3d): 0.py changed; 1.py changed; 2.py changed; 3.py changed; and 2 more",
        "`engram get ID` shows one, `engram review ID` confirms it, `engram update ID` corrects it.",
        "note: a note",
    ]


def test_a_check_that_finds_nothing_stale_or_no_file_says_so() -> None:
    fine = Checked("widgets", 3, 4, {"fresh": 4}, ())
    assert (
        render.text(fine, now=NOW, door="python")
        == "None of 3 observations with files went stale in widgets (files: 4 fresh)"
    )
    unseen = render.text(Checked("widgets", 23, 23, {"unknown": 23}, ()), now=NOW, door="python")
    assert unseen == (
        "Whether 23 observations of widgets went stale is not known: "
        "none of the files could be looked at (files: 23 unknown)"
    )
    assert (
        render.text(Checked("widgets", 0, 0, {}, ()), now=NOW, door="python")
        == "No observation of widgets names a file"
    )
