"""``engram ingest``, ``engram import --from`` and ``engram clear``."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from engram_py import Draft, Engram
from engram_py.base.settings import Settings
from engram_py.interfaces.cli.upkeep import SOURCES
from engram_py.memory.sessions.values import Turn
from engram_py.sharing.interchange.importers import KINDS
from tests.interfaces.cli.conftest import Run, Start, answer, refusal

TALK: dict[str, Any] = {
    "agent_id": "osaurus",
    "conversation_id": "c1",
    "turns": [
        {"user": "Keep port 4173 open for the narwhal, and add a test for it.", "assistant": "It is open, and tested."}
    ],
}


def test_rows_86_and_103_a_file_is_kept_and_what_it_says_is_found(start: Start, here: Path) -> None:
    (here / "talk.json").write_text(json.dumps(TALK))
    done = start("ingest", "talk.json")
    assert (done.code, done.stdout) == (0, "1 turn of c1 kept in widgets: summarized [#1]\n")
    again = start("ingest", "-", "--json", stdin=json.dumps(TALK).encode())
    assert json.loads(again.stdout)["distillation"] == "distilled"

    said = start("search", "--in", "transcript", "basement narwhal").stdout
    assert "c1 user, " in said
    assert TALK["turns"][0]["user"] in said
    assert "osaurus now: 1 session, 0 memories, 0 facts, 1 episode, 2 turns" in start("agents").stdout


def test_row_86_a_conversation_that_a_program_summarizes_ends_distilled(
    run: Run, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = here / "summarize"
    program.write_text('#!/bin/sh\ncat >/dev/null\necho \'{"summary": "The port stays open."}\'\n')
    program.chmod(0o755)
    monkeypatch.setenv("ENGRAM_DISTILL_COMMAND", str(program))

    assert answer(run("ingest", "-", "--json", stdin=json.dumps(TALK)))["distillation"] == "distilled"
    later = answer(run("ingest", "-", "--no-flush", "--conversation", "c9", "--json", stdin=json.dumps(TALK)))
    assert later["distillation"] == "pending"


def test_options_stand_in_the_place_of_fields_and_a_list_is_the_turns(run: Run) -> None:
    words = ["ingest", "-", "--conversation", "c2", "--agent", "bob", "--session-date", "2025-05-04", "--json"]
    done = answer(run(*words, "--skip-extraction", stdin=json.dumps(TALK["turns"])))
    assert (done["session_id"], done["agent_id"], done["distillation"]) == ("c2", "bob", "skipped:extraction")
    [agent] = answer(run("agents", "bob", "--json"))["agents"]
    assert (agent["id"], agent["turns"], agent["episodes"]) == ("bob", 2, 0)
    assert "agent 'nobody' has no sessions" in refusal(run("agents", "nobody"))


def test_what_is_no_conversation_is_refused(run: Run) -> None:
    for text, said in (
        ("", "that is no conversation"), ("5", "it is no object"), ("{}", "conversation_id is missing"),
        (json.dumps(TALK | {"flush": "yes"}), "flush must be true or false"),
    ):  # fmt: skip
        assert said in refusal(run("ingest", "-", stdin=text))


ENTITY = json.dumps({"type": "entity", "name": "Ada", "entityType": "person", "observations": ["likes tea"]})


def test_the_kinds_of_the_command_are_those_of_the_service() -> None:
    assert tuple(KINDS) == SOURCES


def test_a_source_is_tried_imported_and_found(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "memory.jsonl"
    path.write_text(ENTITY + "\n")
    words = ("import", "--from", "server-memory", str(path), "--project", "widgets")

    tried = answer(run(*words, "--dry-run", "--json"))  # the summary alone is on standard output
    assert (tried["observations"]["new"], tried["warnings"]) == (1, ["dry run: nothing was written"])
    assert answer(run("search", "tea", "--json"))["count"] == 0

    assert "observations: 1 read, 1 new" in run(*words).stdout
    assert answer(run("search", "tea", "--json"))["count"] == 1
    assert "observations: 1 read, 0 new" in run(*words).stdout


def test_a_source_is_looked_for_where_its_program_keeps_it(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    notes = tmp_path / "basic-memory"
    notes.mkdir()
    (notes / "coffee.md").write_text("# Coffee\nPour over gives clarity.\n")

    assert answer(run("import", "--from", "basic-memory", "--json"))["observations"]["new"] == 1
    refused = run("import", "--from", "claude-mem")
    assert (refused.exit_code, "invalid_source" in refused.stderr) == (1, True)


@pytest.mark.parametrize(
    "words",
    [("import",), ("import", "--dry-run", "x.json"), ("import", "x.json", "--project", "widgets"),
     ("import", "--from", "server-memory"), ("import", "--from", "diary", "x")],
    ids=["nothing", "dry-run-of-an-export", "project-of-an-export", "no-path", "no-such-kind"],
)  # fmt: skip
def test_wrong_usage_is_said_so(run: Run, words: tuple[str, ...]) -> None:
    assert run(*words).exit_code == 2


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
    assert "not_confirmed: cancelled; nothing was changed" in refused.stderr
    assert rows(kept, "widgets")["observations"] == 3

    assert run("clear", "project", "widgets", stdin="y\n").stdout == f"Destroyed {said}.\n"
    assert set(rows(kept, "widgets").values()) == {0}
    assert rows(kept, "gadgets")["observations"] == 3


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
    (here / ".engram" / "chunks").mkdir(parents=True)
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


def test_a_note_on_a_setting_is_printed_once_a_command(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_SALIENCE_FLOOR", "7")
    assert run("doctor").stderr.count("ENGRAM_SALIENCE_FLOOR") == 1
