"""Each command in this process: results, help, completion, start-up, and the syntax that hints use."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from engram_py import Engram, __version__
from engram_py.interfaces.cli.main import COMMANDS, FIRST, GROUPS, HIDDEN, cli
from engram_py.interfaces.cli.sync import CLOUD_COMMANDS
from tests.interfaces.cli.conftest import Run, Start, answer, refusal


@pytest.fixture
def saved(run: Run) -> int:
    """Observation 1: a decision under a topic."""
    text = "Access tokens live 15 minutes."
    found = answer(run("save", "Chose short tokens", text, "--type", "decision", "--topic", "decision/ttl", "--json"))
    return int(found["id"])


@pytest.mark.parametrize("typed", ["1", "#1", "[#1]"])
def test_an_id_may_be_typed_as_answers_show_it(run: Run, saved: int, typed: str) -> None:
    assert answer(run("get", typed, "--json"))["title"] == "Chose short tokens"


@pytest.mark.parametrize("typed", ["one", "", "1.5", "#", "1_0", "9" * 5000])
def test_what_is_no_id_is_wrong_usage(run: Run, typed: str) -> None:
    said = refusal(run("get", typed), code=2)
    assert "is not an observation id such as 12" in said
    assert len(said) < 400


@pytest.mark.parametrize(
    ("words", "code"),
    [
        pytest.param(["get", "99"], "observation_not_found", id="unknown-id"),
        pytest.param(["get", "0"], "invalid_argument", id="id-0"),
        pytest.param(["search", "  "], "empty_query", id="blank-query"),
        pytest.param(["prompts", "--delete", "9"], "prompt_not_found", id="unknown-prompt"),
        pytest.param(["judge", "rel-0", "related"], "judgment_not_found", id="unknown-judgment"),
        pytest.param(["projects", "merge", "nope", "--into", "widgets"], "unknown_project", id="unknown-project"),
        pytest.param(["doctor", "--check", "astrology"], "invalid_argument", id="unknown-check"),
        pytest.param(["restore", "absent.db"], "invalid_backup", id="no-such-backup"),
        pytest.param(["import", "absent.json"], "invalid_export", id="no-such-export"),
        pytest.param(["export", "absent/x.json"], "invalid_argument", id="export-to-nowhere"),
        pytest.param(["export", "--project", "nope"], "unknown_project", id="export-of-unknown-project"),
        pytest.param(["context", "--project", "nope"], "unknown_project", id="context-of-unknown-project"),
        pytest.param(["delete", "session", "nope", "--yes"], "session_not_found", id="delete-unknown-session"),
        pytest.param(["delete", "project", "nope", "--yes"], "unknown_project", id="delete-unknown-project"),
        pytest.param(["clear", "project", "nope", "--yes"], "unknown_project", id="clear-unknown-project"),
        pytest.param(["undo", "--change", "9"], "nothing_to_undo", id="undo-of-nothing"),
        pytest.param(["revert", "1", "--version", "7"], "no_earlier_version", id="revert-to-unknown-version"),
        pytest.param(["conflicts", "show", "²"], "judgment_not_found", id="relation-with-a-raised-digit"),
        pytest.param(["conflicts", "scan", "--limit", "0"], "invalid_argument", id="scan-of-nothing"),
        pytest.param(["cost", "--session", "a\x1b[2Jb"], "session_not_found", id="cost-of-hostile-session"),
        pytest.param(["eval", "add", "who pays"], "invalid_argument", id="question-without-an-answer"),
        pytest.param(["eval", "remove", "7"], "question_not_found", id="unknown-question"),
        pytest.param(["why", " "], "empty_query", id="blank-prompt"),
        pytest.param(["sync"], "no_repository", id="no-repository"),
        pytest.param(["list", "tokens"], "bulk_filter", id="list-by-words"),
    ],
)
def test_a_refusal_has_a_code_a_hint_and_exit_code_1_in_both_forms(
    run: Run, saved: int, words: list[str], code: str
) -> None:
    told, machine = run(*words), run(words[0], "--json", *words[1:])
    assert (told.exit_code, told.stdout) == (1, "")
    assert re.match(rf"engram: {code}: .+\nhint: .+", told.stderr)
    assert machine.exit_code == 1
    assert f'"error_code": "{code}"' in machine.stdout


def test_a_file_that_is_no_export_is_a_wrong_command(run: Run, tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"name": "rocket", "version": "1.0.0"}')
    told = run("import", str(tmp_path / "package.json"))

    assert told.exit_code == 2
    assert told.stderr.startswith("engram: invalid_export: ")
    assert "engram import --from KIND FILE" in told.stderr


def test_content_may_come_from_standard_input(run: Run) -> None:
    run("save", "Piped", "-", stdin="from a pipe\n")
    run("update", "1", "--content", "-", stdin="and once more")
    found = answer(run("history", "1", "--json"))
    assert (found["content"], [one["content"] for one in found["versions"]]) == ("and once more", ["from a pipe"])


def test_a_verdict_is_asked_for_and_given(run: Run, saved: int) -> None:
    second = answer(run("save", "Chose access tokens of an hour", "Access tokens live 60 minutes.", "--json"))
    [waiting] = answer(run("judge", "--json"))["pending"]
    assert run("judge", waiting["sync_id"]).exit_code == 2

    given = run("judge", waiting["sync_id"], "supersedes", "--reason", "measured", "--confidence", "0.9")

    assert second["judgment_required"] is True
    assert given.stdout.startswith("Judged ")
    assert answer(run("judge", "--json"))["pending"] == []


def test_what_is_no_result_goes_to_standard_error(run: Run) -> None:
    told = run("save", "Elsewhere", "Text.", "--project", "gizmos")
    machine = run("save", "Elsewhere too", "Text.", "--project", "gizmoz", "--json")
    assert told.stderr == 'note: created project "gizmos"\n'
    assert "note:" not in told.stdout
    assert any("gizmoz" in warning for warning in answer(machine)["warnings"])


def test_an_export_is_imported_by_name_and_through_a_pipe(run: Run, saved: int, tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    written = answer(run("export", str(file), "--json"))
    piped = run("export", "-").stdout

    named = answer(run("--data-dir", str(tmp_path / "two"), "import", str(file), "--json"))
    streamed = answer(run("--data-dir", str(tmp_path / "three"), "import", "-", "--json", stdin=piped))

    assert written["observations"] == 1
    taken = {"read": 1, "new": 1, "newer": 0, "skipped": 0, "invalid": 0, "reasons": {}}
    assert named["observations"] == streamed["observations"] == taken
    assert (named["path"], streamed["path"]) == (str(file), "-")


def test_times_are_shown_in_the_configured_zone(run: Run, saved: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_NOW", "2026-01-02T23:30:00Z")
    run("save", "At night", "Late.")

    monkeypatch.setenv("ENGRAM_TIMEZONE", "Asia/Tokyo")
    tokyo = run("get", "2").stdout
    monkeypatch.setenv("ENGRAM_TIMEZONE", "UTC")

    assert "2026-01-03 08:30 JST" in tokyo
    assert "2026-01-02 23:30 UTC" in run("get", "2").stdout


def test_a_save_near_a_topic_names_its_key_and_what_holds_it(run: Run) -> None:
    run("save", "Auth model", "JWTs.", "--topic", "architecture/auth-tokens")
    told = run("save", "Token for auth", "JWTs with RS256.", "--type", "architecture")
    assert "Similar: [#1]. To revise that one instead, save with `--topic architecture/auth-tokens`" in told.stdout
    assert "To revise it later" not in told.stdout


def commands() -> Iterator[tuple[str, click.Command]]:
    context = click.Context(cli)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        yield name, command
        if isinstance(command, click.Group):
            yield from ((f"{name} {inner}", each) for inner, each in command.commands.items())


def test_every_command_but_the_server_answers_json() -> None:
    for name, command in commands():
        options = {flag for param in command.params for flag in param.opts}
        assert ("--json" in options) == (command.name not in ("mcp", "serve", "hook", "tui", "merge-memory")), name


def test_the_list_of_commands_says_of_each_what_its_own_help_says_first(run: Run) -> None:
    listed, shown = run("help", "--all").stdout, run("save", "--help")
    for name, (_, about, _) in COMMANDS.items():
        assert (f"\n  {name} " in listed) == (name not in GROUPS[HIDDEN])
        assert name in GROUPS[HIDDEN] or about.split()[0] in listed
    assert (shown.exit_code, shown.stderr, "Usage: engram save" in shown.stdout) == (0, "", True)
    assert run("help", "save").stdout == shown.stdout


def test_the_first_page_of_the_help_names_25_commands_and_where_the_rest_are(run: Run) -> None:
    page = run("--help").stdout
    assert [name for name in COMMANDS if f"\n  {name} " in page] == [name for name in COMMANDS if name in FIRST]
    assert len(FIRST) == 25
    assert f"`engram help --all` lists {len(COMMANDS) - 25 - len(GROUPS[HIDDEN])} more" in " ".join(page.split())
    assert "there is no command whale" in refusal(run("help", "whale"), code=2)


@pytest.mark.parametrize("name", [*COMMANDS, *(f"cloud {name}" for name in CLOUD_COMMANDS)])
def test_the_example_in_the_help_of_a_command_is_one_that_it_takes(name: str, run: Run) -> None:
    table = CLOUD_COMMANDS if " " in name else COMMANDS
    example = table[name.rpartition(" ")[2]][2]
    words = [*name.split()[:-1], *shlex.split(example)]
    shown = " ".join(run(*name.split(), "--help").stdout.split())
    assert " ".join(["Example: engram", *name.split()[:-1], example]) in shown
    command: click.Command = cli
    ctx = click.Context(cli, info_name="engram")
    while isinstance(command, click.Group) and words:
        _, inner, words = command.resolve_command(ctx, words)
        assert inner is not None
        command, ctx = inner, click.Context(inner, info_name=inner.name, parent=ctx)
    command.make_context(command.name, words, parent=ctx.parent)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        pytest.param(["serach", "x"], "Did you mean 'search'?", id="transposed"),
        pytest.param(["projects", "lst"], "Did you mean 'list'?", id="of-a-group"),
        pytest.param(["search", "x", "--limt", "3"], "--limit", id="option"),
    ],
)
def test_what_is_typed_wrong_is_answered_with_what_it_resembles(run: Run, typed: list[str], meant: str) -> None:
    assert meant in refusal(run(*typed), code=2)
    assert "Did you mean" not in refusal(run("xyzzy"), code=2)


def test_the_version_is_said_in_both_forms(run: Run) -> None:
    said = answer(run("version", "--json"))
    assert said["version"] == __version__
    assert run("version").stdout == f"{__version__} ({said['commit'][:8]})\n"  # of the checkout that the tests are in
    assert __version__ in run("--version").stdout


HEAVY = {
    "mcp", "pydantic", "git", "sqlite_utils", "rich", "anyio", "asyncio", "zoneinfo", "tempfile", "difflib", "httpx",
}  # fmt: skip
# Vectors without an embedder, and what only upkeep and saves need.
VECTORS = {
    "numpy",
    "engram_py.recall.vectors.model",
    "engram_py.recall.vectors.protocol",
    "engram_py.recall.vectors.index",
}
NOT_FOR_A_SEARCH = {"engram_py.upkeep.evaluation.evaluation", "engram_py.base.capture.redact"}

_PROBE = """
import json, sys
from engram_py.interfaces.cli.main import run
for words in json.loads(sys.argv[1]):
    sys.argv = ["engram", *words]
    try:
        run()
    except SystemExit:
        pass
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def modules(here: Path, *commands: list[str]) -> set[str]:
    """What a process has imported once it has run these."""
    probe = [sys.executable, "-c", _PROBE, json.dumps(commands)]
    done = subprocess.run(probe, capture_output=True, text=True, cwd=here, timeout=60, check=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.usefixtures("saved")
def test_a_command_imports_none_of_the_heavy_packages(here: Path) -> None:
    assert not modules(here, ["search", "tokens"]) & (HEAVY | VECTORS | NOT_FOR_A_SEARCH)
    assert not modules(here, ["save", "A title", "A text"], ["context"], ["get", "1"]) & (HEAVY | VECTORS)
    assert not modules(here, ["export", "-"], ["doctor"], ["projects", "--json"], ["cloud", "status"]) & HEAVY


def test_a_command_that_needs_no_memory_opens_none(here: Path) -> None:
    loaded = modules(here, ["version"], ["--help"], ["--version"], ["serach"])
    assert not loaded & {"sqlite3", "engram_py.app", "engram_py.base.database.store", "mcp", "pydantic", "rich"}


def test_sqlite_utils_is_imported_when_there_is_something_to_migrate(here: Path) -> None:
    assert "sqlite_utils" in modules(here, ["stats"])


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_printed(run: Run, shell: str) -> None:
    printed = run("completion", shell).stdout
    assert f"_ENGRAM_COMPLETE={shell}_complete" in printed
    assert answer(run("completion", shell, "--json")) == {"shell": shell, "script": printed.removesuffix("\n")}
    assert run("completion", f"t{shell}").exit_code == 2


@pytest.mark.parametrize(
    ("words", "last", "offered"),
    [
        pytest.param("engram", "und", {"undo", "undelete"}, id="commands"),
        pytest.param("engram projects", "re", {"rename"}, id="of-a-group"),
        pytest.param("engram cloud", "en", {"enroll"}, id="of-a-lazy-group"),
        pytest.param("engram search", "--exp", {"--explain"}, id="options"),
        pytest.param("engram completion", "z", {"zsh"}, id="choices"),
    ],
)
def test_a_shell_is_answered_what_may_follow(start: Start, words: str, last: str, offered: set[str]) -> None:
    count = str(len(words.split()))
    done = start(_ENGRAM_COMPLETE="bash_complete", COMP_WORDS=f"{words} {last}", COMP_CWORD=count)
    assert {line.partition(",")[2] for line in done.stdout.splitlines()} == offered


@pytest.mark.skipif(sys.platform == "win32" or shutil.which("bash") is None, reason="needs bash")
def test_bash_itself_takes_the_script(run: Run, tmp_path: Path) -> None:
    program = tmp_path / "engram"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m engram_py "$@"\n')
    program.chmod(0o755)
    script = run("completion", "bash").stdout
    asks = f"PATH={tmp_path}:$PATH; COMP_WORDS=(engram unsetu); COMP_CWORD=1"
    asks += "; _engram_completion engram; echo ${COMPREPLY[0]}"
    done = subprocess.run(["bash", "-c", f"{script}\n{asks}"], capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout == "unsetup\n"


def test_a_terminal_is_told_commands_wherever_something_can_be_done_next(run: Run) -> None:
    run("save", "Timeout", "5 seconds.", "--topic", "config/timeout")
    run("update", "1", "--content", "30 seconds.")

    assert run("get", "1").stdout.splitlines()[-1] == "1 earlier version; `engram history 1` shows all."
    assert run("search", "timeout").stdout.startswith("1 match. `engram get 1` shows it.\n")
    assert "`--hard` destroys it" in run("delete", "1").stdout
    assert "`engram undelete 1` brings it back" in run("get", "1").stderr


def test_a_long_history_names_the_command_that_goes_on(run: Run) -> None:
    for number in range(52):
        run("save", "Timeout", f"{number} seconds.", "--topic", "config/timeout")
    last = run("history", "1").stdout.splitlines()[-1]

    assert last.startswith("older versions: `engram history 1 --cursor ")
    shown = run(*last.removeprefix("older versions: `engram ").removesuffix("`").split()).stdout
    assert "--- version 1, of " in shown


@pytest.mark.parametrize("words", [["stats"], ["doctor", "--check", "sync_queue"]])
def test_who_does_not_sync_is_told_nothing_of_it(run: Run, data_dir: Path, words: list[str]) -> None:
    run("save", "Uses tabs", "In Go.")
    counts = re.compile(r"[0-9]+ (change|row)")
    assert not counts.search(run(*words).stdout)

    with Engram(data_dir) as app, app.store.transaction():
        values = {"server": "https://memory.example.org", "principal": "ada", "kept_in": "file"}
        app.store.insert("cloud_logins", {"id": 1, **values, "logged_in_at": "2026-01-01T00:00:00.000Z"})
    assert counts.search(run(*words).stdout)


# --- one rule for all commands ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["delete", "1", "--hard"], id="delete-hard"),
        pytest.param(["delete", "project", "widgets"], id="delete-project"),
        pytest.param(["delete", "--where", "type:manual"], id="delete-where"),
        pytest.param(["clear", "everything"], id="clear"),
        pytest.param(["projects", "merge", "gizmos", "--into", "widgets"], id="merge"),
        pytest.param(["projects", "consolidate"], id="consolidate"),
        pytest.param(["restore", "copy.db"], id="restore"),
    ],
)
def test_what_destroys_is_refused_without_a_terminal_and_names_the_option(run: Run, words: list[str]) -> None:
    run("save", "Timeout", "5 seconds.")
    run("save", "Queues", "Redis.", "--project", "gizmos")
    run("save", "Colours", "Blue.", "--project", "gizmo")
    run("backup", "copy.db")
    before = run("list", "--all").stdout
    refused = run(*words)
    assert "not_confirmed" in refused.stderr
    assert "run it again with --yes" in refused.stderr
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert run("list", "--all").stdout == before
    assert run(*words, "--yes").exit_code == 0


def test_a_relative_path_begins_at_the_working_directory(run: Run, here: Path) -> None:
    run("save", "Timeout", "5 seconds.")
    assert answer(run("backup", "copy.db", "--json"))["path"] == str(here / "copy.db")
    assert str(here / "absent.db") in refusal(run("restore", "absent.db", "--yes"))
    assert str(here / "out.json") in run("export", "out.json").stdout
    assert str(here / "absent.json") in refusal(run("import", "absent.json"))
    assert str(here / "vault") in run("vault", "init", "vault").stdout


@pytest.mark.parametrize(
    ("words", "at", "said"),
    [
        pytest.param(["reindex"], "upkeep.reindex.Reindexing.run", "what was done so far is kept", id="reindex"),
        pytest.param(["maintain"], "upkeep.maintenance.Maintenance.run", "the rest stays due", id="maintain"),
        pytest.param(
            ["import", "x.json"], "interchange.transfer.Transfer.import_file", "completely or not", id="import"
        ),
        pytest.param(["backup"], "database.backup.Backups.create", "no copy was made", id="backup"),
        pytest.param(["flush"], "distill.distilling.Distilling.flush", "the summaries so far are kept", id="flush"),
        pytest.param(["vectors", "on"], "vectors.model.fetch", "the model is not there yet", id="vectors"),
        pytest.param(
            ["collection", "update"], "documents.documents.Documents.update", "continues from there", id="collection"
        ),
    ],
)
def test_ctrl_c_says_what_was_kept(
    run: Run, monkeypatch: pytest.MonkeyPatch, words: list[str], at: str, said: str
) -> None:
    def interrupted(*args: object, **named: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"engram_py.{at}", interrupted)
    stopped = run(*words)
    assert stopped.exit_code == 1
    assert said in stopped.stderr
