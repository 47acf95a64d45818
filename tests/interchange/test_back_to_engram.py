"""What we write, Engram reads: its exports whole, its folder of chunks, with no row unaccounted for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engram_py import Draft, Engram
from engram_py.dataclass import replace
from engram_py.observations.values import Change
from tests.interchange import engram_reader
from tests.interchange.interop import WAYS
from tests.interchange.transfer_files import export, furnish, imported, relation
from tests.memory import FakeClock


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


def tell(app: Engram, document: dict[str, Any], tmp_path: Path) -> engram_reader.Engram:
    reader = engram_reader.Engram(tmp_path / "reader")
    reader.read_export(document)
    for kind in ("session", "observation", "prompt", "relation"):
        rows = document.get(f"{kind}s") or []
        said = {what: n for (name, what), n in reader.counts.items() if name == kind}
        assert said == ({"added": len(rows)} if rows else {}), kind
    return reader


@pytest.mark.parametrize("project", [None, "widgets", "gizmos"])
@pytest.mark.parametrize("version", ["0.2.0", "0.1.0"])
def test_engram_reads_every_row_of_an_export(app: Engram, tmp_path: Path, project: str | None, version: Any) -> None:
    crowd(app, tmp_path)
    reader = tell(app, app.transfer.document(project=project, version=version), tmp_path)
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
    here: Engram, root: Path, tmp_path: Path, clock: FakeClock, way: str
) -> None:
    share_prompts(here)
    clock.advance(days=365)  # the files are of November
    WAYS[way](here, root)
    here.observations.update(2, Change(content="Changed here."))

    document = here.transfer.document()
    reader = tell(here, document, tmp_path)

    assert len(reader.all("observation")) == 14
    assert {row["judgment_status"] for row in reader.all("relation")} <= {"judged"}
    folder = engram_reader.Engram(tmp_path / "folder")
    here.git_sync.sync(read=False)
    folder.read_folder(root / ".engram")
    shared = 13 + (way == "folder")  # the personal row stays here; in its own folder it is there already
    assert len(folder.all("observation")) == shared
    assert len(folder.all("session")) == 3
    assert len(folder.all("prompt")) == 3
    assert not folder.waiting
    assert ("Changed here.",) in {tuple(row) for row in folder.all("observation", "content")}


def test_engram_reads_every_row_of_a_folder_of_chunks(here: Engram, root: Path, tmp_path: Path) -> None:
    share_prompts(here)
    crowd(here, tmp_path)

    written = here.git_sync.sync(read=False).written

    reader = engram_reader.Engram(tmp_path / "reader")
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
