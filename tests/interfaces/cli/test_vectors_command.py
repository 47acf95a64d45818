"""`engram vectors`: on, off and how far they are; what other commands do with an embedder that is set."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from engram_py.interfaces.cli import upkeep
from engram_py.vectors.model import LANES, Lane
from tests.embedders import Endpoint, endpoint
from tests.interfaces.cli.conftest import Run, answer, refusal
from tests.interfaces.cli.test_startup import modules
from tests.vectors import test_model_download

pytest.importorskip("numpy", reason='vectors need numpy: pip install "engram-py[vectors]"')


index, static = test_model_download.index, test_model_download.static


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    """An endpoint that is the embedder of every command."""
    with endpoint() as found:
        monkeypatch.setenv("ENGRAM_EMBEDDER", found.setting)
        yield found


def test_without_an_embedder_it_says_how_to_set_one(run: Run) -> None:
    said = run("vectors")
    assert said.exit_code == 0
    assert said.stdout == "Vectors are off; searches go by words alone.\n→ run `engram vectors on`\n"


def test_what_is_pending_is_computed_and_the_state_says_so(run: Run, served: Endpoint) -> None:
    run("save", "Tokens", "Access tokens last fifteen minutes.")
    run("save", "Queue", "Jobs wait until a worker takes them.")
    assert run("vectors").stdout.splitlines()[0] == f"{served.setting}: 0 of 2 observations have vectors"

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
    assert "ENGRAM_EMBEDDER is set and wins" in deleted.stderr
    assert answer(run("vectors", "--json"))["done"] == 0


def test_what_takes_long_goes_on_in_the_background(run: Run, served: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        run("save", f"Queue {number}", f"Jobs of kind {number} wait until a worker takes them.")
    monkeypatch.setattr(upkeep, "_PATIENCE_SECONDS", 0.0)

    said = run("vectors", "on")

    assert "0 of 3 observations have vectors" in said.stdout
    assert "the other 3 go on in the background" in said.stderr
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
    assert "ms a question" in done.stdout
    assert "WordLlama" in done.stderr
    assert "MIT" in done.stderr
    assert answer(run("vectors", "--json"))["embedder"] == "static:wordllama-256"
    run("save", "Queue", "A queue of jobs.")
    assert "→ run `engram vectors on` for the 1 left" in run("vectors", "status").stdout
    assert answer(run("vectors", "on", "--json"))["observations"] == 1
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
    assert check["message"] == (f"0 of 1 observations have vectors from {served.setting}; texts go to 127.0.0.1")
    served.answer = lambda _: (404, b"model not found")
    [check] = answer(run("doctor", "--check", "vectors", "--json"))["checks"]
    assert (check["result"], "status 404" in check["message"]) == ("warning", True)
    said = run("vectors").stdout
    assert "problem: " in said
    assert "status 404: model not found" in said
    assert "does it have tiny?" in said
    assert run("vectors", "on").exit_code == 1
    assert run("save", "Queue", "Jobs wait.").exit_code == 0
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
        monkeypatch.setattr(f"engram_py.vectors.model.VectorModel.{asked}", lambda *_, **__: None)
    [check] = answer(run("doctor", "--check", "vectors", "--json"))["checks"]
    assert check["result"] == "warning"
    assert "unencrypted to memory.example.org" in check["message"]


@pytest.mark.parametrize("words", [["search", "tokens"], ["save", "A title", "A text"], ["context"]])
def test_without_an_embedder_a_command_imports_nothing_of_vectors(here: Path, words: list[str]) -> None:
    subprocess.run([sys.executable, "-m", "engram_py", "save", "Tokens", "They last."], cwd=here, check=True)
    loaded = modules(here, *words)
    heavy = {"numpy", "engram_py.vectors.model", "engram_py.vectors.protocol", "engram_py.vectors.index"}
    assert heavy & set(loaded) == set()


def test_a_process_that_is_killed_in_the_middle_keeps_what_it_had_and_the_next_goes_on(
    run: Run, served: Endpoint, here: Path, data_dir: Path
) -> None:
    for number in range(150):
        run("save", f"Note {number}", f"Observation {number} says what module {number} does.")
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
