"""Rows 135 to 138 and 152: collections of files, what is ignored, contexts, what searches read by default."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.documents.values import CollectionExistsError, CollectionNotFoundError, CollectionUpdate, NotAFolderError
from engram_py.errors import InvalidArgumentError
from tests.documents.conftest import sources, write
from tests.memory import Opener


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    root = tmp_path / "notes"
    write(root, "tea.md", "# Tea\n\nOolong leaves are steeped for three minutes.\n")
    write(root, "coffee.md", "# Coffee\n\nGrinding happens right before brewing.\n")
    write(root, "api/water.md", "# Water\n\nLimescale ruins every kettle.\n")
    return root


def counts(update: CollectionUpdate) -> tuple[int, int, int, int]:
    return update.indexed, update.updated, update.unchanged, update.removed


def updated(app: Engram, name: str) -> CollectionUpdate:
    [one] = app.documents.update(name).items
    assert isinstance(one, CollectionUpdate)
    return one


def test_row_135_an_update_reports_what_changed(app: Engram, notes: Path) -> None:
    assert counts(app.documents.add(str(notes))) == (3, 0, 0, 0)
    assert counts(updated(app, "notes")) == (0, 0, 3, 0)
    write(notes, "tea.md", "# Tea\n\nSencha wants colder infusions.\n")
    (notes / "coffee.md").unlink()

    assert counts(updated(app, "notes")) == (0, 1, 1, 1)
    assert sources(app, "grinding before brewing") == []
    assert sources(app, "oolong leaves") == []
    assert sources(app, "sencha infusions") == ["notes/tea.md:3"]


def test_row_135_a_file_that_was_only_touched_is_unchanged(app: Engram, notes: Path) -> None:
    app.documents.add(str(notes))
    os.utime(notes / "tea.md", (1, 1))

    assert counts(updated(app, "notes")) == (0, 0, 3, 0)


def test_row_136_what_is_ignored_is_not_indexed(app: Engram, notes: Path, tmp_path: Path) -> None:
    write(notes, "node_modules/x.md", "oolong")
    write(notes, ".hidden/y.md", "oolong")
    write(notes, ".z.md", "oolong")
    write(notes, "empty.md", "")
    write(notes, "drafts/d.md", "oolong")
    write(notes, ".gitignore", "drafts/\n")
    (notes / "binary.md").write_bytes(b"oolong\0\1\2")
    outside = write(tmp_path, "outside.md", "oolong")
    (notes / "link.md").symlink_to(outside)
    (notes / "loop").symlink_to(notes)
    with (notes / "huge.md").open("wb") as file:
        file.truncate(200 << 20)

    done = app.documents.add(str(notes))

    reasons = {one.path: one.reason for one in done.skipped}
    assert done.indexed == 3
    assert reasons == {
        "empty.md": "empty",
        "link.md": "a link",
        "huge.md": "larger than 1 MiB",
        "binary.md": "binary",
    }


def test_row_137_a_hit_shows_the_contexts_above_it_the_general_first(app: Engram, notes: Path) -> None:
    app.documents.add(str(notes), context="A")
    app.documents.describe("notes", "B", prefix="/api")

    [water] = app.documents.search("limescale in the kettle").results
    [tea] = app.documents.search("oolong leaves").results

    assert (water.context, tea.context) == (("A", "B"), ("A",))


def test_row_138_an_excluded_collection_is_found_only_by_name(app: Engram, notes: Path) -> None:
    app.documents.add(str(notes))
    app.documents.include("notes", included=False)

    assert sources(app, "oolong leaves") == []
    assert app.search("oolong leaves steeped").documents == ()
    assert sources(app, "oolong leaves", collection="notes") == ["notes/tea.md:3"]
    app.documents.include("notes")
    assert sources(app, "oolong leaves") == ["notes/tea.md:3"]


def test_row_152_cleanup_forgets_what_is_gone(app: Engram, notes: Path) -> None:
    app.documents.add(str(notes))
    (notes / "tea.md").unlink()
    updated(app, "notes")

    assert app.documents.cleanup(dry_run=True).documents == 1
    assert app.store.value("select count(*) from documents") == 3
    assert app.documents.cleanup().documents == 1
    assert app.store.value("select count(*) from documents") == 2


def test_a_glob_chooses_files(app: Engram, notes: Path) -> None:
    write(notes, "data.csv", "oolong,3")

    assert app.documents.add(str(notes), name="few", glob=["*.{csv,rst},api/*.md"]).indexed == 2


def test_a_folder_that_is_not_there_now_keeps_its_documents(app: Engram, notes: Path) -> None:
    app.documents.add(str(notes))
    notes.rename(notes.with_name("moved"))

    done = updated(app, "notes")

    assert done.unfinished
    assert sources(app, "oolong leaves") == ["notes/tea.md:3"]


def test_the_collection_docs_reads_the_documents_of_a_repository(open_memory: Opener, history: object) -> None:
    root = history.root  # type: ignore[attr-defined]
    write(root, "CLAUDE.md", "# Rules\n\nMigrations are never edited once released.\n")
    write(root, "packages/core/docs/adr/0007-queue.md", "# Queue\n\nPostgres holds the jobs.\n")
    write(root, "TUTORIAL.md", "# First steps\n\nThe kettle is called first of all.\n")
    write(root, "src/notes.md", "# Stray\n\nNothing of the kind.\n")
    app = open_memory(root)

    app.documents.update()

    assert sources(app, "are released migrations edited") == ["CLAUDE.md:3"]
    assert sources(app, "which database holds the queue of jobs") == ["packages/core/docs/adr/0007-queue.md:3"]
    assert sources(app, "what is called first of all") == ["TUTORIAL.md:3"]
    assert sources(app, "stray nothing of the kind") == []


def test_a_record_that_was_superseded_says_so_and_stands_last(app: Engram, notes: Path) -> None:
    write(notes, "1.md", "---\nstatus: superseded by 0012\n---\n# Cache\n\nMemcached keeps rendered pages.\n")
    write(
        notes, "2.md", "# Cache two\n\n## Status\n\nSuperseded by [ADR-3](3.md)\n\n## Pages\n\nMemcached keeps pages.\n"
    )
    write(notes, "3.md", "# Cache three\n\nStatus: accepted\n\nRedis keeps rendered pages, not Memcached.\n")
    app.documents.add(str(notes))

    hits = app.documents.search("memcached keeps rendered pages").results

    assert next(hit.source.partition(":")[0] for hit in hits) == "notes/3.md"
    assert {hit.source.partition(":")[0]: hit.notes for hit in hits} == {
        "notes/1.md": ("superseded by 0012",),
        "notes/2.md": ("superseded by ADR-3",),
        "notes/3.md": (),
    }


def test_refusals_say_what_there_is(app: Engram, notes: Path) -> None:
    app.documents.add(str(notes))
    with pytest.raises(CollectionExistsError):
        app.documents.add(str(notes))
    with pytest.raises(NotAFolderError):
        app.documents.add(str(notes / "nowhere"))
    with pytest.raises(CollectionNotFoundError, match="note"):
        app.documents.update("note")
    with pytest.raises(InvalidArgumentError):
        app.documents.add(str(notes), name="git")


def test_a_removed_collection_leaves_nothing_behind(app: Engram, notes: Path) -> None:
    app.documents.add(str(notes))

    assert app.documents.remove("notes").documents == 3

    for name in ("collections", "documents", "passages", "document_links"):
        assert app.store.value(f"select count(*) from {name}") == 0
    assert (notes / "tea.md").exists()
