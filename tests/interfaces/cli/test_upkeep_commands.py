"""``engram doctor``, ``eval``, ``reindex``, ``vectors``, and what archives, moves or expires observations."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from engram_py import Draft, Engram
from engram_py.interfaces.cli import progress
from engram_py.recall.vectors.model import LANES, Lane
from tests.embedders import Endpoint
from tests.interfaces.cli.conftest import Run, Start, answer, refusal
from tests.interfaces.mcp.test_ending import a_foreign_one, a_newer_one, garbage
from tests.recall.vectors import test_embedders
from tests.upkeep.findings import finding, raw


@pytest.mark.parametrize(
    ("spoil", "check", "said"),
    [
        pytest.param(garbage, "integrity", "is damaged", id="damaged"),
        pytest.param(a_newer_one, "schema", "newer engram", id="newer"),
        pytest.param(a_foreign_one, "schema", "another program", id="foreign"),
    ],
)
def test_a_database_that_cannot_be_opened_is_reported_and_left_as_it_is(
    run: Run, data_dir: Path, spoil: Callable[[Path], Path], check: str, said: str
) -> None:
    run("save", "Kept", "Text.")
    path = spoil(data_dir)
    before = path.read_bytes()

    told, machine = run("doctor"), run("doctor", "--json")

    assert (told.exit_code, told.stderr) == (1, "")
    assert re.match(rf"error: 0 ok, 0 warnings, 1 error .*\nerror +{check}: .*{said}", told.stdout)
    assert "→" in told.stdout
    assert machine.exit_code == 1
    assert '"status": "error"' in machine.stdout
    assert path.read_bytes() == before


def test_a_damaged_database_is_answered_with_the_newest_sound_backup(run: Run, data_dir: Path) -> None:
    run("save", "Kept", "Text.")
    assert run("backup", str(data_dir.parent / "copy.db")).stdout.startswith("Backed up 1 observation to ")
    made = answer(run("backup", "--json"))["path"]
    (data_dir / "backups" / "zz-later.db").write_bytes(b"half a backup")
    garbage(data_dir)

    told = run("doctor").stdout
    step = re.search(r"run `engram (restore .*?)`", told)

    assert step is not None
    assert step[1] == f"restore {made}"
    assert run(*step[1].split(), "--yes").stdout.startswith("Restored 1 observation")
    assert run("get", "1").exit_code == 0


def test_what_is_derived_is_repaired_after_a_backup(run: Run, data_dir: Path) -> None:
    run("save", "Kept", "Text.")
    assert answer(run("doctor", "--json"))["status"] == "ok"
    report = answer(run("doctor", "--check", "integrity", "--json"))
    assert [check["check_id"] for check in report["checks"]] == ["integrity"]
    with closing(sqlite3.connect(data_dir / "engram.db")) as connection, connection:
        connection.execute("drop trigger observations_fts_insert")
    broken = run("doctor")

    fixed = answer(run("doctor", "--fix", "--json"))

    assert broken.exit_code == 1
    assert (fixed["status"], Path(fixed["backup"]).exists()) == ("ok", True)
    assert run("doctor").exit_code == 0


BAD = "cast(cast({} as blob) || x'ff80' as text)"
SPOILED = ["observations.content", "user_prompts.content", "sessions.summary"]
READS: list[list[str]] = [
    ["get", "1"], ["list"], ["search", "pump"], ["context"], ["sessions"], ["prompts"], ["export", "-"],
    ["vault", "init", "v"], ["maintain"], ["reindex"], ["stats"],
]  # fmt: skip


@pytest.mark.parametrize("column", SPOILED)
def test_a_text_that_a_disk_spoiled_is_named_and_mended_and_the_rest_is_read(
    run: Run, app: Engram, column: str
) -> None:
    app.save(Draft("The pump", "It drips."), session_id="s-1")
    app.prompts.save("Mend the pump", session_id="s-1")
    app.episodes.summarize("The pump was mended.", session_id="s-1")
    table, _, name = column.partition(".")
    raw(app, f"update {table} set {name} = {BAD.format(name)} where rowid = 1")

    for words in READS:
        read = run(*words)
        assert (read.exit_code, read.exception) == (0, None), words
    assert f"1 text not in UTF-8: {name} of {table} " in run("doctor").stdout
    run("doctor", "--fix")
    assert finding(app, "texts").result == "ok"
    assert run("doctor").exit_code == 0


@pytest.fixture
def tested(run: Run) -> None:
    """Two observations, a question for each, and one that should find nothing."""
    run("save", "Access tokens", "They live fifteen minutes.")
    run("save", "Listening port", "Loopback 7437.")
    run("eval", "add", "access tokens", "1")
    run("eval", "add", "listening port", "#2")
    run("eval", "add", "favourite colour", "--none")


def test_without_questions_it_says_how_to_add_one(run: Run) -> None:
    told = run("eval")
    assert (told.exit_code, told.stderr) == (0, "")
    assert 'engram eval add "your question" ID' in told.stdout


@pytest.mark.usefixtures("tested")
def test_a_first_run_is_kept_and_the_next_is_no_worse(run: Run) -> None:
    first, second = run("eval"), run("eval")

    assert (first.exit_code, second.exit_code) == (0, 0)
    assert "3 questions, 1 that should find nothing" in first.stdout
    assert "kept: later runs are compared with this one" in first.stdout
    table = [line.split() for line in first.stdout.splitlines()]
    assert ["hit@5", "1.000"] in table
    assert ["false", "answers", "0", "of", "1"] in table
    assert second.stdout.startswith("none of 3 questions fails\n")
    assert "no worse than the kept run in the 3 questions of both" in second.stdout
    assert "changed since then: nothing in the program or the index" in second.stdout


@pytest.mark.usefixtures("tested")
def test_a_fall_is_shown_question_by_question_and_ends_with_exit_code_1(run: Run) -> None:
    run("eval")
    run("update", "1", "--title", "Gone", "--content", "Elsewhere.")
    run("save", "Favourite colour", "Blue.")

    fell = run("eval")

    assert fell.exit_code == 1
    assert '  1 "access tokens": rank 1 → nothing found' in fell.stdout
    assert '  3 "favourite colour": nothing found → answered, with [#3] Favourite colour' in fell.stdout
    assert "worse than the kept run by more than 0.01: hit@5, MRR, false answers" in fell.stdout
    assert run("eval", "--keep").exit_code == 1
    assert run("eval").exit_code == 0


@pytest.mark.usefixtures("tested")
def test_new_questions_and_lost_answers_are_said_beside_the_comparison_and_are_no_failure(run: Run) -> None:
    run("eval")
    run("eval", "add", "-", "2", stdin="the colour of the sky\n")
    run("delete", "1")
    told = run("eval")
    table = [line.split() for line in told.stdout.splitlines()]
    assert told.exit_code == 0
    assert told.stdout.startswith("1 of 3 questions fails\n")
    assert ["before", "now", "new"] in table
    assert '  1 "access tokens": [#1] Access tokens (deleted)' in told.stdout
    assert "1 new question, not compared" in told.stdout
    assert refusal(run("eval", "--tolerance", "2")).startswith("engram: invalid_argument: tolerance is 2.0")
    values: Any = answer(run("eval", "--tolerance", "0.5", "--json"))
    assert (values["fell"], values["kept"], values["tolerance"]) == ([], False, 0.5)
    assert [(one["id"], one["outcome"]) for one in values["asked"]][:3] == [(1, "lost"), (2, "found"), (3, "silent")]


@pytest.mark.usefixtures("tested")
def test_questions_are_listed_and_removed_by_number(run: Run) -> None:
    assert run("eval", "list").stdout.splitlines() == [
        '1 "access tokens" → [#1] Access tokens (widgets)',
        '2 "listening port" → [#2] Listening port (widgets)',
        '3 "favourite colour" → nothing expected (widgets)',
    ]
    assert run("eval", "remove", "1", "3").stdout == "Removed 2 questions\n"
    assert [one["id"] for one in answer(run("eval", "list", "--json"))["questions"]] == [2]


@pytest.mark.parametrize("words", [["add", "q", "one"], ["add"], ["remove"], ["remove", "one"]])
def test_what_is_no_number_is_wrong_usage(run: Run, words: list[str]) -> None:
    assert run("eval", *words).exit_code == 2


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_memory_that_cannot_be_written_is_searched_all_the_same(start: Start, data_dir: Path) -> None:
    start("save", "Access tokens", "They live fifteen minutes.")
    (data_dir / "engram.db").chmod(0o400)
    assert "[#1]" in start("search", "tokens").stdout


def test_reindex_says_what_it_did(run: Run) -> None:
    run("save", "Access tokens", "They live fifteen minutes.")
    assert run("reindex").stdout == "Indexed 1 observation and 0 prompts\n"
    assert answer(run("reindex", "--json")) == {
        "observations": 1, "prompts": 0, "rewritten": 0, "resumed": False, "mended": False,
    }  # fmt: skip
    assert answer(run("search", "access tokens", "--json"))["count"] == 1


def test_observations_are_archived_taken_out_moved_and_given_a_last_day(run: Run) -> None:
    for thing, project in (("redis", "widgets"), ("kafka", "widgets"), ("celery", "gadgets")):
        run("save", f"Queue in {thing}", f"The queue lives in {thing}.", "--project", project)

    def found(*words: str) -> list[int]:
        return sorted(hit["id"] for hit in answer(run("search", *words, "--json"))["results"])

    assert run("archive", "1", "2").exit_code == 0
    assert (found("is:archived"), found("queue")) == ([1, 2], [])
    run("unarchive", "1")
    assert (found("queue"), found("queue", "--as-of", "2999-01-01"), found("queue", "--as-of", "2020-01-01")) == (
        [1], [1], [],
    )  # fmt: skip
    assert "2026-03-14" in refusal(run("search", "queue", "--as-of", "soon"))
    changed = answer(run("update", "1", "--expires", "2999-03-14", "--salience", "0.9", "--json"))
    assert sorted(changed["changed"]) == ["expires_at", "salience"]
    assert run("move", "1", "2", "--to", "gadgets").exit_code == 0
    assert (found("queue"), found("queue", "--project", "gadgets")) == ([], [1, 3])


pytest.importorskip("numpy", reason="vectors need numpy: the extra vectors")


index, static = test_embedders.index, test_embedders.static


def test_without_an_embedder_it_says_how_to_set_one(run: Run) -> None:
    said = run("vectors")
    assert said.exit_code == 0
    assert said.stdout == "Vectors are off; searches use only words.\n→ run `engram vectors on`\n"


def test_where_most_prompts_are_not_in_english_the_multilingual_model_is_offered(run: Run, app: Engram) -> None:
    for prompt in ("¿por qué falla el login?", "añade una prueba para el parser", "borra las tablas de la cola"):
        app.prompts.save(prompt)
    assert run("vectors").stdout.endswith("\n→ run `engram vectors on multilingual`\n")
    [check] = answer(run("doctor", "--check", "vectors", "--json"))["checks"]
    assert "`engram vectors on multilingual` turns them on" in check["message"]
    assert "It downloads 53 MB" in run("setup", "cursor").stderr


def save_by_words(run: Run, count: int) -> None:
    """Save while no embedder is set."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ENGRAM_EMBEDDER", "")
        for number in range(count):
            run("save", f"Queue {number}", f"Jobs of kind {number} wait until a worker takes them.")


@pytest.mark.usefixtures("served")
def test_what_a_command_saved_has_vectors_when_it_ends(run: Run) -> None:
    assert run("save", "Tokens", "Access tokens last fifteen minutes.").stderr == ""
    assert answer(run("vectors", "--json"))["done"] == 1
    run("update", "1", "--content", "Access tokens last an hour.")
    assert answer(run("vectors", "--json"))["done"] == 1


def test_what_is_pending_is_computed_and_the_state_says_so(run: Run, served: Endpoint) -> None:
    save_by_words(run, 2)
    before = run("vectors").stdout
    assert before.splitlines()[0] == f"{served.setting}: 0 of 2 observations have vectors"
    assert "→ run `engram vectors on` for the 2 left" in before

    done = run("vectors", "on")

    assert done.stdout.startswith("Computed vectors of 2 observations, 2 passages, in ")
    assert f"{served.setting}: 2 of 2 observations have vectors" in done.stdout
    assert "costs 192 bytes in the database, " in done.stdout
    assert "texts are sent to 127.0.0.1" in done.stdout
    assert "ENGRAM_EMBEDDER" in refusal(run("vectors", "on", "static"))
    assert answer(run("vectors", "on", "--json"))["observations"] == 0
    assert answer(run("vectors", "--json"))["done"] == 2
    assert "The vectors of 2 observations are kept." in run("vectors", "off").stdout
    deleted = run("vectors", "off", "--delete")
    assert deleted.stdout == "Vectors are off; those of 2 observations and the models are deleted\n"
    assert "ENGRAM_EMBEDDER overrides this value" in deleted.stderr
    assert answer(run("vectors", "--json"))["done"] == 0


def test_what_takes_long_goes_on_in_the_background(run: Run, served: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    save_by_words(run, 3)
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(progress, "_MOST_AT_ONCE", 2)

    said = run("vectors", "on")

    assert "0 of 3 observations have vectors" in said.stdout
    assert re.search(r"the other 3 are computed in the background, about [0-9]+ min; `engram vectors`", said.stderr)
    until = time.monotonic() + 30
    while answer(run("vectors", "--json"))["done"] < 3:
        assert time.monotonic() < until
        time.sleep(0.1)


def test_one_command_fetches_a_model_computes_and_keeps_the_setting(
    run: Run, static: Lane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LANES, "static", static)
    run("save", "Login", "The login lasts fifteen minutes.")
    done = run("vectors", "on", "static")
    assert done.exit_code == 0, done.stderr
    assert "1 of 1 observations have vectors" in done.stdout
    assert "for the model" in done.stdout
    assert "ms per search" in done.stdout
    assert "WordLlama" in done.stderr
    assert "MIT" in done.stderr
    assert answer(run("vectors", "--json"))["embedder"] == "static:wordllama-256"
    run("save", "Queue", "A queue of jobs.")
    assert "2 of 2 observations have vectors" in run("vectors", "status").stdout
    run("vectors", "off")
    assert answer(run("vectors", "--json"))["embedder"] == ""


@pytest.mark.usefixtures("index")
def test_a_model_that_cannot_be_fetched_leaves_everything_as_it_was(run: Run, data_dir: Path) -> None:
    data_dir.mkdir(exist_ok=True)
    (data_dir / "config.json").write_text('{"timezone": "UTC"}', encoding="utf-8")
    said = refusal(run("vectors", "on", "static"))
    assert "could not be fetched" in said
    assert "engram vectors on static" in said
    assert (data_dir / "config.json").read_text(encoding="utf-8") == '{"timezone": "UTC"}'
    assert not list((data_dir / "models").iterdir())


def test_who_hears_what_is_saved_is_said_and_a_model_that_fails_is_named_with_the_next_step(
    run: Run, served: Endpoint
) -> None:
    run("save", "Tokens", "Access tokens last fifteen minutes.")
    [check] = answer(run("doctor", "--check", "vectors", "--json"))["checks"]
    assert check["result"] == "ok"
    said = f"vectors are on: 0 of 1 texts lack vectors from {served.setting}; texts go to 127.0.0.1"
    assert check["message"] == said
    served.answer = lambda _: (404, b"model not found")
    [check] = answer(run("doctor", "--check", "vectors", "--json"))["checks"]
    assert (check["result"], "status 404" in check["message"]) == ("warning", True)
    said = run("vectors").stdout
    assert "problem: " in said
    assert "status 404: model not found" in said
    assert "does it have tiny?" in said
    assert run("vectors", "on").exit_code == 1
    kept = run("save", "Queue", "Jobs wait.")
    assert (kept.exit_code, "status 404" in kept.stderr) == (0, True)
    assert run("search", "tokens").exit_code == 0


def test_a_setting_that_is_not_understood_breaks_no_command(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_EMBEDDER", "word2vec:x")
    assert run("save", "Tokens", "Access tokens last fifteen minutes.").exit_code == 0
    assert run("search", "tokens").exit_code == 0
    assert "is not understood" in run("vectors").stdout
    found = answer(run("doctor", "--check", "vectors", "--json"))
    assert (found["status"], found["checks"][0]["check_id"]) == ("warning", "vectors")


def test_the_key_is_read_from_the_variable_that_the_setting_names(
    run: Run, served: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENGRAM_EMBEDDER_KEY_VARIABLE", "MY_KEY")
    monkeypatch.setenv("MY_KEY", "sesame")
    run("vectors")
    assert served.headers[-1]["authorization"] == "Bearer sesame"


def test_the_doctor_warns_of_texts_that_others_on_the_way_can_read(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_EMBEDDER", "openai:http://memory.example.org/v1#tiny")
    for asked in ("probe", "question"):
        monkeypatch.setattr(f"engram_py.recall.vectors.model.VectorModel.{asked}", lambda *_, **__: None)
    [check] = answer(run("doctor", "--check", "vectors", "--json"))["checks"]
    assert check["result"] == "warning"
    assert "unencrypted to memory.example.org" in check["message"]


def test_a_process_that_is_killed_in_the_middle_keeps_what_it_had_and_the_next_goes_on(
    run: Run, app: Engram, served: Endpoint, here: Path, data_dir: Path
) -> None:
    for number in range(150):
        app.save(Draft(f"Note {number}", f"Observation {number} says what module {number} does."))
    whole = served.answer

    def stuck_after_a_while(body: dict[str, object]) -> tuple[int, bytes]:
        if len(served.requests) > 8:
            served.released.wait(60)
        return whole(body)

    served.answer = stuck_after_a_while
    process = subprocess.Popen([sys.executable, "-m", "engram_py", "vectors", "on"], cwd=here)
    while len(served.requests) <= 8:
        served.arrived.wait(60)
        served.arrived.clear()
    process.kill()
    process.wait()
    served.answer = whole
    served.released.set()

    some = answer(run("vectors", "--json"))
    assert 0 < some["done"] < 150
    with closing(sqlite3.connect(data_dir / "engram.db")) as connection, connection:
        connection.execute("update embedders set lease_until = '2000-01-01T00:00:00.000Z'")  # three minutes later
    assert answer(run("vectors", "on", "--json"))["observations"] == 150 - some["done"]
    assert answer(run("vectors", "--json"))["done"] == 150
