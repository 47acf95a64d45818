"""Exports: their content, the round trip, and files that are refused."""

from __future__ import annotations

import json
import stat
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import pytest

from engram_py import Draft, Engram
from engram_py.base.errors import InvalidArgumentError
from engram_py.base.settings import Settings
from engram_py.memory.projects.values import UnknownProjectError
from engram_py.sharing.interchange.results import InvalidExportError
from engram_py.sharing.interchange.sources import sections
from tests.sharing.interchange.transfer_files import (
    OpenAt,
    counts,
    digest,
    export,
    furnish,
    observation,
    portable,
    prompt,
    relation,
    write,
)
from tests.support import FakeClock


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
    app.trust.keys.show()
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


@pytest.fixture
def open_at(tmp_path: Path, folder: Path, clock: FakeClock) -> Iterator[OpenAt]:
    """Opens a memory in a data directory of its own, as another machine would have."""
    with ExitStack() as stack:

        def opened(name: str) -> Engram:
            settings = Settings(tmp_path / name, clock=clock)
            return stack.enter_context(Engram(settings=settings, directory=folder))

        yield opened


def test_an_export_imported_into_an_empty_memory_is_exported_the_same_and_once_more_changes_nothing(
    open_at: OpenAt, tmp_path: Path, clock: FakeClock
) -> None:
    here, there = open_at("here"), open_at("there")
    furnish(here)
    file = tmp_path / "memory.json"
    here.transfer.export(file)
    here.replica.changes()  # names the older texts and aliases, as every import does
    first, own = json.loads(file.read_text(encoding="utf-8")), digest(here)
    clock.advance(days=3)

    there.transfer.import_file(file, trusted=True)
    before, second = digest(there), there.transfer.document()
    clock.advance(hours=1)
    again = there.transfer.import_file(file, trusted=True)
    here.transfer.import_file(file)

    assert portable(second) == portable(first)
    assert (digest(there), digest(here)) == (before, own)
    assert counts(again) == (0, 0, 4, 0)
    assert counts(again, "sessions")[:2] == counts(again, "prompts")[:2] == counts(again, "relations")[:2] == (0, 0)
    # where a row came from is what the user says of the file
    assert {row[0] for row in here.store.rows("select origin from observations")} == {"agent", "user"}
    assert {row[0] for row in there.store.rows("select origin from observations")} == {"agent", "user"}


def test_everything_a_memory_holds_is_in_its_export(open_at: OpenAt) -> None:
    here = open_at("here")
    furnish(here)

    document = here.transfer.document()

    own = document["engram_py"]
    kinds = ("observations", "prompts", "relations", "prompt_tombstones")
    assert [len(document[kind]) for kind in kinds] == [4, 1, 1, 1]
    assert [row["pinned"] for row in document["observations"]].count(True) == 1
    assert any(row["review_after"] for row in document["observations"])
    assert any(row["deleted_at"] for row in document["observations"])
    assert {one["content"] for one in own["versions"]} == {"Fifteen minutes.", "Compare in UTC."}
    assert own["aliases"] == {"gadgets": "widgets"}
    assert "observation" in {stone["entity"] for stone in own["tombstones"]}
    assert "jwt; ttl" in {row["aliases"] for row in own["observations"].values()}


def test_what_one_memory_destroyed_comes_in_nowhere_again_and_destroys_nothing_that_is_elsewhere(
    open_at: OpenAt, tmp_path: Path
) -> None:
    here, there, third = open_at("here"), open_at("there"), open_at("third")
    old = write(tmp_path / "old.json", export(observations=[observation()]))
    for memory in (here, third):
        memory.transfer.import_file(old)
    [row] = here.store.rows("select id from observations")
    here.observations.delete(row["id"], hard=True)
    here.transfer.export(tmp_path / "new.json")

    for memory in (there, third):
        memory.transfer.import_file(tmp_path / "new.json")
    again, late = here.transfer.import_file(old), there.transfer.import_file(old)

    assert counts(again) == counts(late) == (0, 0, 1, 0)
    assert [memory.store.value("select count(*) from observations") for memory in (here, there)] == [0, 0]
    assert third.store.value("select content from observations") == "One file, no daemon."


def test_the_older_format_carries_the_texts_and_neither_pins_nor_relations(open_at: OpenAt, tmp_path: Path) -> None:
    here, there = open_at("here"), open_at("there")
    furnish(here)
    here.transfer.export(tmp_path / "old.json", version="0.1.0")
    document = json.loads((tmp_path / "old.json").read_text(encoding="utf-8"))

    there.transfer.import_file(tmp_path / "old.json")

    assert set(document) == {"version", "exported_at", "sessions", "observations", "prompts"}
    assert not {"pinned", "review_after"} & set(document["observations"][0])
    texts = "select sync_id, title, content, topic_key from observations order by sync_id"
    assert [tuple(row) for row in there.store.rows(texts)] == [tuple(row) for row in here.store.rows(texts)]
    assert there.store.value("select review_after from observations where type = 'decision'") is not None


OURS = "<!-- engram:begin - do not edit -->\nCall mem_save.\n<!-- engram:end -->\n"


@pytest.mark.parametrize(
    ("line", "title"),
    [("## Style ##", "Style"), ("#  C# ", "C"), ("# a \t ## b", "a \t ## b"), ("# ##", "##"), ("###  x", "x")],
)
def test_a_heading_is_its_words_without_its_marks(line: str, title: str) -> None:
    [section] = sections(f"{line}\nUse uv.")
    assert (section.headings, section.text) == ((title,), "Use uv.")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"Mine.\n{OURS}Also mine.", "Mine.\nAlso mine."),
        (f"{OURS}Mine.{OURS}", "Mine."),
        ("<!-- rules:start -->x<!-- rules:end -->Mine.", "Mine."),
        ("Mine. <!-- engram:begin --> and it does not end", "Mine. <!-- engram:begin --> and it does not end"),
        ("Mine. <!-- a note --> Mine. <!-- the end -->", "Mine. <!-- a note --> Mine. <!-- the end -->"),
    ],
)
def test_what_a_program_wrote_between_its_marks_is_left_out(text: str, kept: str) -> None:
    assert " ".join(section.text.replace("\n\n", "\n") for section in sections(text)) == kept


@pytest.mark.parametrize("text", [
    "## a" + " " * 1_000_000 + "b\ntext", "## a " + "# " * 500_000 + "b\ntext", "#" + " " * 1_000_000 + "\ntext",
    "<!-- engram:x " * 100_000, "<!-- engram:x -->" * 100_000, "<!--" + " " * 1_000_000 + "-->text",
], ids=["blanks", "marks", "no-title", "opened", "begun", "comment"])  # fmt: skip
def test_a_document_made_to_be_slow_is_read_all_the_same(text: str) -> None:
    """Each of them would take hours where the work grew with more than the length."""
    assert len(sections(text)) == 1


WHOLE = json.dumps(export(observations=[observation()]))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(WHOLE[: len(WHOLE) // 2].encode(), "not whole JSON", id="cut-in-half"),
        pytest.param(b"", "not whole JSON", id="empty"),
        pytest.param(b"memory, memory", "not whole JSON", id="not-json"),
        pytest.param(b"\xff\xfe\x00\x01", "not whole JSON", id="not-text"),
        pytest.param(b"[" * 200_000, "not whole JSON", id="too-deep"),
        pytest.param(b"[]", "not a JSON object", id="a-list"),
        pytest.param(b"{}", "none of the lists sessions, observations", id="an-empty-object"),
        pytest.param(b'{"entities": [{"name": "a"}], "lists": {}}', "none of the lists", id="of-another-program"),
        pytest.param(b'{"observations": [{"facts": ["a"]}]}', "no row in it", id="rows-of-another-program"),
        pytest.param(b'{"prompts": ["a", "b"]}', "no row in it", id="texts-for-rows"),
        pytest.param(b'{"version": "9.9.9"}', "version '9.9.9' is not one of 0.1.0, 0.2.0", id="later-version"),
        pytest.param(b'{"version": 2}', "version 2 is not one of", id="version-is-a-number"),
    ],
)
def test_a_file_that_is_no_export_is_refused(app: Engram, tmp_path: Path, content: bytes, said: str) -> None:
    app.save(Draft("Here before", "And after."))
    before = digest(app)
    file = tmp_path / "broken.json"
    file.write_bytes(content)

    with pytest.raises(InvalidExportError) as refused:
        app.transfer.import_file(file)

    assert said in refused.value.reason
    assert (refused.value.path, refused.value.exit_code) == (str(file), 2)
    assert digest(app) == before


@pytest.mark.parametrize(
    ("lists", "where"),
    [
        pytest.param({"observations": {}}, "observations", id="not-a-list"),
        pytest.param({"engram_py": {"versions": 5}}, "engram_py.versions", id="own-block"),
        pytest.param(
            {"engram_py": {"observations": {"x": {"salience": float("nan")}}}}, "salience", id="salience-is-no-number"
        ),
    ],
)
def test_a_part_of_the_wrong_type_refuses_the_whole_file_and_names_the_place(
    app: Engram, tmp_path: Path, lists: dict[str, Any], where: str
) -> None:
    before = digest(app)
    document = export(**{"prompts": [prompt()]} | lists)

    with pytest.raises(InvalidExportError) as refused:
        app.transfer.import_file(write(tmp_path / "wrong.json", document))

    assert where in refused.value.reason
    assert digest(app) == before


@pytest.mark.parametrize(
    ("kind", "row", "where"),
    [
        pytest.param("observations", observation(title=7), "observations.0.title", id="title-is-a-number"),
        pytest.param("observations", observation(pinned="perhaps"), "observations.0.pinned", id="pinned-is-a-word"),
        pytest.param("observations", observation(revision_count=10**30), "revision_count", id="count-too-big"),
        pytest.param("sessions", {"project": "widgets"}, "sessions.0.id", id="session-without-id"),
        pytest.param("relations", relation(confidence=7), "relations.0.confidence", id="confidence-too-big"),
        pytest.param("relations", relation(judgment_status="?"), "judgment_status", id="unknown-status"),
        pytest.param("prompts", "hello", "prompts.0", id="row-is-text"),
    ],
)
def test_a_row_of_the_wrong_type_is_named_and_the_others_are_taken(
    app: Engram, tmp_path: Path, kind: str, row: object, where: str
) -> None:
    good: dict[str, list[Any]] = {"observations": [observation(sync_id="obs-good")], "prompts": [prompt()]}
    lists: dict[str, Any] = good | {kind: [row, *good.get(kind, [])]}
    document = export(**lists)

    result = app.transfer.import_file(write(tmp_path / "wrong.json", document))

    assert counts(result, kind)[3] == 1
    assert where in "".join(getattr(result, kind).reasons)
    assert (counts(result)[0], counts(result, "prompts")[0]) == (1, 1)


@pytest.mark.parametrize("name", ["folder", "absent.json"])
def test_what_cannot_be_read_is_refused(app: Engram, tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(InvalidExportError):
        app.transfer.import_file(tmp_path / name)


def test_a_failure_in_the_middle_leaves_nothing_of_the_import(app: Engram, tmp_path: Path) -> None:
    before = digest(app)
    document = export(observations=[observation(sync_id=f"obs-{number}") for number in range(250)], prompts=[prompt()])
    told: list[tuple[int, int]] = []

    def interrupt(done: int, total: int) -> None:
        if done == 200:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        app.transfer.import_file(write(tmp_path / "long.json", document), progress=interrupt)
    assert digest(app) == before
    assert app.save(Draft("Still", "usable")).outcome == "added"

    stream = BytesIO(json.dumps(document).encode())
    result = app.transfer.import_file(stream, progress=lambda done, total: told.append((done, total)))
    assert told == [(100, 251), (200, 251), (251, 251)]
    assert (result.path, counts(result)) == ("-", (250, 0, 0, 0))
