"""An import is whole or it is nothing, but for rows that are none: each is named."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from engram_py import Draft, Engram
from engram_py.interchange.values import InvalidExportError
from tests.interchange.transfer_files import counts, digest, export, observation, prompt, relation, write

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
    assert refused.value.path == str(file)
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
