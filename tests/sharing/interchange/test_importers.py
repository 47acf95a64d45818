"""What other programs kept comes in labelled, once, and again only where it is new."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engram_py import Engram
from engram_py.base.errors import InvalidArgumentError
from engram_py.memory.projects.values import InvalidProjectError
from engram_py.sharing.interchange.importers import KINDS
from engram_py.sharing.interchange.results import Imported, InvalidExportError, InvalidSourceError
from tests.sharing.interchange.interop import database
from tests.support import FakeClock, RepoMaker, draft, names, words

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def wrote(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def kept(app: Engram) -> list[dict[str, Any]]:
    names = "type, title, content, project, origin, tool_name, session_id, created_at"
    return [dict(row) for row in app.store.rows(f"select {names} from observations order by id")]


def memory_folder(root: Path) -> Path:
    project = root / "projects" / "-home-ada-gadgets"
    wrote(project / "1.jsonl", json.dumps({"type": "summary"}) + "\n" + json.dumps({"cwd": "/gone/gadgets"}) + "\n")
    wrote(project / "memory" / "MEMORY.md", "# Memory\n- [Testing](testing.md) - how tests run\n")
    wrote(
        project / "memory" / "testing.md",
        "---\nname: testing\ndescription: How the tests run\ntype: feedback\n---\n\n"
        "Run them with pytest, never with unittest.\n",
    )
    return root / "projects"


def instructions(root: Path) -> Path:
    text = """# Widgets
Build with make, and never with the script in tools.

## Testing
```sh
# not a heading
pytest -q
```

<!-- engram:begin - `engram unsetup` removes this part -->
## Memory
Call mem_context at the start of every session, please.
<!-- engram:end -->
## Short
Hi.
"""
    wrote(root / "node_modules" / "x" / "AGENTS.md", "# Foreign\nThis text belongs to a package of others.\n")
    wrote(root / "README.md", "# Readme\nThis is not a file of instructions at all.\n")
    return wrote(root / "AGENTS.md", text).parent


def server_memory(root: Path) -> Path:
    lines: list[object] = [
        {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["likes tea", "writes Python"]},
        {"type": "entity", "name": "Engine", "entityType": "project", "observations": []},
        {"type": "relation", "from": "Ada", "to": "Engine", "relationType": "works_on"},
    ]
    return wrote(root / "memory.jsonl", "\n".join(map(json.dumps, lines)) + "\nnot json\n\n")


def basic_memory(root: Path) -> Path:
    note = """---
title: Coffee brewing
type: note
permalink: coffee-brewing
tags:
- brewing
- coffee
created: 2025-01-02T03:04:05
---
# Coffee brewing
- [method] Pour over gives clarity #brewing
- relates_to [[Grinder]]
"""
    wrote(root / "notes" / "Coffee brewing.md", note)
    return root / "notes"


def transcripts(root: Path) -> Path:
    lines = [
        {"type": "user", "uuid": "u1", "cwd": "/gone/gadgets", "timestamp": "2026-01-02T03:04:05Z",
         "message": {"role": "user", "content": f"Make the login faster, the key is {SECRET}"}},
        {"type": "assistant", "uuid": "a1", "timestamp": "2026-01-02T03:05:05Z", "message": {"role": "assistant",
         "content": [{"type": "text",
                      "text": "Done.\n\n## Key Learnings\n1. The cache must be warmed before the first request.\n"}]}},
        {"type": "user", "uuid": "u2",
         "message": {"role": "user", "content": [{"type": "tool_result", "content": "x"}]}},
    ]  # fmt: skip
    text = "\n".join(map(json.dumps, lines)) + '\n{"type": "user", "mess'
    return wrote(root / "projects" / "-gone-gadgets" / "session-1.jsonl", text).parent.parent


def claude_mem(root: Path) -> Path:
    path = root / "claude-mem.db"
    db = sqlite3.connect(path)
    db.executescript("""
        create table sdk_sessions (id integer primary key, content_session_id text, memory_session_id text,
            project text, started_at text, started_at_epoch integer);
        create table observations (id integer primary key, memory_session_id text, project text, type text,
            title text, subtitle text, narrative text, facts text, concepts text, files_read text, files_modified text,
            created_at text, created_at_epoch integer);
        create table session_summaries (id integer primary key, memory_session_id text, project text, request text,
            investigated text, learned text, completed text, next_steps text, notes text, created_at text,
            created_at_epoch integer);
        create table user_prompts (id integer primary key, content_session_id text, prompt_text text, created_at text);
    """)
    db.execute("insert into sdk_sessions values (1, 'c-1', 'm-1', 'gadgets', '2026-01-02T03:04:05Z', 1767323045000)")
    values = (1, "m-1", "gadgets", "bugfix", "Fixed the race", "Two writers", "A lock was missing.", '["one", "two"]',
              "not json", '["src/a.py"]', None, "2026-01-02T03:04:05Z", 1767323045000)  # fmt: skip
    db.execute("insert into observations values (?,?,?,?,?,?,?,?,?,?,?,?,?)", values)
    summary = (1, "m-1", "gadgets", "Fix it", "", "Locks matter.", "", "Ship it.", None, None, 1767323046000)
    db.execute("insert into session_summaries values (?,?,?,?,?,?,?,?,?,?,?)", summary)
    db.execute("insert into user_prompts values (1, 'c-1', 'Please fix the race', '2026-01-02T03:04:05Z')")
    db.commit()
    db.close()
    return path


def engram(root: Path) -> Path:
    root.mkdir(exist_ok=True)
    return database(root)


SOURCES: dict[str, Callable[[Path], Path]] = {
    "claude-memory": memory_folder,
    "claude-transcripts": transcripts,
    "instructions": instructions,
    "claude-mem": claude_mem,
    "server-memory": server_memory,
    "basic-memory": basic_memory,
    "engram": engram,
}
KIND = pytest.mark.parametrize("kind", SOURCES)


def new(done: Imported) -> tuple[int, int]:
    return done.observations.new, done.prompts.new


@KIND
def test_a_dry_run_writes_nothing_and_a_second_reading_adds_nothing(app: Engram, tmp_path: Path, kind: str) -> None:
    assert list(SOURCES) == list(KINDS)
    path = SOURCES[kind](tmp_path / "source" if kind not in ("claude-mem", "engram") else tmp_path)
    tried = app.importers.adopt(kind, path, dry_run=True)
    assert tried.warnings[0] == "dry run: nothing was written"
    for table in ("observations", "user_prompts", "sessions", "projects", "sync_mutations"):
        assert app.store.value(f"select count(*) from {table}") == 0

    first = app.importers.adopt(kind, path)
    before = app.transfer.document()
    again = app.importers.adopt(kind, path)

    assert new(tried) == new(first) != (0, 0)
    assert new(again) == (0, 0)
    assert (again.observations.newer, again.observations.invalid) == (0, 0)
    assert app.transfer.document()["observations"] == before["observations"]
    with pytest.raises(InvalidSourceError):
        app.importers.adopt(kind, tmp_path / "nowhere")


@KIND
def test_what_comes_in_says_where_it_came_from_and_can_be_filed_under_one_project(
    app: Engram, tmp_path: Path, kind: str
) -> None:
    path = SOURCES[kind](tmp_path)
    app.importers.adopt(kind, path, project="archive")

    rows = kept(app)
    assert {row["origin"] for row in rows} == {"import"}
    assert {row["project"] for row in rows} == {"archive"}
    if kind != "engram":  # which knows its own tools
        assert {row["tool_name"] for row in rows} == {f"import:{kind}"}


def test_memory_files_of_claude_code_go_to_the_project_they_were_made_in(app: Engram, tmp_path: Path) -> None:
    app.importers.adopt("claude-memory", memory_folder(tmp_path))
    [row] = kept(app)
    assert (row["title"], row["type"], row["project"]) == ("How the tests run", "preference", "gadgets")
    assert row["content"] == "Run them with pytest, never with unittest."


def test_a_transcript_gives_its_prompts_and_learnings_without_secrets(app: Engram, tmp_path: Path) -> None:
    done = app.importers.adopt("claude-transcripts", transcripts(tmp_path))
    assert (new(done), done.redacted) == ((1, 1), 1)
    [row] = kept(app)
    assert (row["type"], row["session_id"], row["created_at"]) == ("passive", "session-1", "2026-01-02T03:05:05.000Z")
    assert app.sessions.get("session-1").project == "gadgets"
    [prompt] = app.prompts.recent(all_projects=True)
    assert "Make the login faster" in prompt.content
    assert SECRET not in prompt.content


def test_the_transcript_of_a_fork_gives_only_what_was_said_in_it(app: Engram, tmp_path: Path) -> None:
    path = transcripts(tmp_path)
    copied = (path / "-gone-gadgets" / "session-1.jsonl").read_text().rpartition("\n")[0]
    own = {"type": "user", "uuid": "u9", "timestamp": "2026-01-03T03:04:05Z"}
    own["message"] = {"role": "user", "content": "Now the logout"}  # type: ignore[assignment]
    wrote(path / "-gone-gadgets" / "fork.jsonl", f"{copied}\n{json.dumps(own)}\n")
    os.utime(path / "-gone-gadgets" / "session-1.jsonl", (0, 0))

    assert new(app.importers.adopt("claude-transcripts", path)) == (1, 2)
    assert [(one.session_id, one.content[:10]) for one in app.prompts.recent(all_projects=True)] == [
        ("fork", "Now the lo"),
        ("session-1", "Make the l"),
    ]


def test_instructions_come_in_by_section_without_what_engram_wrote(app: Engram, tmp_path: Path) -> None:
    app.importers.adopt("instructions", instructions(tmp_path / "widgets2"))
    titles = [row["title"] for row in kept(app)]
    assert titles == ["AGENTS.md: Widgets", "AGENTS.md: Widgets / Testing"]
    assert "# not a heading" in kept(app)[1]["content"]
    assert {row["project"] for row in kept(app)} == {"widgets2"}


@pytest.mark.parametrize("name", [
    "target/dist/CLAUDE.md", ".claude/worktrees/wise-otter/CLAUDE.md", "packages/cli/templates/claude.md",
    "tests/fixtures/AGENTS.md", "tests/__fixtures__/a/AGENTS.md", "vendor/acme/lib/AGENTS.md",
    "third_party/x/CLAUDE.md", "{{cookiecutter.slug}}/CLAUDE.md", "starter/CLAUDE.md",
])  # fmt: skip
def test_instructions_that_git_ignores_or_that_the_project_ships_are_left_out_and_said_so(
    app: Engram, make_repo: RepoMaker, name: str
) -> None:
    repo = make_repo("rocket", commit=False)
    wrote(repo / ".gitignore", "target\n.claude/worktrees\n")
    wrote(repo / "CLAUDE.md", "# Rules\n\nAlways run the tests before a commit.\n")
    wrote(repo / "src" / "AGENTS.md", "# Sources\n\nWrite `${{ name }}` and {{name}} as they are.\n")
    heading = "# {{ project_name }}" if name.startswith("starter") else "# Pirate"
    path = wrote(repo / name, f"{heading}\n\nAnswer every question like a pirate.\n")

    done = app.importers.adopt("instructions", repo)

    assert [row["title"] for row in kept(app)] == ["CLAUDE.md: Rules", "AGENTS.md: Sources"]
    assert words(*done.warnings).startswith("left out 1 file that git ignores or that the project ships")
    assert name in words(*done.warnings)
    assert new(app.importers.adopt("instructions", path)) == (1, 0)


def test_a_folder_that_git_ignores_is_read_where_somebody_names_it(app: Engram, make_repo: RepoMaker) -> None:
    repo = make_repo("rocket", commit=False)
    wrote(repo / ".gitignore", "notes\n")
    wrote(repo / "notes" / "CLAUDE.md", "# Rules\n\nAlways run the tests before a commit.\n")
    assert new(app.importers.adopt("instructions", repo / "notes")) == (1, 0)


@pytest.mark.parametrize(("text", "title"), [
    ("# Perfume shop\n\n## Stack\nNext.js with Supabase\n\n## Rules\n- Server components\n", "Perfume shop"),
    ("## Stack\nNext.js with Supabase\n\n## Rules\n- Server components\n", "Stack, Rules"),
    ("Next.js with Supabase\n", "MEMORY"),
])  # fmt: skip
def test_a_memory_file_without_a_name_has_that_of_its_headings(
    app: Engram, tmp_path: Path, text: str, title: str
) -> None:
    wrote(tmp_path / "-home-ada-shop" / "memory" / "MEMORY.md", text)
    app.importers.adopt("claude-memory", tmp_path)
    assert [row["title"] for row in kept(app)] == [title]


def test_sections_too_short_to_keep_are_named_and_those_of_one_heading_all_kept(app: Engram, tmp_path: Path) -> None:
    path = wrote(tmp_path / "CLAUDE.md", "Hi.\n" + "".join(f"# Part {i}\nRun it.\n" for i in range(4)))
    warning = words(*app.importers.adopt("instructions", path).warnings)
    assert warning.startswith("CLAUDE.md: left out 5 sections shorter than 20 characters")
    assert "before the first heading; Part 0; Part 1 and 2 more" in warning

    text = "# A\n## Notes\nThe first part wants tabs only.\n# A\n## Notes\nThe second part is about Fridays.\n"
    app.importers.adopt("instructions", wrote(tmp_path / "AGENTS.md", text), project="widgets")
    assert [row["content"][:10] for row in kept(app)] == ["The first ", "The second"]
    again = app.importers.adopt("instructions", tmp_path / "AGENTS.md", project="widgets")
    assert new(again) == (0, 0)


def test_what_is_imported_without_a_session_is_of_today_and_of_no_recent_session(
    app: Engram, clock: FakeClock, tmp_path: Path
) -> None:
    app.save(draft("Tokens live fifteen minutes."), session_id="s-1")
    clock.advance(minutes=1)
    app.importers.adopt("instructions", instructions(tmp_path), project="widgets")

    assert {row["session_id"] for row in kept(app)} == {"s-1", "import-widgets"}
    assert app.sessions.get("import-widgets").started_at.startswith(app.journal.now()[:16])
    assert [line.id for line in app.contexts.assemble().sessions] == ["s-1"]
    assert [line.id for line in app.sessions.recent()] == ["import-widgets", "s-1"]


def test_an_entity_comes_in_with_its_facts_and_relations(app: Engram, tmp_path: Path) -> None:
    done = app.importers.adopt("server-memory", server_memory(tmp_path))
    ada, engine = kept(app)
    assert (ada["title"], ada["content"]) == ("Ada (person)", "- likes tea\n- writes Python\n- works_on Engine")
    assert engine["content"] == "Engine"
    assert done.warnings == ("line 4 was left out: neither an entity nor a relation",)


def test_a_note_of_basic_memory_keeps_its_title_tags_and_time(app: Engram, tmp_path: Path) -> None:
    app.importers.adopt("basic-memory", basic_memory(tmp_path))
    [row] = kept(app)
    assert (row["title"], row["type"], row["created_at"]) == ("Coffee brewing", "note", "2025-01-02T03:04:05.000Z")
    assert row["content"].endswith("**Tags**: brewing, coffee")


def test_claude_mem_gives_observations_summaries_and_prompts(app: Engram, tmp_path: Path) -> None:
    app.importers.adopt("claude-mem", claude_mem(tmp_path))
    race, summary = kept(app)
    assert (race["type"], race["title"], race["project"]) == ("bugfix", "Fixed the race", "gadgets")
    assert race["content"] == "Two writers\n\nA lock was missing.\n\n- one\n- two\n\n**Where**: src/a.py"
    assert (summary["type"], summary["title"]) == ("session_summary", "Fix it")
    assert "**Learned**: Locks matter." in summary["content"]
    assert app.prompts.recent(all_projects=True)[0].content == "Please fix the race"


def test_a_changed_source_revises_what_came_from_it_before_and_a_copy_is_not_kept(app: Engram, tmp_path: Path) -> None:
    folder = memory_folder(tmp_path)
    [file] = folder.rglob("testing.md")
    app.importers.adopt("claude-memory", folder)
    wrote(file.with_name("copy.md"), file.read_text())
    done = app.importers.adopt("claude-memory", folder)
    assert (done.observations.new, done.observations.skipped) == (0, 2)
    file.with_name("copy.md").unlink()
    wrote(file, "Run them with tox from now on, and with nothing else.\n")
    os.utime(file, (4_000_000_000, 4_000_000_000))

    done = app.importers.adopt("claude-memory", folder)

    assert (done.observations.new, done.observations.newer) == (0, 1)
    assert [row["content"] for row in kept(app)] == ["Run them with tox from now on, and with nothing else."]
    assert app.get(1, history=True).versions[0].content.startswith("Run them with pytest")


@pytest.mark.parametrize("kind", ["claude-mem", "engram", "server-memory"])
@pytest.mark.parametrize("content", [b"", b"\x00" * 4_096, b"SQLite format 3\x00" + b"\xff" * 500, b"[1, 2]\n"])
def test_a_file_of_another_kind_is_refused_and_left_alone(
    app: Engram, tmp_path: Path, kind: str, content: bytes
) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(InvalidSourceError) as refused:
        app.importers.adopt(kind, path)
    assert (refused.value.kind, kept(app), path.read_bytes()) == (kind, [], content)


@pytest.mark.parametrize("kind", ["instructions", "claude-memory", "basic-memory", "claude-transcripts"])
@pytest.mark.parametrize("content", [b'{"name": "rocket", "version": "1.0.0"}', b"\x7fELF\x00\x01", b"PK\x03\x04\x00"])
def test_a_named_file_of_another_kind_is_refused_with_the_code_of_a_wrong_command(
    app: Engram, tmp_path: Path, kind: str, content: bytes
) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(InvalidSourceError) as refused:
        app.importers.adopt(kind, tmp_path / "file")
    assert (refused.value.exit_code, kept(app)) == (2, [])


def test_a_kind_that_does_not_exist_and_a_project_that_is_none_are_refused(app: Engram, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError):
        app.importers.adopt("diary", tmp_path)
    with pytest.raises(InvalidProjectError):
        app.importers.adopt("instructions", instructions(tmp_path), project="../up")


def test_hostile_files_in_a_folder_are_left_out_and_said_so(app: Engram, tmp_path: Path) -> None:
    folder = basic_memory(tmp_path)
    (folder / "loop.md").symlink_to(folder / "loop.md")
    (folder / "around").symlink_to(folder, target_is_directory=True)
    os.mkfifo(folder / "pipe.md")
    (folder / "large.md").write_bytes(b"x" * (5 << 20))
    (folder / "bytes.md").write_bytes(b"\xff\xfe\x00 some \x00 text that is long enough")
    wrote(folder / "open.md", "---\ntitle: never closed\n" + "a: b\n" * 1_000)
    wrote(folder / "empty.md", "")

    done = app.importers.adopt("basic-memory", folder)

    assert words(*done.warnings).count("was left out") >= 3
    assert {row["title"] for row in kept(app)} >= {"Coffee brewing", "bytes", "open"}
    assert done.observations.invalid == 1  # there is nothing in the empty one


@pytest.mark.parametrize("kind", ["server-memory", "basic-memory", "claude-memory", "instructions", "one archive"])
def test_equal_names_of_two_projects_are_two_memories(app: Engram, tmp_path: Path, kind: str) -> None:
    for name in ("widgets2", "gadgets2"):
        root = tmp_path / name / ("memory" if kind == "claude-memory" else "")
        if kind == "server-memory":
            entity = {"type": "entity", "name": "Ada", "entityType": "person", "observations": [f"works on {name}"]}
            path = root = wrote(root / "memory.jsonl", json.dumps(entity) + "\n")
        elif kind.endswith("-memory"):
            path = wrote(root / "Ada.md", f"---\npermalink: ada\n---\n\nAda works on {name} all day long.\n")
        else:
            path = wrote(root / "AGENTS.md", f"# Rules\nThe folder {name} wants tabs and nothing else.\n")
        os.utime(path, (4_000_000_000, 4_000_000_000))
        archive = "archive" if kind == "one archive" else None
        app.importers.adopt(kind if archive is None else "instructions", root, project=archive)

    projects = ["archive"] * 2 if kind == "one archive" else ["widgets2", "gadgets2"]
    assert [row["project"] for row in kept(app)] == projects
    assert ["widgets2" in row["content"] for row in kept(app)] == [True, False]


def test_a_file_is_the_same_in_every_working_copy_of_its_repository(app: Engram, tmp_path: Path) -> None:
    texts = {"one": "It wants tabs and nothing else.", "two": "It wants spaces, for a change."}
    for year, (name, text) in enumerate(texts.items()):
        wrote(tmp_path / name / ".git" / "HEAD", "ref: refs/heads/main\n")
        wrote(tmp_path / name / ".git" / "config", '[remote "origin"]\n\turl = https://example.com/ada/gadgets.git\n')
        for folder in (".git/objects", ".git/refs"):
            (tmp_path / name / folder).mkdir()
        path = wrote(tmp_path / name / "AGENTS.md", f"# Rules\n{text}\n")
        os.utime(path, (4_000_000_000, 4_000_000_000 + year))
        app.importers.adopt("instructions", path.parent)

    assert [(row["project"], "spaces" in row["content"]) for row in kept(app)] == [("gadgets", True)]


def test_prompts_of_two_files_of_claude_mem_with_one_number_are_both_kept(app: Engram, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    app.importers.adopt("claude-mem", claude_mem(tmp_path))
    other = claude_mem(tmp_path / "b")
    with contextlib.closing(sqlite3.connect(other)) as db:
        db.execute("update user_prompts set content_session_id = 'c-2', prompt_text = 'Please fix the lock'")
        db.commit()
    assert new(app.importers.adopt("claude-mem", other))[1] == 1


def test_links_that_lead_out_of_the_source_are_left_out_and_said_so(app: Engram, tmp_path: Path) -> None:
    secret = wrote(tmp_path / "home" / "notes.md", "Account 99812 belongs to Ada and to nobody else.\n")
    root = tmp_path / "clone"
    wrote(root / "docs" / "CLAUDE.md", "# Rules\nThis folder wants tabs and nothing else.\n")
    (root / "AGENTS.md").symlink_to(secret)
    (root / "GEMINI.md").symlink_to(root / "docs" / "CLAUDE.md")

    done = app.importers.adopt("instructions", root, project="widgets")

    assert [row["content"] for row in kept(app)] == ["This folder wants tabs and nothing else."]
    assert "AGENTS.md was left out: it is a link out of" in words(*done.warnings)


@pytest.mark.parametrize("kind", ["claude-transcripts", "claude-memory"])
def test_a_pipe_among_transcripts_does_not_hold_the_import_up(app: Engram, tmp_path: Path, kind: str) -> None:
    path = transcripts(tmp_path)
    os.mkfifo(path / "-gone-gadgets" / "a.jsonl")
    wrote(path / "-gone-gadgets" / "memory" / "one.md", "The tests of this one run with pytest alone.\n")
    assert new(app.importers.adopt(kind, path)) != (0, 0)


def test_a_line_that_no_program_wrote_is_named_and_stops_no_other(app: Engram, tmp_path: Path) -> None:
    said = [{"type": "user", "uuid": f"u{i}", "message": {"role": "user", "content": f"Make part {i}"}} for i in (1, 2)]
    first, last = (json.dumps(one).encode() for one in said)
    odd = (first[:40], b"\0" * 30, b"[" * 100_000, b'"\xff"')
    path = tmp_path / "p" / "s-1.jsonl"
    path.parent.mkdir()
    path.write_bytes(b"\n".join((first, *odd, last)) + b"\n")

    done = app.importers.adopt("claude-transcripts", path)

    assert sorted(one.content for one in app.prompts.recent(all_projects=True)) == ["Make part 1", "Make part 2"]
    assert f"{path}: 4 lines cannot be read (2, 3, 4 and 1 more)" in words(*done.warnings)


def test_a_folder_that_cannot_be_listed_is_named_and_stops_no_other(
    app: Engram, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrote(tmp_path / "a" / "AGENTS.md", "Nobody may look into this folder.\n")
    wrote(tmp_path / "b" / "AGENTS.md", "The tests of this one run with pytest alone.\n")
    kept_scandir = os.scandir

    def scandir(path: str) -> object:
        if str(path) == str(tmp_path / "a"):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return kept_scandir(path)

    monkeypatch.setattr(os, "scandir", scandir)
    done = app.importers.adopt("instructions", tmp_path, project="widgets")

    assert [row["content"] for row in kept(app)] == ["The tests of this one run with pytest alone."]
    assert f"{tmp_path / 'a'} was left out: permission denied" in words(*done.warnings)


def test_notes_above_the_most_that_are_shown_are_counted(app: Engram, tmp_path: Path) -> None:
    wrote(tmp_path / "AGENTS.md", "The tests of this one run with pytest alone.\n")
    for number in range(25):
        (tmp_path / f"{number}").mkdir()
        (tmp_path / f"{number}" / "AGENTS.md").symlink_to("AGENTS.md")  # a loop

    done = app.importers.adopt("instructions", tmp_path, project="widgets")

    assert "and 5 more" in words(*done.warnings)


def test_a_prompt_that_a_hook_stored_is_not_stored_again_by_its_transcript(app: Engram, tmp_path: Path) -> None:
    line = {"type": "user", "uuid": "u1", "cwd": "/gone/gadgets"}
    said = ["Rewrite the tokenizer", "yes", "Then run the tests", "Then run the tests"]
    lines = [{**line, "uuid": f"u{i}", "message": {"role": "user", "content": one}} for i, one in enumerate(said)]
    path = wrote(tmp_path / "p" / "s-9.jsonl", "\n".join(map(json.dumps, lines)) + "\n")
    app.prompts.save(said[0], session_id="s-9", project="gadgets")

    done = app.importers.adopt("claude-transcripts", path)

    assert (done.prompts.new, done.prompts.skipped) == (1, 2)
    assert [one.content for one in app.prompts.recent(all_projects=True)] == ["Then run the tests", said[0]]
    assert app.importers.adopt("claude-transcripts", path).prompts.new == 0


def test_two_notes_of_one_permalink_and_two_entities_of_one_name_are_all_kept(app: Engram, tmp_path: Path) -> None:
    for number in (1, 2):
        wrote(tmp_path / "notes" / f"{number}.md", f"---\npermalink: kiln\n---\nKiln {number} burns hot.\n")
    entity = {"type": "entity", "name": "Ada", "entityType": "person"}
    lines = [entity | {"observations": ["likes tea"]}, entity | {"observations": ["writes\u2028Python"]}]
    graph = wrote(tmp_path / "graph.jsonl", "\n".join(json.dumps(one, ensure_ascii=False) for one in lines))

    for kind, path in (("basic-memory", tmp_path / "notes"), ("server-memory", graph)):
        assert new(app.importers.adopt(kind, path)) == (2, 0)
        assert new(app.importers.adopt(kind, path)) == (0, 0)
    said = "".join(row["content"] for row in kept(app))
    assert all(text in said for text in ("Kiln 1", "Kiln 2", "likes tea", "writes\u2028Python"))


HEADS = [
    pytest.param("title: Why the crane stops\n  at force nine\n", "Why the crane stops at force nine", id="wrapped"),
    pytest.param("title: >-\n  Folded kiln\n  title\n", "Folded kiln title", id="folded"),
    pytest.param("title: 'Don''t: stop'\n", "Don't: stop", id="single-quotes"),
    pytest.param('title: "A \\"b\\""\n', 'A "b"', id="double-quotes"),
    pytest.param("title: Glaze # the blue one\n", "Glaze", id="comment"),
    pytest.param("title: Kiln: the second\ntags: [a, b]\n", "Kiln: the second", id="no-yaml-but-meant-so"),
    pytest.param("title: [draft] Kiln\n", "[draft] Kiln", id="a-list-that-is-none"),
    pytest.param("title: 0012\n", "0012", id="no-number"),
]


@pytest.mark.parametrize(("head", "title"), HEADS)
def test_front_matter_is_read_as_yaml_and_what_is_none_as_it_stands(
    app: Engram, tmp_path: Path, head: str, title: str
) -> None:
    wrote(tmp_path / "notes" / "a.md", f"---\n{head}---\nThe body.\n")
    app.importers.adopt("basic-memory", tmp_path / "notes")
    assert (kept(app)[0]["title"], kept(app)[0]["content"].split("\n")[0]) == (title, "The body.")


@pytest.mark.parametrize("text", ["---\nProse, and no name.\n---\nMore.", "---\nname: [[[[", "---", "no dashes"])
def test_a_note_without_front_matter_is_kept_whole(app: Engram, tmp_path: Path, text: str) -> None:
    wrote(tmp_path / "notes" / "a.md", text)
    app.importers.adopt("basic-memory", tmp_path / "notes")
    assert kept(app)[0]["content"] == text


def test_what_a_program_wrote_is_no_prompt_and_is_counted(app: Engram, tmp_path: Path) -> None:
    prompts = ["<ide_opened_file>a.py</ide_opened_file>\nMend the clock", "[Request interrupted by user]"]
    rows = [{"sync_id": f"p{at}", "session_id": "s", "content": text} for at, text in enumerate(prompts)]
    file = wrote(tmp_path / "x.json", json.dumps({"version": "0.2.0", "prompts": rows}))

    done = app.transfer.import_file(file)

    assert [one.content for one in app.prompts.recent(all_projects=True)] == ["Mend the clock"]
    assert done.prompts.reasons == {"written by a program": 1}


@pytest.mark.parametrize("kind", KINDS)
def test_a_pipe_or_a_device_is_refused_at_once(app: Engram, tmp_path: Path, kind: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(InvalidSourceError, match="neither a file nor a folder"):
            app.importers.adopt(kind, path)
        with pytest.raises(InvalidExportError, match="not a regular file"):
            app.transfer.import_file(path)


def test_a_project_named_as_a_worktree_is_the_nearest_name(app: Engram, tmp_path: Path) -> None:
    row = {"session_id": "s", "title": "Kiln", "content": "It burns.", "project": "shop/feature-x"}
    file = wrote(tmp_path / "x.json", json.dumps({"version": "0.2.0", "observations": [row]}))
    done = app.transfer.import_file(file)
    assert kept(app)[0]["project"] == "shop-feature-x"
    assert "shop/feature-x" in words(*done.warnings)


def test_texts_that_are_cut_are_said(app: Engram, tmp_path: Path) -> None:
    long = {"session_id": "s", "title": "Long", "content": "kiln " * 20_000}
    file = wrote(tmp_path / "x.json", json.dumps({"version": "0.2.0", "observations": [long], "prompts": [long]}))
    assert names(app.transfer.import_file(file).warnings) == ["cut", "cut"]
