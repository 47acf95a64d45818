"""The search index follows every door that writes: afterwards it is what a rebuild would make of the rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from click.testing import CliRunner
from mcp import Client

from engram_py import Draft, Engram
from engram_py.base.settings import Settings
from engram_py.interfaces.cli.main import cli
from engram_py.interfaces.http.mcp_endpoint import build_server
from engram_py.memory.observations.values import Change
from tests.upkeep.index_contents import contents

Door = Callable[[Path, Path], None]

FIRST = ("Chose getUserById", "src/auth/user_store.py reads rate_limit; 令牌的有效期 in Zürich.")
LEARNINGS = "## Key Learnings\n\n- The rateLimit of getUserById is per user\n- 令牌 expire in fifteen minutes\n"


def python(data_dir: Path, folder: Path) -> None:
    with Engram(settings=Settings(data_dir), directory=folder) as app:
        first = app.save(Draft(*FIRST, topic_key="auth/user-store", aliases=("kontoSuche", "有效期")))
        app.save(Draft("Chose fetchUser", "Another text of userStore.", topic_key="auth/user-store"))
        again = app.save(Draft("Said twice", "The same words.", aliases=("firstAlias",)))
        app.save(Draft("Said twice", "The same words.", aliases=("secondAlias",)))
        app.observations.update(again.id, Change(find="same", replace="otherWords"))
        app.observations.update(again.id, Change(topic_key="notes/said_twice", scope="personal"))
        app.observations.pin(first.id)
        app.observations.mark_reviewed(first.id)
        for hard in (False, True):
            gone = app.save(Draft(f"Gone {hard}", "goneWords of it."))
            app.observations.delete(gone.id, hard=hard)
        app.sessions.start("s-1")
        app.episodes.summarize("Built the rateLimit of auth.", session_id="s-1")
        app.episodes.summarize("Built the quotaLimit of auth.", session_id="s-1")
        app.episodes.capture(LEARNINGS, session_id="s-1")
        app.sessions.end("s-1")
        app.prompts.save("Why does getUserById fail?")
        app.prompts.delete(app.prompts.save("Forget the quotaLimit.").id)
        app.save(Draft("Held by both", "gizmoText", topic_key="held/both"), project="gizmos")
        app.save(Draft("Held by both", "widgetText", topic_key="held/both"))
        app.merging.merge(["gizmos"], "widgets")


def tools(data_dir: Path, folder: Path) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("mem_session_start", {"id": "s-2"}),
        ("mem_save", {"title": FIRST[0], "content": FIRST[1], "aliases": ["kontoSuche"], "topic_key": "auth/users"}),
        ("mem_save", {"title": "Revised", "content": "fetchUser now.", "topic_key": "auth/users"}),
        ("mem_save", {"title": "To be gone", "content": "goneWords here."}),
        ("mem_update", {"id": 1, "find": "fetchUser", "replace": "loadUser"}),
        ("mem_pin", {"id": 1}),
        ("mem_delete", {"id": 2}),
        ("mem_delete", {"id": 2, "hard_delete": True}),
        ("mem_save_prompt", {"content": "Why does loadUser fail?"}),
        ("mem_capture_passive", {"content": LEARNINGS}),
        ("mem_session_summary", {"content": "Built loadUser."}),
        ("mem_save", {"title": "Elsewhere", "content": "gizmoText", "project": "gizmos"}),
        ("mem_merge_projects", {"from": "gizmos", "to": "widgets"}),
        ("mem_session_end", {"id": "s-2", "summary": "Done with loadUser."}),
    ]

    async def talk() -> None:
        async with Client(build_server(Settings(data_dir), tools="all")) as client:
            for tool, arguments in calls:
                result = await client.call_tool(tool, arguments)
                assert not result.is_error, (tool, result.content)

    anyio.run(talk)


def commands(data_dir: Path, folder: Path) -> None:
    export, backup = folder / "out.json", folder / "copy.db"
    lines: list[list[str]] = [
        ["save", *FIRST, "--alias", "kontoSuche", "--topic", "auth/users"],
        ["save", "Revised", "fetchUser now.", "--topic", "auth/users"], ["save", "To be gone", "goneWords here."],
        ["update", "1", "--title", "Revised again to loadUser"], ["pin", "1"], ["backup", str(backup)], ["delete", "2"],
        ["delete", "2", "--hard", "--yes"], ["save", "Elsewhere", "gizmoText", "--project", "gizmos"],
        ["projects", "merge", "gizmos", "--into", "widgets", "--yes"],
        ["export", str(export)], ["restore", str(backup), "--yes"], ["import", str(export)],
        ["search", "loadUser"], ["get", "1"], ["eval", "add", "which user", "1"], ["eval"],
        ["doctor", "--fix"],
    ]  # fmt: skip
    for words in lines:
        result = CliRunner().invoke(cli, words)
        assert result.exit_code == 0, (words, result.output)


def imports(data_dir: Path, folder: Path) -> None:
    """Engram's own export: new rows, a newer text of one that is here, a topic that is held here, a deleted row."""

    def row(number: int, title: str, content: str, **fields: Any) -> dict[str, Any]:
        moment = f"2030-01-0{number} 10:00:00"
        common = {"id": number, "sync_id": f"obs-{number:016x}", "session_id": "s-3", "project": "widgets"}
        times = {"created_at": moment, "updated_at": moment}
        return {
            **common,
            **times,
            "title": title,
            "content": content,
            "project": "widgets",
            "scope": "project",
            **fields,
        }

    session = {"id": "s-3", "project": "widgets", "directory": "", "started_at": "2030-01-01 10:00:00"}
    rows = [
        row(1, *FIRST),
        row(2, "Held by both", "importedText of it.", topic_key="held/both"),
        row(3, "Deleted there", "goneWords", deleted_at="2030-01-03 10:00:00"),
    ]
    prompt = {"id": 1, "sync_id": "prompt-1", "session_id": "s-3", "content": "Why does loadUser fail?",
              "project": "widgets", "created_at": "2030-01-01 10:00:00"}  # fmt: skip
    document = {"version": "0.1.0", "exported_at": "2030-01-04 10:00:00", "sessions": [session], "prompts": [prompt]}
    file = folder / "engram.json"
    with Engram(settings=Settings(data_dir), directory=folder) as app:
        app.save(Draft("Held by both", "Our text of heldText.", topic_key="held/both"))
        for texts in (rows, [row(4, *FIRST), {**row(5, "A newer loadUser", "newerText"), "sync_id": f"obs-{1:016x}"}]):
            file.write_text(json.dumps(document | {"observations": texts}), encoding="utf-8")
            assert app.transfer.import_file(file).observations.invalid == 0


@pytest.mark.parametrize("door", [python, tools, commands, imports])
def test_the_index_is_what_a_rebuild_makes_of_the_rows(
    data_dir: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, door: Door
) -> None:
    monkeypatch.chdir(folder)
    door(data_dir, folder)

    with Engram(settings=Settings(data_dir), directory=folder) as app:
        held = contents(app)
        rebuilt = app.reindexing.run()

        assert contents(app) == held
        assert rebuilt.rewritten == 0
        assert rebuilt.observations > 1
        assert app.doctor.examine(check="search_index").status == "ok"
