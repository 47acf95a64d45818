"""``engram undo``: what people and agents changed here comes back, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from engram_py import Draft, Engram
from engram_py.base.errors import ConflictError
from engram_py.base.times import to_text
from engram_py.interfaces.wording.observations import WORDS
from engram_py.memory.observations.listing import Made
from engram_py.memory.observations.values import Change
from tests.interfaces.cli.conftest import Run, answer, refusal
from tests.sharing.sync.replica.conftest import desk, empty_memory, laptop, new_machine
from tests.sharing.sync.replica.machines import Machine, exchange_all
from tests.support import raising

__all__ = ["desk", "empty_memory", "laptop", "new_machine"]


@pytest.fixture
def two(run: Run) -> Run:
    """#1 Timeout and #2 Queues of widgets, #3 Colours of gizmos."""
    run("save", "Timeout", "5 seconds.")
    run("save", "Queues", "We use redis.")
    run("save", "Colours", "Blue.", "--project", "gizmos")
    return run


def rows(run: Run) -> list[dict[str, Any]]:
    """Every observation as it is, but for what an undo changes as well: clocks and counts of revisions."""
    listed = answer(run("list", "--all", "--json"))["observations"]
    found = [answer(run("get", str(row["id"]), "--json")) for row in listed]
    names = ("id", "title", "content", "type", "scope", "topic_key", "project", "pinned", "lifecycle", "salience")
    return sorted(({name: row[name] for name in names} for row in found), key=lambda row: str(row["id"]))


CHANGES = {
    "deletion": (["delete", "1", "2"], 'the deletion of [#1] "Timeout" and [#2] "Queues"'),
    "retag": (["retag", "1", "2", "--type", "note"], "from type manual to note"),
    "scope": (["retag", "1", "--scope", "personal"], 'the change of [#1] "Timeout" from scope project to personal'),
    "pin": (["pin", "1"], 'the pin of [#1] "Timeout"'),
    "archive": (["archive", "1", "2"], "the archiving of [#1]"),
    "move": (["move", "1", "--to", "gizmos"], 'the move of [#1] "Timeout" from widgets to gizmos'),
    "edit": (["update", "1", "--content", "9 s.", "--title", "Wait", "--type", "note"], 'the edit of [#1] "Wait"'),
    "salience": (["update", "1", "--salience", "0.2"], "the change of [#1]"),
    "supersede": (["supersede", "2", "1"], "the verdict that [#2] supersedes [#1]"),
    "rename": (["projects", "rename", "gizmos", "things"], "the merge of gizmos into things"),
}


@pytest.mark.parametrize(("words", "said"), CHANGES.values(), ids=CHANGES)
def test_a_change_is_taken_back_whole_and_said_in_one_sentence(two: Run, words: Sequence[str], said: str) -> None:
    before = rows(two)
    assert two(*words).exit_code == 0
    assert rows(two) != before or words[0] == "supersede"

    done = two("undo")
    assert done.stdout.startswith("Took back ")
    assert said in done.stdout
    assert done.stdout.count("\n") == 1
    assert rows(two) == before


def test_calls_go_further_back_until_nothing_is_left(two: Run) -> None:
    before = rows(two)
    for words, _ in CHANGES.values():
        if words[0] not in ("delete", "projects"):
            two(*words)

    while "the save of" not in two("undo", "--list", "--limit", "1").stdout:
        assert two("undo").exit_code == 0
    assert rows(two) == before
    assert [two("undo").exit_code for _ in range(3)] == [0, 0, 0]
    assert "nothing_to_undo: no change of this machine is left" in refusal(two("undo"))


@pytest.mark.parametrize(
    ("words", "back"),
    [
        pytest.param(["undelete", "2"], "the restoring of [#2]", id="undelete"),
        pytest.param(["unarchive", "3"], "the unarchiving of [#3]", id="unarchive"),
        pytest.param(["unpin", "3"], "the unpinning of [#3]", id="unpin"),
    ],
)
def test_what_takes_a_change_back_by_name_is_taken_back_too(two: Run, words: list[str], back: str) -> None:
    two("delete", "2")
    two("pin", "3")
    two("archive", "3")
    two(*words)
    assert back in two("undo").stdout


def test_a_number_takes_back_the_newest_change_of_that_memory_and_twice_is_redoing(two: Run) -> None:
    two("update", "1", "--content", "9 s.")
    two("pin", "2")
    assert "the edit of [#1]" in two("undo", "1").stdout
    assert answer(two("get", "1", "--json"))["content"] == "5 seconds."
    two("undo", "1")
    assert answer(two("get", "1", "--json"))["content"] == "9 s."
    assert answer(two("get", "2", "--json"))["pinned"]
    assert [one["kind"] for one in answer(two("undo", "--list", "--limit", "2", "--json"))["changes"]] == [
        "pin",
        "edit",
    ]


def test_of_a_change_of_many_a_number_takes_back_its_own_part(two: Run) -> None:
    two("retag", "1", "2", "--type", "note")
    two("undo", "2")
    assert [row["type"] for row in rows(two)] == ["note", "manual", "manual"]
    assert 'the change of [#1] "Timeout" from' in two("undo").stdout
    assert [row["type"] for row in rows(two)] == ["manual"] * 3


def test_the_list_says_what_each_would_take_back(two: Run) -> None:
    two("pin", "1")
    two("supersede", "2", "1")
    assert two("undo", "--list", "--limit", "3").stdout == (
        "5 the verdict that [#2] supersedes [#1] (now)\n"
        '4 the pin of [#1] "Timeout" (now)\n'
        '3 the save of [#3] "Colours" (now)\n'
    )
    assert 'the pin of [#1] "Timeout"' in two("undo", "--change", "4").stdout
    assert "no change 4 is left" in refusal(two("undo", "--change", "4"))
    assert two("undo", "1", "--list").exit_code == 2


def test_a_verdict_comes_back_as_it_was(two: Run) -> None:
    two("supersede", "2", "1")
    two("supersede", "1", "2")
    two("undo")
    assert "supersedes" in two("get", "2").stdout
    assert "superseded_by" in two("get", "1").stdout
    two("undo")
    assert "supersede" not in two("get", "1").stdout + two("get", "2").stdout
    two("undo", "1")
    assert "superseded_by [#2]" in two("get", "1").stdout


def test_agents_changes_are_taken_back_and_those_of_upkeep_are_not(two: Run, app: Engram) -> None:
    app.observations.update(1, Change(content="By an agent."))
    app.observations.update(2, Change(content="By upkeep."), by="upkeep")
    app.save(Draft("Cache", "One hour.", topic_key="topic/cache"))
    app.save(Draft("Cache", "Two hours.", topic_key="topic/cache"))
    assert 'the edit of [#4] "Cache"' in two("undo").stdout
    assert app.get(4).observation.content == "One hour."
    assert 'the save of [#4] "Cache"' in two("undo").stdout
    assert 'the edit of [#1] "Timeout"' in two("undo").stdout
    assert 'the save of [#3] "Colours"' in two("undo", "--list").stdout.splitlines()[0]
    assert app.get(2).observation.content == "By upkeep."


def test_a_merge_of_projects_is_refused_with_what_to_do(two: Run) -> None:
    two("pin", "1")
    two("projects", "merge", "gizmos", "--into", "widgets", "--yes")
    said = refusal(two("undo"))
    assert "merged_for_good: change 5 is not taken back: the sessions, prompts and topics of gizmos and widgets" in said
    assert "`engram undo --change N`" in said
    assert "the pin of" in two("undo", "--change", "4").stdout


def test_what_another_machine_changed_since_is_refused(desk: Machine, laptop: Machine) -> None:
    one = desk.app.save(Draft("Timeout", "5 seconds."))
    exchange_all([desk, laptop])
    desk.app.observations.pin(one.id)
    desk.app.observations.update(one.id, Change(content="9 s."))
    exchange_all([desk, laptop])
    [there] = laptop.ids()
    assert laptop.app.changes.listed() == ()  # what came from elsewhere is not its own
    laptop.app.observations.update(there, Change(content="20 s."))
    exchange_all([desk, laptop])

    with raising(ConflictError, "changed_since", match=r"\[#1\] was changed again since \(text\)"):
        desk.app.changes.undo()
    assert desk.app.get(one.id).observation.content == "20 s."
    desk.app.changes.undo(change=2)  # the pin is as this machine left it
    exchange_all([desk, laptop])
    now = laptop.app.get(there).observation
    assert (now.content, now.pinned) == ("20 s.", False)


def test_what_is_destroyed_leaves_no_change_behind(two: Run, app: Engram) -> None:
    two("update", "1", "--topic", "secret/topic")
    two("delete", "1", "--hard", "--yes")
    assert not app.store.rows("select * from changed where observation_id = 1")


def test_the_latest_thousand_changes_are_kept(app: Engram) -> None:
    one = app.save(Draft("Timeout", "5 seconds.")).id
    with app.store.transaction():
        for number in range(3):
            app.observations.pin(one, pinned=number % 2 == 0)
    with app.store.transaction():
        app.store.execute("update sqlite_sequence set seq = 1500 where name = 'changes'")
    app.observations.update(one, Change(type="note"))
    assert [made.change for made in app.changes.listed()] == [1501]


def test_a_save_is_withdrawn_and_comes_back(two: Run) -> None:
    assert two("undo").stdout == 'Took back the save of [#3] "Colours", made just now.\n'
    assert "#3" not in two("list", "--all").stdout
    assert "Colours" in two("list", "--all", "is:deleted").stdout + two("undelete", "3").stdout
    assert two("undo", "1").stdout == 'Took back the save of [#1] "Timeout", made just now.\n'
    assert "deletion" in two("undo", "1").stdout
    assert "Timeout" in two("list").stdout


@pytest.mark.parametrize(("minutes", "made"), [(0, "made just now."), (1, "made 1m ago."), (180, "made 3h ago.")])
def test_an_undo_says_how_long_ago_the_change_was_made(minutes: int, made: str) -> None:
    now = datetime(2026, 3, 4, 10, tzinfo=UTC)
    then = to_text(now - timedelta(minutes=minutes))
    undone = Made(8, then, "deletion", 1, (8,), ("[#8]",), undone=True)
    assert WORDS[Made](undone, now) == f"Took back the deletion of [#8], {made}"


def test_a_save_that_another_machine_revised_gets_the_text_before(desk: Machine, laptop: Machine) -> None:
    saved = desk.app.save(Draft("Timeout", "5 seconds."), project="widgets")
    exchange_all([desk, laptop])
    [theirs] = laptop.app.bulk.listed(all_projects=True).items
    laptop.app.observations.update(theirs.id, Change(content="Ten."))
    exchange_all([desk, laptop])
    with raising(ConflictError, "changed_since"):
        desk.app.changes.undo()
    desk.app.changes.undo(saved.id)
    assert desk.app.get(saved.id).observation.content == "5 seconds."


def test_what_is_derived_or_imported_is_no_change_of_anybody(app: Engram) -> None:
    app.save(Draft("Found", "A text.", origin="derived"))
    app.save(Draft("Brought", "Another text.", origin="import"))
    assert app.changes.listed() == ()
