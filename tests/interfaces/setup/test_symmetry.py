"""Unsetup takes away what setup wrote, byte for byte, for every agent and for a shared repository."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engram_py.interfaces.setup.agents import AGENTS, Parts, Scope, chosen
from engram_py.interfaces.setup.formats import Document
from engram_py.interfaces.setup.installing import Setup
from engram_py.interfaces.setup.machine import Launcher, Machine

from .conftest import EVERYWHERE, furnish, tree

ALL = Parts(pre_tool=True)


def everything(setup: Setup) -> dict[str, Any]:
    return tree(setup.machine.home, setup.machine.project)


@pytest.mark.parametrize(("name", "scope"), EVERYWHERE)
@pytest.mark.parametrize("files", ["none", "lf", "crlf", "bom"])
def test_a_second_setup_changes_nothing_and_every_byte_comes_back(
    setup: Setup, name: str, scope: Scope, files: str
) -> None:
    if files == "bom" and AGENTS[name].servers[scope].format == "toml":
        pytest.skip("TOML has no byte order mark")
    if files != "none":
        newline, mark = "\r\n" if files == "crlf" else "\n", "\ufeff" if files == "bom" else ""
        furnish(setup.machine, name, scope, newline=newline, mark=mark)
    before = everything(setup)

    assert setup.set_up(AGENTS[name], scope, ALL).changed
    written = everything(setup)
    assert written != before
    assert not setup.set_up(AGENTS[name], scope, ALL).changed
    assert everything(setup) == written
    setup.take_out(AGENTS[name], scope)

    assert everything(setup) == before


@pytest.mark.parametrize(("name", "scope"), EVERYWHERE)
def test_the_server_is_registered_beside_the_others_absolute_for_a_user_and_portable_in_a_project(
    setup: Setup, name: str, scope: Scope
) -> None:
    furnish(setup.machine, name, scope)
    setup.set_up(AGENTS[name], scope, Parts())

    row = AGENTS[name].servers[scope]
    text = chosen(row.paths, setup.machine).read_text(encoding="utf-8")
    whole = Document(text, row.format).get(())
    servers = whole[row.keys[0]]

    assert set(servers) == {"other", "engram"}
    command = servers["engram"].get("command", servers["engram"].get("cmd"))
    words = command if isinstance(command, list) else [command, *servers["engram"]["args"]]
    assert words == ["/opt/engram/bin/engram" if scope == "user" else "engram", "mcp"]


@pytest.mark.parametrize(("name", "scope"), EVERYWHERE)
def test_what_somebody_wrote_since_stays_and_only_our_part_goes(setup: Setup, name: str, scope: Scope) -> None:
    furnish(setup.machine, name, scope)
    before = everything(setup)
    setup.set_up(AGENTS[name], scope, ALL)
    edited = {}
    for path in [Path(one) for one in everything(setup) if one in before and Path(one).is_file()]:
        text = path.read_bytes()
        path.write_bytes(rewritten(text))
        if rewritten(text) != text:
            edited[path] = rewritten(before[str(path)][0])

    setup.take_out(AGENTS[name], scope)

    assert edited
    assert {path: path.read_bytes() for path in edited} == edited


def rewritten(text: bytes) -> bytes:
    return text.replace(b"night", b"day").replace(b"the big one", b"cheap").replace(b"rhyme", b"prose")


THEIRS = {"engram": {"command": "/usr/local/bin/engram", "args": ["mcp", "--tools=agent"]}}


@pytest.mark.parametrize(("servers_before", "mark"), [
    pytest.param(None, "", id="none"), pytest.param({}, "", id="empty"), pytest.param(THEIRS, "", id="one-of-our-name"),
    pytest.param({}, "\ufeff", id="byte-order-mark"),
])  # fmt: skip
def test_what_was_there_of_servers_comes_back_beside_what_changed_since(
    setup: Setup, servers: Path, servers_before: object, mark: str
) -> None:
    before = {"a": 1} if servers_before is None else {"a": 1, "mcpServers": servers_before}
    servers.write_text(mark + json.dumps(before))
    servers.chmod(0o640)
    setup.set_up(AGENTS["cursor"], "user", Parts())
    servers.write_text(servers.read_text().replace('"a": 1', '"a": 2'))
    assert servers.stat().st_mode & 0o777 == 0o640
    setup.take_out(AGENTS["cursor"], "user")
    assert servers.read_text().startswith(mark)
    assert json.loads(servers.read_text().removeprefix(mark)) == before | {"a": 2}


def test_originals_are_kept_for_their_owner_alone_the_latest_20_and_only_as_long_as_needed(
    setup: Setup, data_dir: Path
) -> None:
    furnish(setup.machine, "codex", "user")
    path, originals = setup.machine.home / ".codex" / "config.toml", data_dir / "setup" / "originals"
    before = path.read_bytes()
    setup.set_up(AGENTS["codex"], "user", Parts(hooks=False, instructions=False))
    [kept] = originals.iterdir()
    assert (kept.read_bytes(), kept.stat().st_mode & 0o777) == (before, 0o600)
    setup.take_out(AGENTS["codex"], "user")
    assert list(originals.iterdir()) == []

    setup.set_up(AGENTS["codex"], "user", Parts())
    ours = path.read_text()
    for number in range(25):
        path.write_text(ours.replace('"mcp"]', f'"mcp", "{number}"]'))
        setup.set_up(AGENTS["codex"], "user", Parts())
    setup.take_out(AGENTS["codex"], "user")
    texts = [one.read_text() for one in originals.iterdir()]
    assert (len(texts), any('"24"' in text for text in texts)) == (20, True)


def test_two_agents_share_an_instructions_file_until_the_last_one_goes(setup: Setup) -> None:
    shared = setup.machine.project / "AGENTS.md"
    shared.write_text("# Ours\n")
    setup.set_up(AGENTS["codex"], "project", Parts())
    setup.set_up(AGENTS["opencode"], "project", Parts())
    both = shared.read_bytes()

    setup.take_out(AGENTS["codex"], "project")
    assert shared.read_bytes() == both
    setup.take_out(AGENTS["opencode"], "project")
    assert shared.read_bytes() == b"# Ours\n"


def test_another_installation_replaces_the_entries_and_the_first_state_comes_back(
    setup: Setup, machine: Machine
) -> None:
    furnish(machine, "codex", "user")
    before = everything(setup)
    setup.set_up(AGENTS["codex"], "user", Parts())
    moved = Setup(machine, setup.data_dir, Launcher(("/home/jo/.local/bin/engram",)))
    moved.set_up(AGENTS["codex"], "user", Parts())

    texts = [(machine.home / ".codex" / name).read_text() for name in ("config.toml", "hooks.json")]
    assert all("/home/jo/.local/bin/engram" in text and "/opt" not in text for text in texts)
    moved.take_out(AGENTS["codex"], "user")
    assert everything(setup) == before


def test_files_in_a_place_that_moved_are_still_put_back(setup: Setup, data_dir: Path, machine: Machine) -> None:
    elsewhere = machine.home / "codex"
    other = Setup(
        Machine("linux", machine.home, {"CODEX_HOME": str(elsewhere)}, machine.project), data_dir, setup.start
    )
    other.set_up(AGENTS["codex"], "user", Parts())
    assert (elsewhere / "config.toml").is_file()

    setup.take_out(AGENTS["codex"], "user")

    assert not elsewhere.exists()


def test_a_setup_that_was_cut_off_can_be_taken_back(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    furnish(setup.machine, "codex", "user")
    before = everything(setup)

    def cut(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("engram_py.interfaces.setup.file_edits.replace", cut)
        with pytest.raises(KeyboardInterrupt):
            setup.set_up(AGENTS["codex"], "user", Parts())
    assert everything(setup) == before
    setup.take_out(AGENTS["codex"], "user")
    assert everything(setup) == before


def test_unsetup_without_a_manifest_takes_our_entries_out_all_the_same(
    setup: Setup, machine: Machine, tmp_path: Path
) -> None:
    furnish(machine, "gemini", "user")
    before = everything(setup)
    setup.set_up(AGENTS["gemini"], "user", Parts())
    forgetful = Setup(machine, tmp_path / "other-data", setup.start)

    forgetful.take_out(AGENTS["gemini"], "user")

    assert everything(setup) == before


@pytest.mark.parametrize("name", ["cursor", "codex"])
def test_unsetup_without_any_setup_leaves_somebody_elses_server_of_our_name(setup: Setup, name: str) -> None:
    furnish(setup.machine, name, "user")
    path = setup.machine.place(AGENTS[name].servers["user"].paths[0])
    theirs = '\n[mcp_servers.engram]\ncommand = "/srv/engram"\n'
    if name == "cursor":
        theirs = '{"mcpServers": {"engram": {"command": "/srv/engram", "env": {"A": "B"}}, "x": {"command": "x"}}}'
    path.write_text(theirs)
    before = everything(setup)

    done = setup.take_out(AGENTS[name], "user")

    assert everything(setup) == before
    assert not done.changed
    assert [step.note for step in done.steps if step.note] == [
        "left: the server engram (/srv/engram), which setup did not write; remove it by hand"
    ]


@pytest.mark.parametrize("again", ["setup", "unsetup"])
@pytest.mark.parametrize(
    ("file", "ours", "edited"),
    [
        pytest.param("config.toml", 'args = ["mcp"]', 'args = ["mcp", "--tools", "all"]', id="server"),
        pytest.param("AGENTS.md", "## Memory", "## Memory\n\nNever push to main.", id="text"),
        pytest.param("hooks.json", '"timeout": 15', '"timeout": 99', id="hook"),
    ],
)
def test_what_somebody_edited_in_our_part_is_kept_before_it_goes(
    setup: Setup, again: str, file: str, ours: str, edited: str
) -> None:
    setup.set_up(AGENTS["codex"], "user", Parts())
    path = setup.machine.home / ".codex" / file
    assert ours in path.read_text()
    path.write_text(path.read_text().replace(ours, edited))
    text = path.read_text()

    one = AGENTS["codex"]
    done = setup.set_up(one, "user", Parts()) if again == "setup" else setup.take_out(one, "user")
    [note] = [step.note for step in done.steps if step.note]
    setup.take_out(one, "user")

    assert not path.exists() or edited not in path.read_text()
    assert "our part was edited" in note
    assert Path(note.rpartition(" kept as ")[2]).read_text() == text


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("before", ["", 'model = "o4"\n', '[mcp_servers.first]\ncommand = "a"\n'])
@pytest.mark.parametrize("table", ["", '[mcp_servers.other]\ncommand = "x"\n', '[other]\nx = """\n# no comment\n"""\n'])
def test_a_comment_below_our_table_stays(setup: Setup, before: str, table: str, newline: str) -> None:
    path = setup.machine.home / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_bytes(before.replace("\n", newline).encode())
    setup.set_up(AGENTS["codex"], "user", Parts())
    theirs = f"# keep: rotate it monthly\n# and tell Ada\n\n{table}".replace("\n", newline).encode()
    path.write_bytes(path.read_bytes() + newline.encode() + theirs)

    setup.take_out(AGENTS["codex"], "user")

    left = path.read_bytes()
    assert left.endswith(theirs)
    assert left.removesuffix(theirs).strip() == before.replace("\n", newline).strip().encode()
    tomllib.loads(left.decode())


SHARED = [name for name, agent in AGENTS.items() if "project" in agent.servers]


@pytest.fixture
def here(machine: Machine, data_dir: Path, tmp_path: Path) -> Setup:
    """Engram in a virtual environment of this machine, with its memory in a place of its own."""
    start = Launcher((str(tmp_path / "venv" / "bin" / "engram"),), ("--data-dir", str(data_dir)))
    return Setup(machine, data_dir, start)


def test_the_command_of_a_project_is_the_one_on_everybodys_path(here: Setup) -> None:
    done = here.set_up(AGENTS["cursor"], "project", Parts())

    servers = json.loads((here.machine.project / ".cursor" / "mcp.json").read_text())["mcpServers"]
    assert servers["engram"] == {"command": "engram", "args": ["mcp"]}
    hooks = json.loads((here.machine.project / ".cursor" / "hooks.json").read_text())["hooks"]
    assert hooks["sessionStart"][0]["command"] == "engram hook session-start --agent cursor"
    assert "`engram` is not on the PATH here" in done.note
    assert "ENGRAM_DATA_DIR" in done.note


@pytest.mark.parametrize("name", SHARED)
def test_what_an_earlier_version_wrote_with_its_path_is_made_portable_and_comes_back(
    here: Setup, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    furnish(here.machine, name, "project")
    before = tree(here.machine.project)
    with monkeypatch.context() as earlier:
        earlier.setattr(Launcher, "shared", lambda self: self)
        here.set_up(AGENTS[name], "project", Parts())

    here.set_up(AGENTS[name], "project", Parts())
    texts = [path.read_text() for path in here.machine.project.rglob("*") if path.is_file()]
    assert not any(str(tmp_path) in text for text in texts)
    here.take_out(AGENTS[name], "project")

    assert tree(here.machine.project) == before


def test_whoever_cloned_what_another_set_up_can_take_it_out(here: Setup, tmp_path: Path) -> None:
    path = here.machine.project / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text('{"mcpServers": {"other": {"command": "npx"}}}\n')
    here.set_up(AGENTS["cursor"], "project", Parts(hooks=False, instructions=False))
    colleague = replace(here, data_dir=tmp_path / "colleague", start=Launcher(("/elsewhere/engram",)))

    colleague.take_out(AGENTS["cursor"], "project")

    assert json.loads(path.read_text()) == {"mcpServers": {"other": {"command": "npx"}}}


@pytest.mark.parametrize(
    ("name", "scope", "said"),
    [
        ("gemini", "project", "until you trust the folder"),
        ("qwen", "project", "until you trust the folder"),
        ("codex", "project", "trust"),
        ("pi", "user", "pi install npm:pi-mcp-adapter"),
    ],
)
def test_what_to_do_besides_is_said(here: Setup, name: str, scope: Scope, said: str) -> None:
    assert said in here.set_up(AGENTS[name], scope, Parts(hooks=False)).note
    assert here.set_up(AGENTS["gemini"], "user", Parts()).note == ""
