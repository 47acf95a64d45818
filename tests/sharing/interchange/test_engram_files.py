"""Files as Engram itself writes them, in both directions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from engram_py import Draft, Engram
from engram_py.base.dataclass import replace
from engram_py.memory.observations.values import Change
from tests.sharing.interchange import engram_reader
from tests.sharing.interchange.interop import WAYS
from tests.sharing.interchange.transfer_files import (
    counts,
    digest,
    export,
    furnish,
    imported,
    observation,
    prompt,
    relation,
    session,
)
from tests.support import FakeClock, words

ENDS = [observation(), observation(sync_id="obs-00000000000000bb", title="Chose files")]


def only(app: Engram, column: str, table: str = "observations") -> object:
    [row] = app.store.rows(f"select {column} from {table}")
    value: object = row[0]
    return value


@pytest.mark.parametrize("version", ["", None, "0.1.0"])
def test_the_older_format_needs_no_version_and_an_empty_list_may_be_null(
    app: Engram, tmp_path: Path, version: str | None
) -> None:
    document = export(observations=[observation()])
    del document["relations"], document["prompt_tombstones"], document["version"]
    result = imported(app, tmp_path, document | ({} if version is None else {"version": version}))
    assert (result.version, counts(result)) == ("0.1.0", (1, 0, 0, 0))
    assert counts(imported(app, tmp_path, export())) == (0, 0, 0, 0)


@pytest.mark.parametrize("mode", ["shared", "project_owned"])
def test_every_column_is_taken_over(app: Engram, tmp_path: Path, mode: str) -> None:
    row = observation(type="decision", scope="personal", topic_key="decision/db", revision_count=4, duplicate_count=2,
                      pinned=True, tool_name="mem_save", review_after="2026-07-02 03:04:05",
                      last_seen_at="2026-01-05 00:00:00")  # fmt: skip

    imported(app, tmp_path, export(sessions=[session(ownership_mode=mode)], observations=[row]))

    document = app.transfer.document()
    [stored] = document["observations"]
    assert {name: stored[name] for name in row if name != "id"} == {name: row[name] for name in row if name != "id"}
    assert document["sessions"][0]["ownership_mode"] == mode


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        pytest.param("2026-01-02 03:04:05", "2026-01-02T03:04:05.000Z", id="engram"),
        pytest.param("2026-01-02 03:04:05.123456789", "2026-01-02T03:04:05.123Z", id="fraction"),
        pytest.param("2026-01-02T03:04:05.987654321Z", "2026-01-02T03:04:05.987Z", id="rfc3339-nanos"),
        pytest.param("2026-01-02T05:04:05+02:00", "2026-01-02T03:04:05.000Z", id="with-offset"),
        pytest.param("0001-01-01T00:00:00Z", None, id="zero-of-go"),
        pytest.param("9999-12-31T23:59:59-12:00", None, id="beyond-the-last-year"),
        pytest.param("soon", None, id="word"),
        pytest.param("", None, id="empty"),
    ],
)
def test_times_are_read_as_engram_writes_them(app: Engram, tmp_path: Path, written: str, kept: str | None) -> None:
    imported(app, tmp_path, export(observations=[observation(deleted_at=written, updated_at=written)]))
    assert only(app, "deleted_at") == kept
    assert only(app, "updated_at") == (kept or "2026-01-02T03:04:05.000Z")


def test_a_row_whose_session_is_missing_gets_one(app: Engram, tmp_path: Path) -> None:
    imported(
        app, tmp_path, export(observations=[observation(session_id="s9"), observation(sync_id="x", session_id="")])
    )
    assert {row[0] for row in app.store.rows("select id from sessions")} == {"s9", "import-widgets"}
    assert app.doctor.examine(check="orphans").status == "ok"


def test_a_row_without_an_identity_is_known_again(app: Engram, tmp_path: Path) -> None:
    document = export(observations=[observation(sync_id=None)], prompts=[prompt(sync_id=None)])
    imported(app, tmp_path, document)
    before = digest(app)
    imported(app, tmp_path, document)
    assert digest(app) == before


def test_rows_without_any_text_are_counted_and_some_of_them_named(app: Engram, tmp_path: Path) -> None:
    rows = [observation(sync_id=f"obs-{number}", content="  ") for number in range(50)]
    result = imported(app, tmp_path, export(observations=[*rows, observation(sync_id="obs-good")]))
    assert counts(result) == (1, 0, 0, 50)
    assert "obs-0" in words(result.warnings[0])
    assert (len(result.warnings), result.warnings[-1]) == (21, "and 30 more")


def test_half_a_character_is_replaced_and_a_nul_byte_left_out_wherever_they_are(app: Engram, tmp_path: Path) -> None:
    half = "x\0\ud83d"
    document = export(
        sessions=[session(id=half, summary=half, directory=half)],
        observations=[observation(session_id=half, content="whole \U0001f600 " + half, project=half, tool_name=half)],
        prompts=[prompt(session_id=half, content=half, sync_id=half)],
        relations=[relation(source_id=half, reason=half)],
    )

    result = imported(app, tmp_path, document)

    assert (counts(result), counts(result, "prompts")) == ((1, 0, 0, 0), (1, 0, 0, 0))
    assert only(app, "content") == "whole \U0001f600 x\ufffd"
    assert only(app, "content", "user_prompts") == "x\ufffd"


@pytest.mark.parametrize(
    ("field", "value", "column", "kept"),
    [
        pytest.param("scope", "team", "scope", "project", id="unknown-scope"),
        pytest.param("type", "x" * 200, "type", "manual", id="type-too-long"),
        pytest.param("topic_key", "!!!", "topic_key", None, id="topic-without-letters"),
        pytest.param("project", "../../etc", "project", "unknown", id="project-is-a-path"),
        pytest.param("project", None, "project", "unknown", id="no-project"),
        pytest.param("project", "  My  Widgets ", "project", "my  widgets", id="project-normalised"),
        pytest.param("revision_count", -3, "revision_count", 1, id="negative-revision"),
        pytest.param("title", "t" * 5000, "title", "t" * 1000, id="title-too-long"),
        pytest.param("title", "", "title", "One file, no daemon.", id="no-title"),
    ],
)
def test_a_field_we_would_refuse_does_not_cost_the_row(
    app: Engram, tmp_path: Path, field: str, value: object, column: str, kept: object
) -> None:
    result = imported(app, tmp_path, export(observations=[observation(**{field: value})]))
    assert counts(result) == (1, 0, 0, 0)
    assert only(app, column) == kept


def test_a_relation_keeps_every_column(app: Engram, tmp_path: Path) -> None:
    newer = relation(sync_id="rel-00000000000000dd")
    older = relation(superseded_at="2026-01-03 00:00:00", superseded_by_relation_sync_id=newer["sync_id"])

    imported(app, tmp_path, export(sessions=[session()], observations=ENDS, relations=[older, newer]))

    stored, _ = app.transfer.document()["relations"]
    assert {name: stored[name] for name in older if name != "id"} == {
        name: older[name] for name in older if name != "id"
    }


@pytest.mark.parametrize(
    ("target", "status", "checked"),
    [("obs-00000000000000bb", "orphaned", "warning"), ("entity:redis", "judged", "ok")],
    ids=["missing-end", "entity"],
)
def test_a_relation_without_one_of_its_ends_is_kept_as_orphaned(
    app: Engram, tmp_path: Path, target: str, status: str, checked: str
) -> None:
    imported(app, tmp_path, export(observations=[observation()], relations=[relation(target_id=target)]))
    assert only(app, "judgment_status", "memory_relations") == status
    assert app.doctor.examine(check="orphans").status == checked


@pytest.mark.parametrize("status", ["judged", "pending"])
def test_an_orphaned_relation_is_what_it_was_when_its_end_is_imported(app: Engram, tmp_path: Path, status: str) -> None:
    row = relation(judgment_status=status, relation="pending" if status == "pending" else "supersedes")
    imported(app, tmp_path, export(observations=[observation()], relations=[row]))
    result = imported(app, tmp_path, export(observations=ENDS, relations=[row]))
    assert counts(result, "relations") == (0, 1, 0, 0)
    assert only(app, "judgment_status", "memory_relations") == status


def test_a_relation_with_a_verdict_nobody_knows_is_left_out_and_said(app: Engram, tmp_path: Path) -> None:
    result = imported(app, tmp_path, export(observations=ENDS, relations=[relation(relation="obliterates")]))
    assert counts(result, "relations") == (0, 0, 0, 1)
    assert "obliterates" in words(*result.warnings)


def test_secrets_in_an_import_are_redacted_everywhere(app: Engram, tmp_path: Path) -> None:
    secret = "ghp_" + "Ab3dEf6hIj9kLm2nOp5q" + "Rs8tUv1wXy4z0123"
    text = f"use {secret} for it"
    title = f"{'x' * 990} {secret}"
    old = {"sync_id": ENDS[0]["sync_id"], "version": 1, "title": text, "content": text}
    document = export(
        sessions=[session(summary=text)],
        observations=[
            observation(title=text, content=text),
            observation(sync_id="obs-00000000000000bb", title=title),
            observation(sync_id="obs-untitled", title=None, content=f"{'word ' * 14}{secret}"),
        ],
        prompts=[prompt(content=text)],
        relations=[relation(reason=text, evidence=text, marked_by_actor=text)],
        engram_py={"versions": [old], "observations": {ENDS[0]["sync_id"]: {"git_branch": text}}},
    )

    result = imported(app, tmp_path, document)

    stored = "\n".join(app.store._connection.iterdump())
    assert result.redacted >= 10
    assert secret[:8] not in stored


def share_prompts(app: Engram) -> None:
    app.settings = replace(app.settings, sync_prompts=True)


def crowd(app: Engram, tmp_path: Path) -> None:
    """Two projects with what connects them: sessions of the other one, verdicts across, an entity, deletions."""
    furnish(app)
    app.sessions.start("s-other", project="gizmos")
    rust = app.save(Draft("Gizmos use Rust", "For speed."), project="gizmos", session_id="s-other")
    ours = app.save(Draft("Widgets from there", "Ours."), project="widgets", session_id="s-other")
    ends = {"across": rust.sync_id, "entity": "entity:redis"}
    verdicts = [relation(sync_id=f"rel-{name}", source_id=ours.sync_id, target_id=end) for name, end in ends.items()]
    imported(app, tmp_path, export(relations=verdicts))
    burnt = app.save(Draft("Burnt", "To ashes."), project="widgets")
    app.relations.compare(ours.id, burnt.id, "related", confidence=0.5, reasoning="before the fire")
    app.observations.delete(burnt.id, hard=True)
    app.save(Draft("Of everybody", "Everywhere.", scope="global"), project="widgets")


Readers = Callable[[str], engram_reader.Engram]


@pytest.fixture
def reader_in(tmp_path: Path) -> Iterator[Readers]:
    """Makes an empty memory of Engram's in a folder of that name."""
    with ExitStack() as stack:

        def made(name: str) -> engram_reader.Engram:
            reader = engram_reader.Engram(tmp_path / name)
            stack.callback(reader.db.close)
            return reader

        yield made


def tell(document: dict[str, Any], reader: engram_reader.Engram) -> engram_reader.Engram:
    reader.read_export(document)
    for kind in ("session", "observation", "prompt", "relation"):
        rows = document.get(f"{kind}s") or []
        said = {what: n for (name, what), n in reader.counts.items() if name == kind}
        assert said == ({"added": len(rows)} if rows else {}), kind
    return reader


@pytest.mark.parametrize("project", [None, "widgets", "gizmos"])
@pytest.mark.parametrize("version", ["0.2.0", "0.1.0"])
def test_engram_reads_every_row_of_an_export(
    app: Engram, tmp_path: Path, reader_in: Readers, project: str | None, version: Any
) -> None:
    crowd(app, tmp_path)
    reader = tell(app.transfer.document(project=project, version=version), reader_in("reader"))
    where = f"where project = '{project}'" if project else ""
    ours = app.store.rows(f"select sync_id, title, content from observations {where} order by id")
    assert [tuple(row) for row in reader.all("observation", "sync_id, title, content")] == [tuple(row) for row in ours]


def test_a_verdict_that_engram_must_call_orphaned_is_still_one_here(app: Engram, tmp_path: Path) -> None:
    crowd(app, tmp_path)
    document = app.transfer.document(project="widgets")

    marked = {row["sync_id"]: row["judgment_status"] for row in document["relations"]}
    told = {key: one["judgment_status"] for key, one in document["engram_py"]["relations"].items()}
    assert sorted(marked.values()) != sorted(told.values())

    app.store.path.with_name("other").mkdir()
    with Engram(app.store.path.with_name("other"), directory=tmp_path) as other:
        imported(other, tmp_path, app.transfer.document(project="gizmos"))
        imported(other, tmp_path, document)
        states = dict(other.store.tuples("select sync_id, judgment_status from memory_relations"))
    edges = {row["sync_id"]: row["judgment_status"] for row in document["engram_py"]["edges"]}
    assert states == told | edges


@pytest.mark.parametrize("way", WAYS)
def test_what_came_from_engram_goes_back_to_it(
    here: Engram, root: Path, reader_in: Readers, clock: FakeClock, way: str
) -> None:
    share_prompts(here)
    clock.advance(days=365)  # the files are of November
    WAYS[way](here, root)
    here.observations.update(2, Change(content="Changed here."))

    document = here.transfer.document()
    reader = tell(document, reader_in("reader"))

    assert len(reader.all("observation")) == 14
    assert {row["judgment_status"] for row in reader.all("relation")} <= {"judged"}
    folder = reader_in("folder")
    here.git_sync.sync(read=False, format="chunks")
    folder.read_folder(root / ".engram")
    shared = 13 + (way == "folder")  # the personal row stays here; in its own folder it is there already
    assert len(folder.all("observation")) == shared
    assert len(folder.all("session")) == 3
    assert len(folder.all("prompt")) == 3
    assert not folder.waiting
    assert ("Changed here.",) in {tuple(row) for row in folder.all("observation", "content")}


def test_engram_reads_every_row_of_a_folder_of_chunks(
    here: Engram, root: Path, tmp_path: Path, reader_in: Readers
) -> None:
    share_prompts(here)
    crowd(here, tmp_path)

    written = here.git_sync.sync(read=False, format="chunks").written

    reader = reader_in("reader")
    reader.read_folder(root / ".engram")
    assert written is not None
    ours = here.store.rows(
        "select sync_id, title, content from observations where project = 'widgets' and scope <> 'personal' order by id"
    )
    assert sorted(tuple(row) for row in reader.all("observation", "sync_id, title, content")) == sorted(
        tuple(row) for row in ours
    )
    # The other end may come with the other project's folder; an entity never would.
    assert {row["sync_id"] for row in reader.waiting} == {"rel-across"}
    assert {what for (_, what) in reader.counts} <= {"added", "deleted", "waiting"}
    prompts = here.store.value("select count(*) from user_prompts where project = 'widgets'")
    assert len(reader.all("prompt")) == prompts
