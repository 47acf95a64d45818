"""What agents are told while they work: by the real programs, each with a scripted model."""

from __future__ import annotations

import json

import pytest

from tests.clients.conftest import Client, Install
from tests.clients.model import Call, Json, Model
from tests.clients.test_agents import CONFIGURATION

BREAKS = "import whale_tables\nprint(whale_tables.rows())\n"
MENDED = "def rows():\n    return 3\n"
RULE = ("Use pnpm for packages", "The lock file is pnpm's.")
SAID = "Use pnpm (decision #"


def conversation(request: Json) -> str:
    """Everything that the model reads of the conversation, in any of the formats."""
    return json.dumps(request.get("messages") or request.get("input") or request.get("contents"))


def with_a_rule(client: Client, *options: str) -> None:
    saved = json.loads(client.engram("save", *RULE, "--type", "decision", "--json"))
    client.engram("guard", "add", str(saved["id"]), "--command", "npm *", "--use", "pnpm", *options)


def prints(file: str) -> str:
    return f"python3 {file}"


@pytest.fixture
def claude(install: Install) -> Client:
    client = install("claude")
    (client.home / ".claude").mkdir()
    client.engram("setup", "claude-code")
    return client


def ask_claude(client: Client, prompt: str) -> None:
    client.run("-p", prompt, "--output-format", "json", "--allowedTools", "Bash,Write")


def bash(command: str) -> Call:
    return Call("Bash", {"command": command, "description": "run it"})


def test_claude_code_is_told_what_mended_the_same_failure_in_another_session(claude: Client, model: Model) -> None:
    (claude.project / "report.py").write_text(BREAKS)
    write = Call("Write", {"file_path": str(claude.project / "whale_tables.py"), "content": MENDED})
    model.play(bash(prints("report.py")), write, bash(prints("report.py")), "It prints 3.")
    ask_claude(claude, "Print the report.")
    assert "This error was fixed" not in conversation(model.requests[1])

    (claude.project / "whale_tables.py").rename(claude.project / "lib.py")
    nested = claude.project / "other"
    nested.mkdir()
    (nested / "sums.py").write_text("# sums\n\n" + BREAKS)
    (claude.project / "lib.py").rename(claude.project / "whale_tables.py")
    model.play(bash("cd other && python3 sums.py"), "I see.")
    ask_claude(claude, "Print the sums.")
    told = conversation(model.requests[1])
    assert "No module named 'whale_tables'" in told
    assert "whale_tables.py" in told.partition("This error was fixed before")[2]
    assert "whale_tables" in claude.engram("fixes")


def test_claude_code_is_warned_before_a_command_that_a_decision_forbids(claude: Client, model: Model) -> None:
    with_a_rule(claude)
    model.play(bash("echo npm install > ran.txt; npm install --offline --dry-run || true"), "Done.")
    ask_claude(claude, "Install the packages.")
    assert (claude.project / "ran.txt").exists()
    assert SAID in conversation(model.requests[1])


def test_claude_code_does_not_run_what_a_strict_guard_denies(claude: Client, model: Model) -> None:
    with_a_rule(claude, "--strict")
    model.play(bash("npm install && touch ran.txt"), "Then pnpm.")
    ask_claude(claude, "Install the packages.")
    assert not (claude.project / "ran.txt").exists()
    assert SAID in conversation(model.requests[1])
    assert "engram guard off 1" in conversation(model.requests[1])


@pytest.fixture
def codex(install: Install, model: Model) -> Client:
    client = install("codex")
    provider = f'name = "Scripted"\nbase_url = "{model.url}/v1"\nenv_key = "OPENAI_API_KEY"\nwire_api = "responses"\n'
    own = f'model = "scripted"\nmodel_provider = "scripted"\n\n[model_providers.scripted]\n{provider}'
    (client.home / ".codex").mkdir()
    (client.home / ".codex" / "config.toml").write_text(own)
    client.engram("setup", "codex")
    return client


def ask_codex(client: Client, prompt: str) -> None:
    # As after /hooks, where a person has looked at the hooks and trusted them.
    client.run("exec", "--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox", prompt)


def test_codex_is_told_what_mended_a_failure_and_what_a_decision_forbids(codex: Client, model: Model) -> None:
    (codex.project / "report.py").write_text(BREAKS)
    run = Call("exec_command", {"cmd": prints("report.py")})
    write = Call("exec_command", {"cmd": "printf 'def rows(): return 3\\n' > whale_tables.py"})
    model.play(run, write, run, "It prints 3.")
    ask_codex(codex, "Print the report.")

    nested = codex.project / "other"
    nested.mkdir()
    (nested / "sums.py").write_text("# sums\n\n" + BREAKS)
    model.play(Call("exec_command", {"cmd": "cd other && python3 sums.py"}), "I see.")
    ask_codex(codex, "Print the sums.")
    assert "whale_tables.py" in conversation(model.requests[1]).partition("This error was fixed before")[2]

    with_a_rule(codex, "--strict")
    model.play(Call("exec_command", {"cmd": "npm install && touch ran.txt"}), "Then pnpm.")
    ask_codex(codex, "Install the packages.")
    assert not (codex.project / "ran.txt").exists()
    assert SAID in conversation(model.requests[1])


@pytest.fixture
def opencode(install: Install, model: Model) -> Client:
    client = install("opencode")
    path = client.home / ".config" / "opencode" / "opencode.jsonc"
    path.parent.mkdir(parents=True)
    path.write_text(CONFIGURATION.replace("HERE", f"{model.url}/v1"))
    client.engram("setup", "opencode")
    return client


def test_opencode_is_told_what_mended_a_failure_and_what_a_decision_forbids(opencode: Client, model: Model) -> None:
    (opencode.project / "report.py").write_text(BREAKS)
    write = Call("write", {"filePath": str(opencode.project / "whale_tables.py"), "content": MENDED})
    model.play(bash(prints("report.py")), write, bash(prints("report.py")), "It prints 3.")
    opencode.run("run", "Print the report.")

    nested = opencode.project / "other"
    nested.mkdir()
    (nested / "sums.py").write_text("# sums\n\n" + BREAKS)
    model.play(bash("cd other && python3 sums.py"), "I see.")
    opencode.run("run", "Print the sums.")
    assert "whale_tables.py" in conversation(model.requests[1]).partition("This error was fixed before")[2]

    with_a_rule(opencode)
    model.play(bash("npm install --offline --dry-run || true"), "Then pnpm.")
    opencode.run("run", "Install the packages.")
    assert SAID in conversation(model.requests[1])


def test_opencode_does_not_run_what_a_strict_guard_denies(opencode: Client, model: Model) -> None:
    with_a_rule(opencode, "--strict")
    model.play(bash("npm install && touch ran.txt"), "Then pnpm.")
    opencode.run("run", "Install the packages.")
    assert not (opencode.project / "ran.txt").exists()
    assert SAID in conversation(model.requests[1])


# What version 2 documents (opencode.ai/docs/build/plugins) and npm does not have: its hooks, called as in a session.
VERSION_2 = """
const { default: plugin } = await import(process.argv[2])
const hooks = {}
const hook = (name, call) => { hooks[name] = call }
const stream = async function* () {
  yield { type: "session.text.ended", data: { sessionID: "ses_2", text: "Then pnpm." } }
  yield { type: "session.execution.succeeded", data: { sessionID: "ses_2" } }
}
let stopped
const stops = new Promise((resolve) => { stopped = resolve })
const ctx = {
  location: { directory: process.cwd() },
  session: { hook, get: async () => ({ location: { directory: process.cwd() } }) },
  tool: { hook },
  event: { subscribe: async function* () { await stops; yield* stream() } },
}
const cleanup = await plugin.setup(ctx)
const sessionID = "ses_2"
const heard = []
const request = async () => {
  const event = { sessionID, kind: "primary", system: [] }
  await hooks.context(event)
  heard.push(event.system.map((part) => part.text))
}
await hooks.prompt({ sessionID, prompt: { text: "Please install the packages of the shop." } })
await request()
const call = { sessionID, tool: "shell", id: "call_1", input: { command: "npm install" } }
await hooks["execute.before"](call)
const done = { ...call, status: "completed", result: { content: "added 3", metadata: { exit: 0 } } }
await hooks["execute.after"](done)
heard.push(done.result.content)
await hooks.compaction({ sessionID, system: [] })
await request()
await hooks["execute.before"]({ sessionID, tool: "engram_mem_save", id: "call_2", input: { title: "x" } })
stopped()
await new Promise((resolve) => setTimeout(resolve, 1500))
await cleanup()
console.log(JSON.stringify(heard))
"""


COMPACTED = """
const { default: plugin } = await import(process.argv[2])
const client = { session: { get: async () => ({ data: {} }) } }
const hooks = await plugin.server({ client, directory: process.cwd() })
const sessionID = "ses_1"
const parts = [{ id: "prt_0123456789ab", type: "text", text: "Please install the packages of the shop." }]
await hooks["chat.message"]({ sessionID }, { message: { id: "msg_1" }, parts })
const output = { system: ["Be brief."] }
await hooks["experimental.chat.system.transform"]({ sessionID }, output)
const before = output.system.length
await hooks["experimental.session.compacting"]({ sessionID }, { context: [] })
await hooks.event({ event: { type: "session.compacted", properties: { sessionID } } })
await hooks["experimental.chat.system.transform"]({ sessionID }, output)
await hooks.dispose()
console.log(JSON.stringify([parts, before, output.system]))
"""


def test_version_1_of_opencode_is_told_after_a_compaction_what_was_kept(opencode: Client) -> None:
    with_a_rule(opencode)
    script = opencode.project / "session.mjs"
    script.write_text(COMPACTED)
    plugin = opencode.home / ".config" / "opencode" / "plugins" / "engram.js"

    parts, before, system = json.loads(opencode.run_node(str(script), str(plugin)))

    assert "Use pnpm for packages" in parts[1]["text"]
    assert (parts[1]["synthetic"], before) == (True, 1)
    assert "mem_session_summary" in system[1]


def test_the_plugin_tells_version_2_of_opencode_the_same(opencode: Client) -> None:
    with_a_rule(opencode)
    script = opencode.project / "session.mjs"
    script.write_text(VERSION_2)
    plugin = opencode.home / ".config" / "opencode" / "plugins" / "engram.js"

    began, result, compacted = json.loads(opencode.run_node(str(script), str(plugin)))

    assert "Use pnpm for packages" in "".join(began)
    assert SAID in result
    assert "mem_session_summary" in "".join(compacted)
    [session] = [one for one in json.loads(opencode.engram("sessions", "--json"))["sessions"] if one["id"] == "ses_2"]
    assert (session["agent"], session["ended_at"] is not None) == ("opencode", True)
    assert "Then pnpm." in opencode.engram("turns", "--json")


def test_gemini_is_told_what_mended_a_failure_and_what_a_decision_forbids(install: Install, model: Model) -> None:
    gemini = install("gemini")
    (gemini.home / ".gemini").mkdir()
    (gemini.home / ".gemini" / "settings.json").write_text('{"security": {"auth": {"selectedType": "gemini-api-key"}}}')
    gemini.engram("setup", "gemini")
    said = ("--approval-mode", "yolo", "--model", "gemini-2.5-pro", "--prompt")

    (gemini.project / "report.py").write_text(BREAKS)
    run = Call("run_shell_command", {"command": prints("report.py")})
    write = Call("write_file", {"file_path": str(gemini.project / "whale_tables.py"), "content": MENDED})
    model.play(run, write, run, "It prints 3.")
    gemini.run(*said, "Print the report.")

    nested = gemini.project / "other"
    nested.mkdir()
    (nested / "sums.py").write_text("# sums\n\n" + BREAKS)
    model.play(Call("run_shell_command", {"command": "cd other && python3 sums.py"}), "I see.")
    gemini.run(*said, "Print the sums.")
    assert "whale_tables.py" in conversation(model.requests[1]).partition("This error was fixed before")[2]

    with_a_rule(gemini)
    model.play(Call("run_shell_command", {"command": "npm install --offline --dry-run || true"}), "Then pnpm.")
    gemini.run(*said, "Install the packages.")
    assert SAID in conversation(model.requests[1])
