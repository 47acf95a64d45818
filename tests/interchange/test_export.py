"""What an export holds, and the file it is in."""

from __future__ import annotations

import json
import stat
import sys
from io import StringIO
from pathlib import Path

import pytest

from engram_py import Draft, Engram
from engram_py.errors import InvalidArgumentError
from engram_py.projects.values import UnknownProjectError
from tests.interchange.transfer_files import furnish


def two_projects(app: Engram) -> None:
    furnish(app)
    app.sessions.start("s-other", project="gizmos")
    mine = app.save(Draft("Gizmos use Rust", "For speed."), project="gizmos", session_id="s-other")
    app.save(Draft("Gizmos use Go", "For speed of writing."), project="gizmos", session_id="s-1")
    app.save(Draft("A widget saved from the other session", "Ours."), project="widgets", session_id="s-other")
    app.prompts.save("gizmos faster", project="gizmos")
    gone = app.save(Draft("Gone", "Destroyed."), project="gizmos")
    app.observations.delete(gone.id, hard=True)
    app.merging.alias("gizzies", "gizmos")
    app.sessions.end("s-other", summary="Gizmos are in Rust now.")
    app.observations.pin(mine.id)


def test_an_export_of_one_project_by_any_of_its_names_holds_all_of_it_and_nothing_of_another(app: Engram) -> None:
    two_projects(app)

    document = app.transfer.document(project="gizzies")

    assert {row["title"] for row in document["observations"]} == {"Gizmos use Rust", "Gizmos use Go"}
    assert [row["content"] for row in document["prompts"]] == ["gizmos faster"]
    assert {row["id"] for row in document["sessions"]} >= {"s-other"}
    assert document["engram_py"]["aliases"] == {"gizzies": "gizmos"}
    text = json.dumps(app.transfer.document(project="widgets"))
    assert "Chose shorter tokens" in text
    assert not [word for word in ("gizmos", "Gizmos", "Rust", "gizzies") if word in text]


def test_a_project_nothing_was_kept_for_is_refused_with_the_ones_it_resembles(app: Engram, tmp_path: Path) -> None:
    furnish(app)
    with pytest.raises(UnknownProjectError) as refused:
        app.transfer.export(tmp_path / "out.json", project="widget")
    assert refused.value.similar == ["widgets"]
    assert not (tmp_path / "out.json").exists()


def test_a_stream_gets_the_same_text_as_a_private_file_with_a_row_on_each_line(app: Engram, tmp_path: Path) -> None:
    furnish(app)
    stream, file = StringIO(), tmp_path / "out.json"
    file.write_text("an older one")
    file.chmod(0o644)

    of_stream, of_file = app.transfer.export(stream), app.transfer.export(file)

    streamed, filed = json.loads(stream.getvalue()), json.loads(file.read_text("utf-8"))
    assert streamed | {"exported_at": ""} == filed | {"exported_at": ""}
    assert (of_stream.bytes, of_file.bytes) == (len(stream.getvalue().encode()), file.stat().st_size)
    assert (of_file.observations, of_file.relations) == (len(filed["observations"]), len(filed["relations"]))
    rows = [line for line in stream.getvalue().splitlines() if line.startswith('{"id": ') and '"pinned": ' in line]
    assert [json.loads(line.rstrip(",")) for line in rows] == filed["observations"]
    assert sys.platform == "win32" or stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("target", ["absent/out.json", "plain/out.json", "folder"])
def test_an_export_that_cannot_be_written_leaves_no_part_of_a_file(app: Engram, tmp_path: Path, target: str) -> None:
    (tmp_path / "plain").write_text("a file, not a folder")
    (tmp_path / "folder").mkdir()
    before = sorted(tmp_path.rglob("*"))

    with pytest.raises(InvalidArgumentError) as refused:
        app.transfer.export(tmp_path / target)

    assert refused.value.value == str(tmp_path / target)
    assert sorted(tmp_path.rglob("*")) == before


def test_an_export_that_breaks_off_leaves_the_earlier_file(
    app: Engram, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "out.json"
    app.transfer.export(file)
    earlier = file.read_bytes()
    app.save(Draft("More", "to write"))

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(InvalidArgumentError):
        app.transfer.export(file)

    assert file.read_bytes() == earlier
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".part")] == []
