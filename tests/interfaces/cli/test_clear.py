"""``engram clear`` as somebody types it: says what it will destroy, asks, and nothing brings it back."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from engram_py import Draft, Engram
from engram_py.sessions.values import Turn
from engram_py.settings import Settings
from tests.interfaces.cli.conftest import Run, answer, refusal

WORDS = ("marmalade", "quokka", "bassoon", "sarsaparilla")


@pytest.fixture
def kept(here: Path, data_dir: Path) -> Path:
    """Projects widgets and gadgets, each with a bit of all there is."""
    with Engram(data_dir, directory=here) as app:
        for project in ("widgets", "gadgets"):
            app.sessions.start(f"s-{project}", project=project)
            old = app.save(Draft("One", f"{project} like marmalade.", "decision", topic_key="a/b"), project=project)
            new = app.save(Draft("One", f"{project} like quokka.", "decision", topic_key="a/b"), project=project)
            assert old.id == new.id
            other = app.save(Draft("Mine", "Nobody likes it.", scope="personal"), project=project)
            app.relations.compare(new.id, other.id, "related", confidence=0.9, reasoning="both about bassoon")
            app.prompts.save("who likes sarsaparilla?", project=project, session_id=f"s-{project}")
            app.episodes.summarize("We looked at bassoon.", project=project, session_id=f"s-{project}")
            turns = [Turn("user", "who likes sarsaparilla, then?", "k1"), Turn("assistant", "Nobody.", "k2")]
            app.transcripts.keep(turns, session_id=f"s-{project}", project=project)
    return data_dir / "engram.db"


def rows(path: Path, project: str) -> dict[str, int]:
    names = ("observations", "user_prompts", "sessions", "memory_relations", "turns", "projects")
    with closing(sqlite3.connect(path)) as database:
        return {
            name: database.execute(
                f"select count(*) from {name} where {'name' if name == 'projects' else 'project'} = ?", (project,)
            ).fetchone()[0]
            for name in names
        }


def test_it_says_what_it_would_destroy_and_asks(kept: Path, run: Run, terminal: None) -> None:
    refused = run("clear", "project", "widgets", stdin="n\n")

    said = "3 observations, 1 earlier text, 1 prompt, 1 session, 1 relation and 2 raw messages of project widgets"
    assert f"This destroys {said}." in refused.stderr
    assert "`engram backup` makes one" in refused.stderr
    assert "Nothing was destroyed" in refused.stderr
    assert rows(kept, "widgets")["observations"] == 3

    assert run("clear", "project", "widgets", stdin="y\n").stdout == f"Destroyed {said}.\n"
    assert set(rows(kept, "widgets").values()) == {0}
    assert rows(kept, "gadgets")["observations"] == 3


def test_a_script_is_not_asked_and_destroys_nothing_without_yes(kept: Path, run: Run) -> None:
    assert "--yes" in refusal(run("clear", "everything"), code=2)
    assert rows(kept, "widgets")["observations"] == 3
    assert answer(run("clear", "project", "widgets", "--yes", "--json"))["counts"]["observations"] == 3


def test_raw_messages_go_and_the_rest_stays(kept: Path, run: Run) -> None:
    assert run("clear", "turns", "--session", "s-widgets", "--yes").stdout == (
        "Destroyed 2 raw messages of session s-widgets.\n"
    )
    assert (rows(kept, "widgets")["turns"], rows(kept, "gadgets")["turns"]) == (0, 2)
    run("clear", "turns", "--yes")
    assert rows(kept, "gadgets")["turns"] == 0
    assert (rows(kept, "gadgets")["user_prompts"], rows(kept, "gadgets")["observations"]) == (1, 3)
    assert run("clear", "turns", "--yes").stdout == "There is nothing to destroy.\n"


def test_no_byte_of_what_was_destroyed_is_left(kept: Path, run: Run) -> None:
    spool = kept.parent / "spool"
    spool.mkdir()
    (spool / "x.unreadable").write_text("marmalade")

    assert run("clear", "everything", "--yes").exit_code == 0

    data = b"".join(file.read_bytes() for file in kept.parent.rglob("*") if file.is_file())
    assert [word for word in WORDS if word.encode() in data] == []
    assert answer(run("projects", "--json"))["projects"] == []
    assert run("doctor").exit_code == 0
    assert run("save", "Again", "A memory begins anew.").exit_code == 0


@pytest.mark.parametrize("everywhere", [False, True])
def test_no_sync_brings_it_back_and_only_everywhere_destroys_it_elsewhere(
    run: Run, here: Path, data_dir: Path, tmp_path: Path, everywhere: bool
) -> None:
    subprocess.run(["git", "init", "-q"], cwd=here, check=True)
    theirs = tmp_path / "bob" / "widgets"
    theirs.mkdir(parents=True)
    subprocess.run(["git", "init", "-q"], cwd=theirs, check=True)
    bob = Engram(settings=Settings(tmp_path / "bob" / "data"), directory=theirs)

    def swap() -> None:
        assert run("sync").exit_code == 0
        shutil.copytree(here / ".engram", theirs / ".engram", dirs_exist_ok=True)
        bob.git_sync.sync()
        shutil.copytree(theirs / ".engram", here / ".engram", dirs_exist_ok=True)
        assert run("sync").exit_code == 0

    with bob:
        run("save", "Tokens", "Fifteen minutes.")
        swap()
        [row] = bob.search("tokens").results
        run("clear", "project", "widgets", "--yes", *(["--everywhere"] if everywhere else []))
        if not everywhere:
            bob.observations.pin(row.id)
        swap()

        assert [hit.title for hit in bob.search("tokens").results] == ([] if everywhere else ["Tokens"])
        assert rows(data_dir / "engram.db", "widgets")["observations"] == 0
        run("save", "Ports", "The gateway listens on 8080.")
        with closing(sqlite3.connect(data_dir / "engram.db")) as database:  # its session begins anew, for all
            assert database.execute("select 1 from sync_private where entity = 'session'").fetchall() == []
        swap()
        assert [hit.title for hit in bob.search("gateway").results] == ["Ports"]
