"""``engram check --memory A..B``: what a branch does to the memory, in words for a reviewer."""

from __future__ import annotations

from pathlib import Path

import pytest

from engram_py.guidance.guards.values import Guard, NoDiffError
from engram_py.interfaces.wording import relations as words
from tests.sharing.sync.git.conftest import Member
from tests.sharing.sync.git.test_memory_files import bare, edit, files

__all__ = ["bare"]


@pytest.fixture
def branch(ada: Member) -> Member:
    """Ada on a branch, with three memories on main of which one has a guard."""
    ada.save("Use PostgreSQL for orders", "SKIP LOCKED.", type="decision", topic_key="db/orders")
    ada.save("Prefer httpx", "Use httpx instead of requests.", type="policy")
    ada.app.guards.add(2, Guard(added="import requests", within=("**/*.py",), use="httpx"))
    ada.save("Ports", "8080.")
    ada.shared()
    ada.git("checkout", "-q", "-b", "feature")
    return ada


def begin(member: Member, name: str, text: str) -> None:
    (member.root / ".engram" / "memories" / name).write_text(text, encoding="utf-8")


def test_it_names_what_is_added_changed_and_removed_with_what_changed(branch: Member) -> None:
    edit(files(branch)["Use PostgreSQL for orders"], "SKIP LOCKED.", "SKIP LOCKED and JSON.")
    files(branch)["Ports"].unlink()
    begin(branch, "deploys.md", "# Deploys run from main\n\nAlways.\n")
    branch.commit()

    said = "\n".join(words.review(branch.app.reviewing("main..HEAD")))

    assert "adds 1 memory, changes 1 memory and removes 1 memory" in said
    assert "“Use PostgreSQL for orders”: text" in said
    assert "“Deploys run from main”" in said
    assert "“Ports”" in said
    assert "contradict" not in said


def test_a_second_decision_of_one_topic_contradicts_the_first_until_it_says_it_takes_its_place(branch: Member) -> None:
    begin(branch, "sqlite.md", "---\ntype: decision\ntopic: db/orders\n---\n# Use SQLite for orders\n\nSmaller.\n")
    branch.commit()
    [found] = branch.app.reviewing("main..HEAD").contradictions
    assert (found.title, found.other_title, found.why) == (
        "Use SQLite for orders",
        "Use PostgreSQL for orders",
        "topic",
    )

    edit(branch.root / ".engram" / "memories" / "sqlite.md", "topic:", f"supersedes: {found.other_id}\ntopic:")
    branch.commit()
    value = branch.app.reviewing("main..HEAD")
    assert value.contradictions == ()
    assert [one.other_title for one in value.replaced] == ["Use PostgreSQL for orders"]


def test_titles_that_speak_of_the_same_thing_are_named(branch: Member) -> None:
    begin(branch, "orders.md", "---\ntype: decision\n---\n# Use MySQL for orders\n\nWe know it.\n")
    branch.commit()

    [found] = branch.app.reviewing("main..HEAD").contradictions

    assert (found.other_title, found.why) == ("Use PostgreSQL for orders", "title")


def test_code_of_the_range_is_held_against_the_decisions_of_its_base(branch: Member) -> None:
    (branch.root / "client.py").write_text("import requests\n", encoding="utf-8")
    branch.commit()

    value = branch.app.reviewing("main..HEAD")

    assert value.code is not None
    assert [(one.file, one.title) for one in value.code.found] == [("client.py", "Prefer httpx")]
    assert "The code of this branch violates" in "\n".join(words.review(value))
    assert "file=client.py" in words.review_annotations(value)


def test_the_database_of_this_machine_has_no_part_in_it(branch: Member) -> None:
    branch.save("Use MySQL for orders", "Only here.", type="decision")
    (branch.root / "x.py").write_text("x = 1\n", encoding="utf-8")
    branch.commit()

    value = branch.app.reviewing("main..HEAD")

    assert (value.added, value.contradictions) == ((), ())
    assert words.review(value) == ["This branch changes no memory."]


def test_a_file_with_conflict_markers_is_named(branch: Member) -> None:
    begin(branch, "bad.md", "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n")
    branch.commit()

    [refused] = branch.app.reviewing("main..HEAD").unreadable

    assert (refused.chunk, "conflict markers" in refused.reason) == ("bad.md", True)


def test_a_file_with_an_odd_value_is_named_and_stops_no_other(branch: Member) -> None:
    begin(
        branch,
        "a-odd.md",
        '---\nstate: {"anchors": [{"path": "a.py", "start_line": 1}]}\nfiles: [a.py]\n---\n# Odd\n\nx\n',
    )
    begin(branch, "b-odd.md", '---\nstate: {"relations": 5}\n---\n# Odd\n\nx\n')
    begin(branch, "good.md", "# Deploys run from main\n\nAlways.\n")
    branch.commit()

    value = branch.app.reviewing("main..HEAD")

    assert "b-odd.md" in [one.chunk for one in value.unreadable]
    assert "Deploys run from main" in [one.title for one in value.added]


@pytest.mark.parametrize("span", ["main", "nobody..HEAD", "--output=x..HEAD"])
def test_what_is_no_range_is_refused(branch: Member, span: str) -> None:
    with pytest.raises(NoDiffError):
        branch.app.reviewing(span)


def test_a_rename_changes_nothing(branch: Member) -> None:
    path = files(branch)["Ports"]
    path.rename(Path(path.parent) / "gateway.md")
    branch.commit()

    assert words.review(branch.app.reviewing("main..HEAD")) == ["This branch changes no memory."]


def test_a_file_without_front_matter_that_stays_as_it_is_is_no_change(branch: Member) -> None:
    branch.git("checkout", "-q", "main")
    begin(branch, "plain.md", "# Plain\n\nBy hand.\n")
    begin(branch, "other.md", "# Other\n\nBy hand as well.\n")
    branch.commit()
    branch.git("checkout", "-q", "-b", "later")
    branch.git("commit", "-q", "--allow-empty", "-m", "nothing")

    assert words.review(branch.app.reviewing("main..HEAD")) == ["This branch changes no memory."]


def test_a_change_of_the_lines_that_engram_keeps_is_named(branch: Member) -> None:
    edit(files(branch)["Ports"], "state:\n", "state:\n  pinned: true\n")
    branch.commit()

    [changed] = branch.app.reviewing("main..HEAD").changed

    assert changed.parts == ("state",)


def test_what_was_and_what_is_now_stand_in_the_review_without_their_marks(branch: Member) -> None:
    edit(files(branch)["Ports"], "8080.", "Ask @team at [here](https://example.org) <b>")
    begin(branch, "x.md", '---\ntype: "policy\\n\\n## Approved"\n---\n# <!-- Title\n\nText\n')
    branch.commit()

    said = "\n".join(words.review(branch.app.reviewing("main..HEAD")))

    assert "was: 8080." in said
    assert "now: Ask `@team` at \\[here\\]" in said
    assert "\n## Approved" not in said
    assert "<!--" not in said


def test_what_a_sync_refuses_is_refused(branch: Member) -> None:
    ports = files(branch)["Ports"].read_text(encoding="utf-8")
    begin(branch, "huge.md", "# Huge\n\n" + "x" * 600_000)
    begin(branch, "mine.md", "---\nscope: personal\n---\n# Mine\n\nx\n")
    begin(branch, "twice.md", ports)
    (branch.root / ".engram" / "memories" / "sub").mkdir()
    begin(branch, "sub/deep.md", "# Deep\n\nx\n")
    branch.commit()

    refused = {one.chunk: one.reason for one in branch.app.reviewing("main..HEAD").unreadable}

    assert set(refused) == {"huge.md", "mine.md", "twice.md", "sub"}
    assert "is that of" in refused["twice.md"]
