"""A secret given to a real server, through every argument that takes text, is in no byte it leaves behind."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engram_py.base.errors import EngramError
from engram_py.interfaces.web.access import Access
from engram_py.memory.privacy.signatures import Keyring
from engram_py.sharing.sync.autosync.login import store_token, stored_token
from tests import forked

LETTERS = "q7Wm2Zx9Kd4Rt8Vb1Nc6Hy3Jf5Lg0Ps"

# Every value is unique to the argument it is given in, so that a leak names its door.
SHAPES: dict[str, Callable[[str], str]] = {
    "github": lambda mark: "gh" + "p_" + (mark + LETTERS)[:36],
    "aws": lambda mark: "AK" + "IA" + (mark + LETTERS).upper()[:16],
    "private": lambda mark: f"{mark}OfTheCustomerNobodyMayKnow",
    "password": lambda mark: f"{mark}-{LETTERS[:12]}!",
    "url": lambda mark: f"{mark}{LETTERS[:10]}",
    "key_block": lambda mark: mark + LETTERS * 2,
}
SENTENCES = {
    "github": "token {}",
    "aws": "the access key {} of the account",
    "private": "before <private>{}</private> after",
    "password": 'password = "{}"',
    "url": "postgres://admin:{}@db.internal/main",
    "key_block": "-----BEGIN RSA PRIVATE" + " KEY-----\n{}\n-----END RSA PRIVATE" + " KEY-----",
}


class Secrets:
    """Makes text with secrets in it, and remembers them."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}

    def text(self, door: str, *kinds: str) -> str:
        """A text with a secret of each kind (all of them when none is named) that only ``door`` was given."""
        parts = []
        for kind in kinds or SHAPES:
            secret = SHAPES[kind](f"m{len(self.known):03d}x")
            self.known[f"{kind} in {door}"] = secret
            parts.append(SENTENCES[kind].format(secret))
        return f"Things learned about {door}: " + " and ".join(parts)


class Server:
    """``engram mcp`` with every tool, spoken to in lines of JSON-RPC."""

    def __init__(self, folder: Path, data_dir: Path, log: Path) -> None:
        environment = os.environ | {"ENGRAM_LOG_LEVEL": "debug", "ENGRAM_DATA_DIR": str(data_dir)}
        streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with log.open("wb") as stderr:
            self.process = forked.Server(["mcp", "--tools=all"], cwd=folder, env=environment, stderr=stderr, **streams)
        self.number = 0
        client = {"name": "test", "version": "1"}
        opening = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        self.request("initialize", opening)
        self._send({"method": "notifications/initialized"})

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n")
        self.process.stdin.flush()

    def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdout is not None
        self.number += 1
        self._send({"id": self.number, "method": method, "params": params})
        while line := self.process.stdout.readline():
            answer: dict[str, Any] = json.loads(line)
            if answer.get("id") == self.number:
                return answer
        raise AssertionError("the server ended")

    def call(self, name: str, **arguments: Any) -> tuple[str, bool]:
        """The text a tool answers, and whether it is a refusal."""
        result = self.request("tools/call", {"name": name, "arguments": arguments})["result"]
        return "\n".join(part["text"] for part in result["content"]), bool(result.get("isError"))

    def value(self, name: str, **arguments: Any) -> dict[str, Any]:
        text, refused = self.call(name, **arguments, response_format="json")
        assert not refused, text
        value: dict[str, Any] = json.loads(text)
        return value

    def close(self) -> None:
        self.process.communicate(timeout=30)


@pytest.fixture
def server(folder: Path, data_dir: Path, tmp_path: Path) -> Iterator[Server]:
    started = Server(folder, data_dir, tmp_path / "stderr.log")
    yield started
    started.close()
    assert started.process.returncode == 0


def tell_everything(server: Server, secrets: Secrets) -> None:
    """Use every tool that takes text, with secrets in all of it; refused calls are part of it."""
    saved = server.value(
        "mem_save",
        title=secrets.text("title", "github", "password", "url", "private"),
        content=secrets.text("content"),
        topic_key="decision/" + secrets.text("topic_key", "github"),
        aliases=[secrets.text("first alias", "aws"), secrets.text("second alias", "github", "private")],
        type=secrets.text("type", "private"),
        tool_name=secrets.text("tool_name", "github"),
    )
    other = server.value("mem_save", title="Another", content=secrets.text("content of another"))
    server.value("mem_save", title="Another", content=secrets.text("a revision"), topic_key=saved["topic_key"])
    server.value("mem_update", id=other["id"], title=secrets.text("new title", "github", "url"))
    server.value("mem_update", id=other["id"], content="Needle. " + secrets.text("new content"))
    server.value("mem_update", id=other["id"], find="Needle", replace=secrets.text("replace"))
    server.value("mem_update", id=other["id"], topic_key="x/" + secrets.text("new topic_key", "github"))
    assert server.call("mem_update", id=other["id"], find=secrets.text("find"), replace="nothing")[1]
    server.value("mem_save_prompt", content=secrets.text("prompt"))
    server.value("mem_session_start", id="session-1")
    server.value("mem_session_summary", content=secrets.text("session summary"), session_id="session-1")
    server.value("mem_session_end", id="session-1", summary=secrets.text("last words"))
    learnings = f"## Key Learnings\n\n1. {secrets.text('learning', 'github', 'aws', 'password', 'url', 'private')}\n"
    assert server.value("mem_capture_passive", content=learnings, source=secrets.text("source", "aws"))["saved"] == 1
    judge(server, secrets, saved["id"], other["id"])
    server.value("mem_identity", action="add", text=secrets.text("statement", "github", "password", "url", "private"))
    server.call("mem_identity", action="add", text=secrets.text("a refused statement") + "!" * 500)
    server.call("mem_identity", action="remove", text=secrets.text("a statement to remove"))
    server.value("mem_identity", action="profile", text=secrets.text("profile"))
    for name, text in (
        ("json", json.dumps({"state": secrets.text("state", "github")})),
        ("text", secrets.text("state")),
    ):
        server.value("mem_checkpoint", action="save", content=text, session=name + secrets.text("session", "github"))
    for query in (secrets.text("query"), secrets.text("short query", "github")):
        server.call("mem_search", query=query)
    server.call("mem_suggest_topic_key", title=secrets.text("suggestion"))
    server.call("mem_save", title="", content=secrets.text("a refused save"))
    server.call("mem_save", title="Bad\0", content=secrets.text("a save with a NUL"), scope="team")
    server.call("mem_save", titel=secrets.text("a misspelt argument"), content=secrets.text("beside it"))
    server.request("tools/call", {"name": secrets.text("tool name"), "arguments": {"content": secrets.text("lost")}})


def judge(server: Server, secrets: Secrets, one: int, other: int) -> None:
    compared = server.value(
        "mem_compare",
        memory_id_a=one,
        memory_id_b=other,
        relation="related",
        confidence=0.9,
        reasoning=secrets.text("reasoning", "github"),
        model=secrets.text("model", "github"),
    )
    server.value(
        "mem_judge",
        judgment_id=compared["sync_id"],
        relation="supersedes",
        reason=secrets.text("reason"),
        evidence=secrets.text("evidence"),
    )


def leaks(secrets: Secrets, files: list[Path]) -> list[str]:
    """Which secret is in which file, in whatever case: the index stores words in lower case."""
    contents = {file.name: file.read_bytes().lower() for file in files}
    return [
        f"{what}: {name}"
        for what, secret in secrets.known.items()
        for name, content in contents.items()
        if secret.lower().encode() in content
    ]


def test_a_secret_is_in_no_byte_of_the_database_its_log_the_backup_the_export_or_stderr(
    server: Server, folder: Path, data_dir: Path, tmp_path: Path
) -> None:
    secrets = Secrets()
    tell_everything(server, secrets)
    for command in (["backup", str(tmp_path / "copy.db")], ["export", str(tmp_path / "export.json")]):
        assert forked.run(command, stdin=b"", cwd=folder, environ={})[0] == 0

    files = [*data_dir.rglob("*"), tmp_path / "copy.db", tmp_path / "export.json", tmp_path / "stderr.log"]
    names = {file.name for file in files}
    assert names >= {"engram.db", "engram.db-wal", "engram.db-shm"}
    assert b"[redacted" in (data_dir / "engram.db-wal").read_bytes().lower()  # what was around them is there
    assert len(secrets.known) > 80
    assert leaks(secrets, [file for file in files if file.is_file()]) == []


def engram(folder: Path, data_dir: Path, *command: str, told: object = None, **environment: str) -> str:
    """Run ``engram`` in a folder, whatever it answers; its standard output."""
    given = {"ENGRAM_DATA_DIR": str(data_dir)} | environment
    text = json.dumps(told) if told is not None else ""
    return forked.run(command, stdin=text.encode(), cwd=folder, environ=given)[1].decode()


def git(folder: Path, *command: str) -> None:
    person = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    subprocess.run(["git", *command], cwd=folder, env=os.environ | person, check=True, capture_output=True)


class Tokens(Secrets):
    """Makes names of one token each, which may name a file, a branch or a project."""

    def name(self, door: str) -> str:
        secret = SHAPES["github"](f"m{len(self.known):03d}x")
        self.known[f"name of {door}"] = secret
        return secret


def everything_below(data_dir: Path) -> list[Path]:
    return [path for path in data_dir.rglob("*") if path.is_file()]


def names_below(data_dir: Path) -> str:
    return "\n".join(map(str, data_dir.rglob("*"))).lower()


def test_a_secret_in_what_a_repository_names_is_in_no_byte_of_the_memory(folder: Path, data_dir: Path) -> None:
    names = Tokens()
    (folder / "docs" / names.name("a folder")).mkdir(parents=True)
    for path in (f"docs/{names.name('a document')}.md", f"docs/{names.name('a folder of documents')}/a.md"):
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text("# Pool\n\nThe pool size is ten because the database allows eleven.\n")
    source = names.name("a source file") + ".py"
    (folder / source).write_text("one = 1\n")
    git(folder, "init", "-q")
    git(folder, "checkout", "-q", "-b", "fix/" + names.name("a branch"))
    git(folder, "remote", "add", "origin", f"https://{names.name('a remote')}@github.com/a/{names.name('its project')}")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", f"Fix the pool because of {names.name('a commit')}\n\nIt was wrong because of it.")

    engram(folder, data_dir, "save", "A pool", f"In `{source}` the size is ten.")
    found = engram(folder, data_dir, "search", "why is the pool size ten")

    assert "A pool" in found
    assert leaks(names, everything_below(data_dir)) == []


@pytest.mark.parametrize("door", ["folder", "remote", "setting", "variable", "rename", "import"])
def test_a_secret_names_no_project_at_any_door(folder: Path, data_dir: Path, tmp_path: Path, door: str) -> None:
    names = Tokens()
    secret, environment = names.name(door), {}
    if door == "folder":
        folder = tmp_path / secret
        folder.mkdir()
    elif door == "remote":
        git(folder, "init", "-q")
        git(folder, "remote", "add", "origin", f"https://github.com/a/{secret}")
    elif door == "setting":
        (folder / ".engram.json").write_text(json.dumps({"project": secret}))
    elif door == "variable":
        environment = {"ENGRAM_PROJECT": secret}
    engram(folder, data_dir, "save", "One", "two", **environment)
    if door == "rename":
        engram(folder, data_dir, "projects", "rename", folder.name, secret)
    elif door == "import":
        rows = {"sessions": [{"id": "s", "project": secret, "directory": "", "started_at": "2026-01-01 00:00:00"}]}
        file = tmp_path / "export.json"
        file.write_text(json.dumps({"version": "1", "observations": [], "prompts": []} | rows))
        engram(folder, data_dir, "import", str(file))

    assert leaks(names, everything_below(data_dir)) == []


def test_a_secret_in_a_vault_file_or_in_names_that_a_tool_gives_is_not_kept(
    server: Server, data_dir: Path, folder: Path
) -> None:
    names = Tokens()
    text, refused = server.call("mem_write", path="k.md", content=f"token {names.name('the text of a vault file')}")
    assert not refused
    assert "redacted 1" in text
    assert server.call("mem_write", path=f"notes/{names.name('a vault file')}.md", content="one")[1]
    predicate = f"knows_{names.name('a predicate')}".lower()
    server.call("mem_entity", action="link", subject="ada", predicate=predicate, object="bob")
    engram(folder, data_dir, "vault", "init", str(folder.parent / names.name("the folder of a vault")))
    engram(folder, data_dir, "collection", "add", str(folder), "--context", names.name("a context"))

    assert leaks(names, everything_below(data_dir)) == []
    assert not any(secret.lower() in names_below(data_dir) for secret in names.known.values())


def test_a_secret_in_what_a_hook_could_not_store_is_not_in_the_spool_or_the_log(folder: Path, data_dir: Path) -> None:
    names = Tokens()
    engram(folder, data_dir, "save", "One", "two")
    where = folder.parent / names.name("the folder of a session")
    where.mkdir()
    transcript = str(where / f"{names.name('a transcript')}.jsonl")
    event = {"session_id": names.name("a session"), "cwd": str(where), "transcript_path": transcript}
    with contextlib.closing(sqlite3.connect(data_dir / "engram.db", isolation_level=None)) as other:
        other.execute("begin immediate")
        for hook in ("user-prompt", "session-end", names.name("an event")):
            prompt = f"Use {names.name(f'the prompt of {len(names.known)}')} there"
            engram(folder, data_dir, "hook", hook, "--agent", "claude-code", told=event | {"prompt": prompt})
        assert list((data_dir / "spool").glob("*.json"))
        assert leaks(names, everything_below(data_dir)) == []
        other.execute("rollback")
    engram(folder, data_dir, "hook", "session-start", "--agent", "claude-code", told=event)

    assert leaks(names, everything_below(data_dir)) == []


def _login_token(data_dir: Path) -> str:
    store_token(data_dir, "https://team.example", "engram_token")
    return stored_token(data_dir, "https://team.example", "file")


READERS: dict[str, Callable[[Path], object]] = {
    "http.token": lambda data_dir: Access(data_dir).bearer(),
    "page.key": lambda data_dir: Access(data_dir).form_token("visitor"),
    "sync/device.key": lambda data_dir: Keyring(data_dir).person.to_bytes(),
    "cloud-token.json": lambda data_dir: (
        stored_token(data_dir, "https://team.example", "file") or _login_token(data_dir)
    ),
}


@pytest.mark.skipif(os.name != "posix", reason="no modes there")
@pytest.mark.parametrize("name", READERS)
def test_a_secret_file_that_others_may_read_is_closed_and_one_that_they_may_write_is_refused(
    data_dir: Path, name: str
) -> None:
    data_dir.mkdir(mode=0o700)
    secret, file = READERS[name](data_dir), data_dir / name
    file.chmod(0o644)
    assert READERS[name](data_dir) == secret
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o660)
    if name == "cloud-token.json":
        assert stored_token(data_dir, "https://team.example", "file") == ""
        return
    with pytest.raises(EngramError, match="other accounts could write"):
        READERS[name](data_dir)
