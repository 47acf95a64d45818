"""`engram doctor` reports on every file there can be, and says with its exit code whether it is well."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from engram_py import Draft, Engram
from tests.interfaces.cli.conftest import Run, answer
from tests.interfaces.mcp.test_opening import a_foreign_one, a_newer_one, garbage
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
    assert re.match(rf"error: 0 ok, 0 warnings, 1 errors .*\nerror +{check}: .*{said}", told.stdout)
    assert "→" in told.stdout
    assert machine.exit_code == 1
    assert '"status": "error"' in machine.stdout
    assert path.read_bytes() == before


def test_a_damaged_database_is_answered_with_the_newest_sound_backup(run: Run, data_dir: Path) -> None:
    run("save", "Kept", "Text.")
    made = answer(run("backup", "--json"))["path"]
    (data_dir / "backups" / "zz-later.db").write_bytes(b"half a backup")
    garbage(data_dir)

    told = run("doctor").stdout
    step = re.search(r"run `engram (restore .*?)`", told)

    assert step is not None
    assert step[1] == f"restore {made}"
    assert run(*step[1].split()).exit_code == 0
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
SPOILED = ["observations.title", "observations.content", "user_prompts.content", "sessions.summary", "sessions.agent"]
READS: list[list[str]] = [
    ["get", "1"],
    ["list"],
    ["search", "pump"],
    ["context"],
    ["sessions"],
    ["prompts"],
    ["export", "-"],
    ["vault", "init", "v"],
    ["maintain"],
    ["reindex"],
    ["stats"],
]


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
    assert f"1 text(s) are not UTF-8: {name} of {table} " in run("doctor").stdout
    run("doctor", "--fix")
    assert finding(app, "texts").result == "ok"
    assert run("doctor").exit_code == 0
