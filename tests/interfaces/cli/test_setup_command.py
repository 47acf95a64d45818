"""``engram setup`` and ``engram unsetup`` as somebody types them, in a home of their own."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from engram_py.interfaces.cli.setup import _restart
from engram_py.interfaces.setup.agents import AGENTS
from engram_py.interfaces.setup.installing import PLUGIN_STEP, Done, Step
from engram_py.recall.vectors import model
from engram_py.recall.vectors.model import LANES, Lane
from tests.interfaces.cli.conftest import Run, answer, refusal
from tests.interfaces.cli.terminal import in_terminal, needs_terminal
from tests.interfaces.setup.conftest import tree
from tests.recall.vectors import test_embedders

index, sentence = test_embedders.index, test_embedders.sentence


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with Cursor and Codex in it, and no program on the PATH but the system's own."""
    home = tmp_path / "home"
    (home / ".cursor").mkdir(parents=True)
    (home / ".codex").mkdir()
    (home / ".cursor" / "mcp.json").write_text('{\n  "mcpServers": {} // none yet\n}\n')
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.setenv("PATH", str(tmp_path / "no-programs"))
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    return home


def test_setup_alone_shows_what_is_here_and_how_to_go_on(run: Run, home: Path, data_dir: Path) -> None:
    before = tree(home)
    shown = run("setup").stdout
    assert [line.split()[0] for line in shown.splitlines()[:-1]] == ["cursor", "codex"]
    assert "engram setup --all-detected --yes" in shown
    assert "--yes" in run("setup", "--all-detected").stdout
    assert tree(home) == before
    assert not data_dir.exists()


def test_all_detected_sets_up_every_agent_that_is_here_and_all_takes_them_out(run: Run, home: Path) -> None:
    before = tree(home)
    assert all(name in refusal(run("setup", "emacs")) for name in AGENTS)
    done = answer(run("setup", "--all-detected", "--yes", "--json"))
    assert [(one["agent"], {step["kind"] for step in one["steps"]}) for one in done["agents"]] == [
        ("cursor", {"changed", "created"}),
        ("codex", {"created"}),
    ]
    assert "set up" in run("setup").stdout
    again = run("setup", "--all-detected", "--yes").stdout
    assert ("Cursor (user): nothing to change" in again, "Restart" in again) == (True, False)
    taken = answer(run("unsetup", "--all", "--json"))
    assert [one["agent"] for one in taken["agents"]] == ["cursor", "codex"]
    assert tree(home) == before


def test_a_dry_run_without_a_name_shows_the_difference_of_every_agent_and_asks_nothing(
    run: Run, home: Path, data_dir: Path
) -> None:
    before = tree(home)
    for words in (("setup", "--dry-run"), ("setup", "--all-detected", "--dry-run")):
        shown = run(*words).stdout
        for part in ("Cursor (user)", "Codex CLI (user)", '+    "engram": {', "+[mcp_servers.engram]"):
            assert part in shown
        assert "Restart" not in shown
    assert [one["agent"] for one in answer(run("setup", "--dry-run", "--json"))["agents"]] == ["cursor", "codex"]
    assert tree(home) == before
    assert not data_dir.exists()
    lines = run("setup", "--all-detected", "--yes").stdout.splitlines()
    assert [line for line in lines if "Restart" in line] == lines[-1:]
    assert lines[-1].startswith("Restart Cursor and Codex CLI to use Engram. ")
    after = tree(home)
    assert '-    "engram": {' in run("unsetup", "cursor", "--dry-run").stdout
    assert tree(home) == after


def test_the_next_step_lists_the_agents_and_the_commands_of_the_plugin_only_where_it_is(run: Run, home: Path) -> None:
    (home / ".qwen").mkdir()
    asking = 'Then ask: "What do you remember about this project?"'
    lines = run("setup", "cursor", "codex", "qwen", "--no-vectors").stdout.splitlines()
    assert lines[-1] == f"Restart Cursor, Codex CLI and Qwen Code to use Engram. {asking}"
    lines = run("setup", "claude-code", "--no-vectors").stdout.splitlines()
    assert lines[-1] == f"Restart Claude Code to use Engram. {asking}", "without the program there is no plugin"
    plugin = Done("claude-code", "Claude Code", "user", (Step(PLUGIN_STEP, "installed"),))
    assert _restart([plugin]).endswith(
        f"{asking} In Claude Code also: /engram:recall, /engram:save and /engram:forget."
    )


def test_one_broken_file_does_not_keep_engram_from_the_other_agents(run: Run, home: Path) -> None:
    (home / ".cursor" / "mcp.json").write_text('{"mcpServers": ')
    result = run("setup", "--all-detected", "--yes")
    assert (result.exit_code, "mcp.json was left alone" in result.stderr) == (1, True)
    assert "engram" in (home / ".codex" / "config.toml").read_text()


def test_a_server_of_ours_is_not_said_to_be_yours_nor_that_of_a_project_to_be_the_users(
    run: Run, home: Path, here: Path
) -> None:
    run("setup", "cursor")
    path = home / ".cursor" / "mcp.json"
    path.write_text(path.read_text().replace('"mcp"', '"mcp", "--profile", "all"'))
    assert "your server" not in run("setup", "cursor").stdout
    run("unsetup", "cursor")
    run("setup", "cursor", "--scope", "project")
    assert answer(run("unsetup", "--all", "--json"))["agents"][0]["scope"] == "project"
    assert list(here.iterdir()) == []


def test_the_difference_says_where_a_file_ends_without_a_line_end(run: Run, home: Path) -> None:
    (home / ".cursor" / "mcp.json").write_text('{\n  "mcpServers": {}\n}')
    assert "\n }\n\\ No newline at end of file\n" in run("setup", "cursor", "--dry-run").stdout


@pytest.mark.parametrize("words", [("--dry-run",), ("--all-detected", "--yes"), ()])
def test_where_no_agent_is_setup_says_so(run: Run, home: Path, words: tuple[str, ...]) -> None:
    (home / ".cursor" / "mcp.json").unlink()
    (home / ".cursor").rmdir()
    (home / ".codex").rmdir()
    assert run("setup", *words).stdout.startswith("No coding agent was found here. Known: ")


MINE = {"command": "old-engram", "args": ["mcp"], "env": {"TOKEN": "a-secret"}}


@pytest.mark.parametrize(
    ("server", "said"),
    [
        pytest.param(MINE, "old-engram mcp", id="command"),
        pytest.param({"url": "https://x.test/mcp"}, "https://x.test/mcp", id="url"),
        pytest.param({"command": 7, "args": 8}, "no command", id="numbers"),
        pytest.param("text", "of another form", id="text"),
        pytest.param({"command": "x" * 200 + "\n\u001b[2J"}, "x" * 80 + "…", id="long"),
    ],
)
def test_a_server_of_our_name_that_was_there_is_said_to_be_replaced_and_comes_back(
    run: Run, home: Path, server: object, said: str
) -> None:
    (home / ".cursor" / "mcp.json").write_text(json.dumps({"mcpServers": {"engram": server}}))
    before = tree(home)
    assert f"would replace your server engram ({said})" in run("setup", "cursor", "--dry-run").stdout
    shown = run("setup", "cursor").stdout
    assert f"\n  replaced your server engram ({said}); `engram unsetup` restores it\n" in shown
    assert "a-secret" not in shown
    run("unsetup", "cursor")
    assert tree(home) == before


def test_unsetup_of_everything_names_a_plugin_that_the_agent_installed_itself(run: Run, home: Path) -> None:
    (home / ".codex" / "config.toml").write_text('[plugins."engram@engram-py"]\nenabled = true\n')
    plugin = "engram@engram-py"
    said = f"Codex CLI still has engram from the plugin {plugin}: `codex plugin remove {plugin}` removes it."
    assert run("unsetup", "--all").stdout.splitlines()[1:] == [said]
    assert f"codex        Codex CLI (has engram from the plugin {plugin})\n" in run("setup").stdout
    assert "has engram already, from the plugin" in refusal(run("setup", "codex"))
    run("setup", "cursor")
    assert run("unsetup", "--all").stdout.splitlines()[-1] == said


def test_unsetup_says_what_is_set_up(run: Run, home: Path) -> None:
    assert "no agent was set up" in run("unsetup", "--all").stdout
    assert answer(run("unsetup", "--all", "--json"))["agents"] == []
    run("setup", "cursor")
    assert "Already set up: cursor (user)" in refusal(run("unsetup"), code=2)


def test_the_registered_server_and_hook_start_from_a_folder_that_shadows_python_modules(
    run: Run, home: Path, here: Path
) -> None:
    run("setup", "cursor")
    for name in ("json.py", "click.py", "engram_py.py"):
        (here / name).write_text("raise SystemExit('taken over')\n")
    server = json.loads((home / ".cursor" / "mcp.json").read_text().replace("// none yet", ""))["mcpServers"]["engram"]
    hook = json.loads((home / ".cursor" / "hooks.json").read_text())["hooks"]["sessionStart"][0]["command"]

    initialize = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    for command in ([server["command"], *server["args"]], ["/bin/sh", "-c", hook]):
        done = subprocess.run(command, cwd=here, input=initialize, capture_output=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        assert b"taken over" not in done.stdout + done.stderr


@needs_terminal
def test_on_a_terminal_setup_asks_about_each_agent(home: Path, here: Path) -> None:
    shown = in_terminal(80, "setup", typed="n\ny\nn\n")
    assert "Set up Cursor?" in shown
    assert "Turn on semantic search? It downloads 21 MB and adds about 40 ms to each search. [Y/n]" in shown
    assert "engram" not in (home / ".cursor" / "mcp.json").read_text()
    assert "engram" in (home / ".codex" / "config.toml").read_text()


@pytest.mark.usefixtures("home", "terminal")
@pytest.mark.parametrize("words", [("setup", "cursor"), ("init", "--force")])
def test_whoever_declines_other_words_is_not_asked_again(run: Run, words: tuple[str, ...]) -> None:
    assert "semantic search" in run(*words, stdin="n\n").stderr
    assert "semantic search" not in run(*words).stderr + run("setup", "codex").stderr
    assert run("vectors").stdout.startswith("Vectors are off")


@pytest.mark.usefixtures("home", "terminal")
@pytest.mark.parametrize("words", [("setup", "cursor"), ("init",)])
def test_whoever_agrees_has_vectors_of_everything_when_the_command_ends(
    run: Run, sentence: Lane, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setitem(LANES, "sentence", sentence)
    run("save", "Login", "The login lasts fifteen minutes.")
    said = run(*words, stdin="\n")
    assert (said.exit_code, "1 of 1 memories have vectors." in said.stderr) == (0, True)
    assert answer(run("vectors", "--json"))["embedder"] == "sentence:minilm-l6-int8"
    assert "semantic search" not in run("setup", "codex").stderr


@pytest.mark.usefixtures("home")
def test_without_a_terminal_nothing_is_fetched_and_a_line_says_how_to_get_it(
    run: Run, sentence: Lane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LANES, "sentence", sentence)
    line = "`engram vectors on` turns on semantic search. It downloads {} and adds about 40 ms to each search.\n"
    assert run("setup", "cursor").stderr == run("init").stderr == line.format("21 MB")
    with monkeypatch.context() as bare:
        bare.setattr(model, "missing", lambda *_: True)
        whole = "about 70 MB (180 MB on disk, with numpy and onnxruntime)"
        assert run("setup", "cursor").stderr == line.format(whole)
        assert "download of about 70 MB, 180 MB on disk" in " ".join(run("setup", "--help").stdout.split())
    assert run("setup", "cursor", "--no-vectors").stderr == ""
    assert answer(run("vectors", "--json"))["embedder"] == ""
    assert run("setup", "cursor", "--vectors", "--dry-run").stderr == ""
    assert "0 of 0 memories have vectors." in run("setup", "cursor", "--vectors").stderr
    assert answer(run("vectors", "--json"))["embedder"] == "sentence:minilm-l6-int8"


@pytest.mark.usefixtures("home", "terminal", "index")
def test_a_model_that_cannot_be_fetched_leaves_the_agent_set_up_and_search_by_words(run: Run, home: Path) -> None:
    said = run("setup", "cursor", stdin="y\n")
    assert said.exit_code == 0
    assert "could not be fetched" in said.stderr
    assert "; searches go on by words; see that this machine reaches its package index" in said.stderr
    assert "engram" in (home / ".cursor" / "mcp.json").read_text()
    assert run("setup", "cursor", "--vectors").exit_code == 1
    assert run("vectors").stdout.startswith("Vectors are off")


def test_the_hooks_of_engram_are_told_how_much_to_say(
    run: Run, home: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("protocol-mode", "claude-code").stdout == "full\n"
    run("setup", "claude-code", "--protocol", "slim")
    modes = [run("protocol-mode", name).stdout.strip() for name in ("claude-code", "codex", "nobody")]
    assert modes == ["slim", "full", "full"]

    run("setup", "claude-code", "--protocol=full")

    assert run("protocol-mode", "claude-code").stdout == "full\n"
    monkeypatch.setenv("ENGRAM_DEFER_MEMORY", "1")
    assert run("protocol-mode", "claude-code").stdout == "slim\n"
    monkeypatch.delenv("ENGRAM_DEFER_MEMORY")
    (data_dir / "protocol-mode.json").write_text("{ not json")
    assert run("protocol-mode", "claude-code").stdout == "full\n"
    refused = run("setup", "claude-code", "--protocol=slim")
    assert (refused.exit_code, (data_dir / "protocol-mode.json").read_text()) == (1, "{ not json")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(["cursor", "--pre-tool"], "Cursor has no hook before an edit", id="no-such-hook"),
        pytest.param(["gemini", "--pre-tool"], "Gemini CLI has no hook before an edit", id="hook-that-nobody-reads"),
        pytest.param(["claude-code", "--pre-tool", "--no-hooks"], "--no-hooks", id="against-no-hooks"),
        pytest.param(["claude-code", "--pre-tool", "--mcp-only"], "--mcp-only", id="against-mcp-only"),
        pytest.param(["cursor", "--protocol", "slim"], "Cursor", id="protocol-nobody-asks-for"),
        pytest.param(["windsurf", "--scope", "project"], "Windsurf", id="no-project"),
        pytest.param(["commandcode", "--scope", "project"], "Command Code", id="not-set-up-in-projects"),
    ],
)
def test_an_option_that_an_agent_cannot_use_is_refused_and_nothing_written(
    run: Run, home: Path, words: list[str], said: str
) -> None:
    before = tree(home)
    assert said in refusal(run("setup", *words))
    assert tree(home) == before


def test_all_detected_gives_the_hook_before_an_edit_to_those_that_have_one(run: Run, home: Path) -> None:
    (home / ".qwen").mkdir()
    done = run("setup", "--all-detected", "--yes", "--pre-tool", "--no-vectors")
    assert (done.exit_code, done.stderr) == (0, "")
    assert "--pretool on" in (home / ".qwen" / "settings.json").read_text()
    assert "pre-tool" not in (home / ".cursor" / "hooks.json").read_text()


def test_only_the_server_is_what_engrams_session_start_hook_asks_for(run: Run, home: Path) -> None:
    before = tree(home)
    run("setup", "claude-code", "--mcp-only")
    assert [path.name for path in home.rglob("*") if path.is_file() and str(path) not in before] == [".claude.json"]
    assert "nothing to change" in run("setup", "claude-code", "--mcp-only").stdout
    run("unsetup", "claude-code")
    assert tree(home) == before
