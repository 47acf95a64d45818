"""One text changed by hand: in an editor, and back to what it was."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from tests.interfaces.cli.conftest import Run, Start, answer

HEAD = "title: Timeout\ntype: manual\nscope: project\ntopic:"


@pytest.fixture
def saved(run: Run) -> Run:
    run("save", "Timeout", "5 seconds.")
    return run


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The program that is $EDITOR; a test writes what it does to the path in ``argv[1]``."""
    script = tmp_path / "editor.py"
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", f"{sys.executable} {script}")
    return script


def does(editor: Path, *lines: str) -> None:
    head = ["import os, pathlib, subprocess, sys", "file = pathlib.Path(sys.argv[1])", "text = file.read_text()"]
    editor.write_text("\n".join([*head, *lines]))


def kept(data_dir: Path) -> list[Path]:
    return sorted((data_dir / "edits").iterdir())


def test_an_editor_is_given_the_text_and_what_it_leaves_is_kept(saved: Run, editor: Path, data_dir: Path) -> None:
    does(
        editor,
        f"assert text == {HEAD!r} + '\\n\\n5 seconds.\\n', text",
        f"assert oct(file.stat().st_mode)[-3:] == {'600' if os.name == 'posix' else '666'!r}",
        "file.write_text(text.replace('5 sec', '30 sec').replace('Timeout', 'Login timeout'))",
    )
    done = saved("edit", "1")

    assert done.stdout == 'Updated [#1] "Login timeout" in widgets: title, content (revision 2)\n'
    found = answer(saved("history", "1", "--json"))
    assert (found["content"], [one["content"] for one in found["versions"]]) == ("30 seconds.", ["5 seconds."])
    assert kept(data_dir) == []


def test_a_text_that_was_left_alone_changes_nothing(saved: Run, editor: Path, data_dir: Path) -> None:
    does(editor)
    assert answer(saved("edit", "1", "--json"))["outcome"] == "unchanged"
    assert kept(data_dir) == []
    does(editor, "sys.exit(1)")
    assert saved("edit", "1").exit_code == 1
    assert kept(data_dir) == []


def test_what_somebody_changed_meanwhile_is_not_overwritten_and_both_texts_are_kept(
    saved: Run, editor: Path, data_dir: Path
) -> None:
    does(
        editor,
        "subprocess.run([sys.executable, '-m', 'engram_py', 'update', '1', '--content', 'Theirs.'], check=True)",
        "file.write_text(text.replace('5 seconds.', 'Mine.'))",
    )
    refused = saved("edit", "1")

    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "engram: changed_meanwhile: observation #1 was changed meanwhile" in refused.stderr
    [mine] = kept(data_dir)
    assert f"note: your text is kept in {mine}" in refused.stderr
    assert mine.read_text().endswith("\n\nMine.\n")
    if os.name == "posix":
        assert [stat.S_IMODE(one.stat().st_mode) for one in (mine.parent, mine)] == [0o700, 0o600]
    assert answer(saved("get", "1", "--json"))["content"] == "Theirs."


def test_of_a_memory_deleted_meanwhile_the_text_is_kept_as_well(saved: Run, editor: Path, data_dir: Path) -> None:
    does(
        editor,
        "subprocess.run([sys.executable, '-m', 'engram_py', 'delete', '1'], check=True)",
        "file.write_text(text + 'More.')",
    )

    assert "observation_not_found" in saved("edit", "1").stderr
    assert len(kept(data_dir)) == 1


@pytest.mark.parametrize(
    ("written", "code"),
    [
        pytest.param("nothing like it", "invalid_argument", id="no-head"),
        pytest.param(f"{HEAD}\ncolor: red\n\nText.", "invalid_argument", id="unknown-line"),
        pytest.param(f"{HEAD.replace('Timeout', '')}\n\nText.", "empty_field", id="no-title"),
        pytest.param(f"{HEAD}\n\n", "empty_field", id="no-text"),
    ],
)
def test_what_cannot_be_read_is_refused_and_kept(
    saved: Run, editor: Path, data_dir: Path, written: str, code: str
) -> None:
    does(editor, f"file.write_text({written!r})")
    refused = saved("edit", "1", "--json")

    assert refused.exit_code == 1
    assert f'"error_code": "{code}"' in refused.stdout
    assert [one.read_text() for one in kept(data_dir)] == [written]
    assert answer(saved("get", "1", "--json"))["content"] == "5 seconds."


def test_a_topic_is_given_and_taken_and_a_text_may_look_like_a_head(saved: Run, editor: Path) -> None:
    does(editor, "file.write_text(text.replace('topic:', 'topic: config/timeout').replace('5 sec', 'type: x\\n\\ny'))")
    saved("edit", "1")
    found = answer(saved("get", "1", "--json"))
    assert (found["topic_key"], found["content"], found["type"]) == ("config/timeout", "type: x\n\nyonds.", "manual")

    does(editor, "file.write_text(text.replace('topic: config/timeout', 'topic:'))")
    saved("edit", "1")
    assert answer(saved("get", "1", "--json"))["topic_key"] is None


def test_without_a_terminal_and_an_editor_an_edit_says_what_else_to_do(
    saved: Run, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    refused = start("edit", "1")
    assert refused.code == 1
    assert "`engram update` takes the new text" in refused.stderr


# --- undo and revert --------------------------------------------------------------------------------------


def test_undo_brings_back_the_text_before_and_then_the_one_after(saved: Run) -> None:
    saved("update", "1", "--content", "30 seconds.", "--title", "Login timeout")

    saved("undo", "1")
    found = answer(saved("get", "1", "--json"))
    assert (found["title"], found["content"]) == ("Timeout", "5 seconds.")
    saved("undo", "1")
    assert answer(saved("get", "1", "--json"))["content"] == "30 seconds."
    assert "5 seconds." in saved("search", "5 seconds").stdout or answer(saved("history", "1", "--json"))["versions"]


def test_undo_of_a_deletion_brings_the_memory_back(saved: Run) -> None:
    saved("delete", "1")
    assert saved("undo", "1").stdout == 'Restored [#1] "Timeout" in widgets\n'
    assert saved("search", "timeout").stdout.startswith("1 match.")


def test_revert_brings_back_any_version_and_loses_none(saved: Run) -> None:
    for seconds in (10, 20):
        saved("update", "1", "--content", f"{seconds} seconds.")
    saved("revert", "1", "--version", "1")

    found = answer(saved("history", "1", "--json"))
    assert found["content"] == "5 seconds."
    assert [one["content"] for one in found["versions"]] == ["20 seconds.", "10 seconds.", "5 seconds."]
