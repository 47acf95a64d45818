"""Rows 135 to 138 and 152: collections of files, what is ignored, and what updating them reads."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from engram_py import Draft, Engram
from engram_py.base.database.runs import NamedLease
from engram_py.base.errors import ConflictError, InvalidArgumentError, InvalidInputError
from engram_py.base.reasons import reason
from engram_py.recall.documents import files as reading
from engram_py.recall.documents import history as updating
from engram_py.recall.documents import table
from engram_py.recall.documents.values import (
    CollectionNotFoundError,
    CollectionUpdate,
    Read,
)
from tests.memory.anchors.repositories import Repo
from tests.recall.documents.conftest import sources, write
from tests.recall.documents.test_history import WHY
from tests.support import Git, Opener, RepoMaker, raising
from tests.upkeep.index_contents import contents


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
    with raising(ConflictError, "collection_exists"):
        app.documents.add(str(notes))
    with raising(InvalidInputError, "not_a_folder"):
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


def test_a_progress_bar_says_that_a_collection_is_indexed(open_memory: Opener, history: Repo) -> None:
    labels: list[str] = []
    open_memory(history.root).documents.update(report=lambda label, done, total: labels.append(label))
    assert labels[0] == "Indexing git"


def test_what_another_process_updates_is_left_to_it(open_memory: Opener, history: Repo) -> None:
    app, other = open_memory(history.root), open_memory(history.root)
    with NamedLease(other.store, other.journal, "documents").holding():
        git, _ = app.documents.update().items

    assert git.unfinished
    assert git.warnings == (reason("documents_busy"),)
    assert app.documents.update().items[0].indexed == 1


def test_two_threads_that_update_store_each_commit_once(open_memory: Opener, history: Repo) -> None:
    for number in range(30):
        history.commit(f"Change {number}\n\nBecause the number {number} was asked for.")
    apps = [open_memory(history.root) for _ in range(2)]
    threads = [threading.Thread(target=app.documents.update) for app in apps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert apps[0].store.value("select count(*) from documents") == 31
    assert apps[0].store.value("select count(*) from passages") == 31


def test_what_there_was_no_time_for_is_done_by_the_next(
    open_memory: Opener, history: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(updating, "BATCH", 1)
    app = open_memory(history.root)

    git, _ = app.documents.update(until=time.monotonic() - 1).items

    assert git.unfinished
    assert app.documents.update().items[0].indexed == 1


def test_a_worktree_shares_the_documents_of_its_repository(open_memory: Opener, history: Repo, tmp_path: Path) -> None:
    open_memory(history.root).documents.update()
    history.git("worktree", "add", "-q", str(tmp_path / "other"), "HEAD~1")

    app = open_memory(tmp_path / "other")

    assert len(sources(app, WHY)) == 1
    assert app.documents.catch_up(until=time.monotonic() + 5) is False


def test_a_repository_that_was_moved_is_followed(open_memory: Opener, history: Repo) -> None:
    open_memory(history.root).documents.update()
    moved = history.root.parent / "elsewhere"
    history.root.rename(moved)
    repo = history.at(moved)
    repo.commit("Keep tea\n\nCoffee kept the night shift awake too long.")
    app = open_memory(moved, project="widgets")

    app.documents.update()

    assert len(sources(app, "why is there no coffee for the night shift")) == 1


def test_files_of_another_project_are_not_found(
    open_memory: Opener, make_repo: RepoMaker, git: Git, history: Repo
) -> None:
    open_memory(history.root).documents.update()
    other = Repo(make_repo("work/gadgets"), git)
    app = open_memory(other.root)
    app.documents.update()

    assert sources(app, WHY) == []
    assert len(sources(app, WHY, all_projects=True)) == 1


def test_blank_files_and_odd_names_are_read(open_memory: Opener, history: Repo) -> None:
    write(history.root, "docs/blank.md", " \n\n\t\n")
    write(history.root, "docs/größe von allem.md", "# Größe\n\nAlles wird in Zoll gemessen.\n")
    write(history.root, "docs/crlf.md", "# Heading\r\n\r\nLimescale ruins kettles.\r\n")
    (history.root / "docs" / "latin.md").write_bytes("# Tee\n\nGrüner Tee zieht kürzer.\n".encode("latin-1"))
    app = open_memory(history.root)

    _, docs = app.documents.update().items

    assert docs.indexed == 4
    assert sources(app, "wird alles in Zoll gemessen") == ["docs/größe von allem.md:3"]
    assert sources(app, "limescale ruins kettles") == ["docs/crlf.md:3"]


def test_a_damaged_index_of_documents_keeps_no_memory_from_being_found(indexed: Engram) -> None:
    indexed.observations.save(Draft("Chose tea", "It keeps longer than coffee."))
    with indexed.store.transaction():
        indexed.store.execute("update passages_fts_data set block = x'ffffffff' where id >= 10")

    assert [hit.title for hit in indexed.search("which drink keeps longer, tea or coffee").results] == ["Chose tea"]
    assert indexed.search(WHY).documents == ()
    indexed.documents.update()
    assert len(indexed.search(WHY).documents) == 1


@pytest.mark.parametrize("damage", ["select 1", "drop table passages_fts", "drop trigger passages_fts_insert"])
def test_a_reindex_leaves_documents_as_they_were_indexed(indexed: Engram, damage: str) -> None:
    held = contents(indexed)["passages_fts"]
    with indexed.store.transaction():
        indexed.store.execute(damage)

    indexed.reindexing.run()

    assert contents(indexed)["passages_fts"] == held
    assert len(indexed.search(WHY).documents) == 1


def test_what_the_settings_of_a_repository_ignore_is_not_indexed(open_memory: Opener, history: Repo) -> None:
    write(history.root, ".engram.json", '{"ignore": ["docs/drafts/*"]}')
    write(history.root, "docs/drafts/tea.md", "# Tea\n\nOolong is steeped for three minutes.\n")
    write(history.root, "docs/coffee.md", "# Coffee\n\nGrinding happens right before brewing.\n")
    app = open_memory(history.root)
    app.documents.update()

    assert sources(app, "how long is oolong steeped") == []
    assert sources(app, "when does grinding happen") == ["docs/coffee.md:3"]


def test_a_document_is_looked_up_in_as_many_steps_among_two_thousand_as_among_two_hundred(
    open_memory: Opener, history: Repo
) -> None:
    store = open_memory(history.root).store
    with store.transaction():
        one = table.add(store, {"project": "widgets", "name": "many", "kind": "git", "root": "/", "created_at": "now"})

    def put(first: int, end: int) -> None:
        with store.transaction():
            for number in range(first, end):
                table.put(store, one, Read(f"{number:040x}", "Title", f"{number:064x}", (), "2026-05-01T00:00:00Z"))

    def steps() -> int:
        counted: list[int] = []
        with store.connection() as connection:
            connection.set_progress_handler(lambda: counted.append(1), 1)
        assert table.known_paths(store, one, [f"{7:040x}", "unknown"]) == {f"{7:040x}"}
        assert len(table.beginning(store, [one], f"{7:064x}", hash=True)) == 1
        with store.connection() as connection:
            connection.set_progress_handler(None, 0)
        return len(counted)

    put(0, 200)
    among_few = steps()
    put(200, 2_000)

    assert steps() == pytest.approx(among_few, rel=0.1)


def test_a_word_with_a_minus_leaves_documents_out_and_a_filter_of_memories_says_that_it_does_nothing(
    app: Engram, notes: Path
) -> None:
    app.documents.add(str(notes))
    assert sources(app, "leaves -kettle") == ["notes/tea.md:3"]
    assert sources(app, "leaves -oolong") == []
    found = app.documents.search("oolong type:decision")
    assert [hit.title for hit in found.results] == ["Tea"]
    assert found.warnings == (reason("idle_arguments", arguments=("types",), layer="documents"),)


def test_a_file_of_another_time_is_read_like_any_other(open_memory: Opener, history: Repo) -> None:
    for name in ("a", "b", "c"):
        write(history.root, f"docs/{name}.md", f"# {name}\n\nThe cache of part {name} is redis.\n")
    odd = history.root / "docs" / "b.md"
    os.utime(odd, (10_413_792_000,) * 2)  # the year 2300, in nanoseconds more than SQLite counts
    if odd.stat().st_mtime_ns < 2**63:
        pytest.skip("this file system has no such times")
    app = open_memory(history.root)

    _, docs = app.documents.update().items

    assert (docs.indexed, docs.skipped) == (3, ())
    assert app.documents.update().items[1].unchanged == 3


def test_a_document_that_cannot_be_parsed_is_named_and_stops_no_other(
    open_memory: Opener, history: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        write(history.root, f"docs/{name}.md", f"# {name}\n\nThe cache of part {name} is redis.\n")
    kept = reading.read_document

    def read(root: Path, file: reading.FoundFile) -> Read:
        if file.path == "docs/b.md":
            raise RecursionError("nested too deep")
        return kept(root, file)

    monkeypatch.setattr(reading, "read_document", read)
    app = open_memory(history.root)

    _, docs = app.documents.update().items

    assert docs.indexed == 2
    assert [(one.path, one.reason) for one in docs.skipped] == [("docs/b.md", "RecursionError: nested too deep")]
