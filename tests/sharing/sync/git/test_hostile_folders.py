"""A folder that somebody prepared: every bad chunk is refused by its name, and the rest goes on."""

from __future__ import annotations

import errno
import gzip
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from engram_py import Draft, Engram
from engram_py.base.errors import SyncError
from engram_py.sharing.sync.errors import SyncFolderError
from engram_py.sharing.sync.git import folder as folder_module
from engram_py.sharing.sync.git import table
from engram_py.sharing.sync.mutation import OWN_BLOCK, version_digest, version_key
from tests.sharing.sync.git.conftest import Member, is_root, put_chunk
from tests.support import raising

FIRST = "11111111.jsonl.gz"


def row(key: str, **fields: object) -> dict[str, object]:
    return {
        "sync_id": key, "session_id": "s-1", "type": "note", "title": key, "content": f"content of {key}",
        "scope": "project", "project": "widgets", "updated_at": "2026-01-01 10:00:00", **fields,
    }  # fmt: skip


def half(path: Path) -> None:
    path.write_bytes(gzip.compress(os.urandom(500))[:300])


def unreadable(path: Path) -> None:
    path.write_bytes(b"x")
    path.chmod(0)


BAD: dict[str, tuple[Callable[[Path], object], str]] = {
    "half": (half, "cut short"),
    "directory": (Path.mkdir, "it is a folder"),
    "fifo": (os.mkfifo, "it is not a file"),
    "link": (lambda path: path.symlink_to("/etc/passwd"), "a symbolic link"),
    "renamed": (
        lambda path: path.write_bytes(gzip.compress(b'{"observations": []}')),
        "does not hold what its name says",
    ),
    "unreadable": (unreadable, "cannot be read"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_chunk_is_refused_by_name_and_the_others_are_read(kind: str, ada: Member, bob: Member) -> None:
    if kind == "unreadable" and is_root():
        pytest.skip("root reads everything")
    ada.shared("One")
    bob.git("pull", "-q")
    make, reason = BAD[kind]
    make(bob.chunks / FIRST)

    read = bob.imported()

    [refused] = read.refused
    assert refused.chunk == "11111111"
    assert reason in refused.reason
    assert bob.titles() == ["One"]
    # Engram stops at a chunk that it cannot read, so the manifest does not name it.
    assert "11111111" not in [entry["id"] for entry in bob.manifest()["chunks"]]


def test_a_refused_chunk_is_not_looked_at_again_until_it_changes(ada: Member) -> None:
    ada.save("One")
    ada.exported()
    half(ada.chunks / FIRST)

    assert [one.chunk for one in ada.imported().refused] == ["11111111"]
    assert (ada.imported().refused, ada.imported().still_refused) == ((), 1)
    assert [one.chunk for one in ada.sync.status().refused] == ["11111111"]

    (ada.chunks / FIRST).unlink()
    name = put_chunk(ada.root, {"observations": [row("obs-repaired")]})
    assert ada.imported().chunks == 1
    assert name in {entry["id"] for entry in ada.manifest()["chunks"]}


@pytest.mark.parametrize("name", ["../escape", "UPPER123", "short", "x" * 70, "deadbee\N{CYRILLIC SMALL LETTER IE}"])
def test_a_file_whose_name_is_no_hash_is_no_chunk_and_one_too_large_is_not_read(
    name: str, ada: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_module, "MOST_PACKED_BYTES", 1000)
    ada.chunks.mkdir(parents=True)
    name = name.replace("/", "\N{FULLWIDTH SOLIDUS}")
    (ada.chunks / f"{name}.jsonl.gz").write_bytes(gzip.compress(json.dumps({"observations": [row("o")]}).encode()))
    (ada.chunks / FIRST).write_bytes(bytes(1001))

    reasons = sorted(one.reason for one in ada.imported().refused)

    assert ["1,001 bytes" in reasons[0], "not a hash" in reasons[1]] == [True, True]
    assert ada.titles() == []


@pytest.mark.parametrize("part", [".engram", ".engram/chunks"])
def test_a_folder_that_is_a_link_elsewhere_is_not_written_to(part: str, ada: Member, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    shutil.rmtree(ada.root / ".engram")
    link = ada.root / part
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside, target_is_directory=True)
    ada.save("One")

    with pytest.raises(SyncFolderError, match="a link to another place"):
        ada.sync.sync()

    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("name", ["manifest.json", ".gitattributes"])
def test_a_linked_file_is_not_written_through(name: str, ada: Member, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious", encoding="utf-8")
    (ada.root / ".engram" / name).unlink(missing_ok=True)
    (ada.root / ".engram" / name).symlink_to(victim)
    ada.save("One")

    ada.exported(format="chunks")

    assert victim.read_text(encoding="utf-8") == "precious"


def test_rows_that_are_none_are_named_and_the_rows_beside_them_arrive(ada: Member) -> None:
    bad = [
        row("obs-bad", content=""),
        row("obs-worse", title=5),
        "text",
        row("obs-odd", scope="personal", **{OWN_BLOCK: {}}),
    ]
    put_chunk(ada.root, {"observations": [*bad, row("obs-good")], "mutations": [{"entity": "observation"}]})

    read = ada.imported()

    assert ada.titles() == ["obs-good"]
    assert len(read.unreadable) == 5
    assert any("obs-odd" in one.reason and "personal" in one.reason for one in read.unreadable)


def test_importing_twice_or_in_another_order_changes_nothing(ada: Member, bob: Member, tmp_path: Path) -> None:
    for number in range(4):
        ada.save(f"Tokens {number}", topic_key="decision/tokens")
        ada.shared()
    names = sorted(path.name for path in ada.chunks.iterdir())
    bob.git("pull", "-q")
    aside = tmp_path / "aside"
    shutil.move(bob.chunks, aside)
    bob.chunks.mkdir()

    for name in reversed(names):
        shutil.copy(aside / name, bob.chunks / name)
        bob.imported()
    with bob.app.store.transaction():
        bob.app.store.execute("delete from sync_chunks")
    again = bob.imported()

    assert again.applied.applied == 0
    assert again.chunks == 4
    assert bob.digest() == ada.digest()


# --- whose memory ----------------------------------------------------------------------------------------


def test_a_clone_cannot_write_into_another_projects_memory(ada: Member) -> None:
    kept = ada.keeps_elsewhere("bank", Draft("Account", "The account is at the corner."))
    ada.app.save(Draft("Plan", "Nobody else's business."), project="notes-old")
    ada.app.merging.merge(["notes-old"], "notes")
    sync_id = str(ada.app.store.value("select sync_id from observations where id = :id", id=kept))
    late = {OWN_BLOCK: {"clock": f"{1999999999999:012x}-0000-aa"}}
    moment = "2026-01-01T10:00:00.000Z"
    version = version_key(sync_id, version_digest(moment, "t", "injected"))

    def change(entity: str, key: str, op: str, **payload: object) -> dict[str, object]:
        named = {"entity": entity, "entity_key": key, "op": op, "project": "widgets", "occurred_at": moment}
        return {**named, "payload": {**payload, **late}}

    put_chunk(
        ada.root,
        {
            "observations": [
                row("obs-1", project="bank"),
                row("obs-2", **{OWN_BLOCK: {"entry": {"project": "widgets"}}}, project="bank"),
                row(sync_id, content="Robbed.", **late),
            ],
            OWN_BLOCK: {"format": 1},
            "mutations": [
                change("observation", sync_id, "delete", sync_id=sync_id, hard_delete=True),
                change("project", "bank", "delete"),
                change("alias", "notes-old", "delete"),
                change("version", version, "upsert", title="t", content="injected", created_at=moment),
            ],
        },
    )

    read = ada.imported()

    assert read.applied.applied == 0
    assert read.left_out == {"bank": 6, "notes-old": 1}
    whole = ada.app.get(kept).observation
    assert (whole.content, whole.project) == ("The account is at the corner.", "bank")
    assert ada.app.store.value("select project from project_aliases where alias = 'notes-old'") == "notes"
    assert ada.app.store.value("select count(*) from observation_versions where content = 'injected'") == 0


@pytest.mark.parametrize("key", ["notes", "NOTES", "diary", "notes-old", "bank"])
def test_an_alias_cannot_take_over_another_project(key: str, ada: Member) -> None:
    ada.keeps_elsewhere("bank", Draft("Account", "At the corner."))
    ada.app.save(Draft("Plan", "Nobody else's business."), project="notes-old")
    ada.app.merging.merge(["notes-old"], "notes")
    ada.app.prompts.save("Dear diary", project="diary")
    takes = {"entity": "alias", "entity_key": key, "op": "upsert", "project": "widgets",
             "payload": {"alias": key, "project": "widgets", OWN_BLOCK: {"clock": f"{1999999999999:012x}-0000-aa"}},
             "occurred_at": "2026-01-01 00:00:00"}  # fmt: skip
    put_chunk(ada.root, {"mutations": [takes]})
    ada.save("One")

    done = ada.sync.sync()

    assert done.read is not None
    assert f"engram projects merge {key.lower()} --into widgets" in done.read.unreadable[0].reason
    assert ada.app.store.value("select project from observations where title = 'Plan'") == "notes"
    assert b"Nobody else's business." not in ada.texts()
    assert b"Dear diary" not in ada.texts()


def test_a_project_that_got_a_new_name_elsewhere_gets_it_here(ada: Member, bob: Member) -> None:
    ada.app.save(Draft("Old", "Said in gears."), project="gears")
    ada.exported(project="gears")
    ada.app.merging.merge(["gears"], "widgets")
    ada.shared("One")
    done = bob.pulled()
    assert done.read is not None
    assert (done.read.left_out, bob.titles()) == ({}, ["Old", "One"])
    bob.save("Said meanwhile")
    ada.app.merging.merge(["widgets"], "gadgets")
    ada.shared("Two")

    done = bob.pulled()
    assert done.project == "gadgets"
    bob.shared()
    ada.pulled()

    assert ada.titles() == bob.titles() == ["Old", "One", "Said meanwhile", "Two"]
    assert ada.digest() == bob.digest()


def test_a_new_name_that_is_another_project_here_is_not_taken(ada: Member) -> None:
    ada.keeps_elsewhere("bank", Draft("Account", "At the corner."))
    ada.save("One")
    renames = {"entity": "alias", "entity_key": "widgets", "op": "upsert", "project": "bank",
               "payload": {"alias": "widgets", "project": "bank"}, "occurred_at": "2026-01-01 00:00:00"}  # fmt: skip
    put_chunk(ada.root, {"mutations": [renames]})

    done = ada.sync.sync()

    assert done.read is not None
    assert (done.project, done.read.left_out) == ("widgets", {"bank": 1})
    assert b"Account" not in ada.texts()


@pytest.mark.parametrize("memory", ["observations", "prompts"])
def test_an_engram_json_that_came_with_a_clone_is_not_given_another_projects_memory(memory: str, ada: Member) -> None:
    kept = ada.keeps_elsewhere("bank", Draft("Account", "At the corner."))
    if memory == "prompts":
        with Engram(settings=ada.app.settings, directory=ada.root.parent / "bank") as elsewhere:
            elsewhere.prompts.save("Dear diary")
            elsewhere.observations.delete(kept, hard=True)
    (ada.root / ".engram.json").write_text('{"project": "bank"}', encoding="utf-8")
    with Engram(settings=ada.app.settings, directory=ada.root) as lured:
        with raising(SyncError, "unconfirmed_project", match="bank"):
            lured.git_sync.sync()
        assert not ada.chunks.exists()

        assert lured.git_sync.sync(project="bank").project == "bank"
        ada.save("Later")
        assert lured.git_sync.sync().project == "bank"


def test_what_a_process_was_told_to_use_does_not_decide_what_a_repository_is_given(ada: Member) -> None:
    with Engram(settings=ada.app.settings, directory=ada.root, project="diary") as told:
        told.save(Draft("Dear diary", "Nothing happened."))
        assert told.git_sync.sync().project == "widgets"

    assert not ada.chunks.exists()


# --- a disk that does not play along ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (errno.ENOSPC, "no space is left"),
        (errno.EROFS, "cannot be written"),
        (errno.EACCES, "cannot be written"),
    ],
)
def test_an_unwritable_folder_is_still_read_and_loses_nothing(
    number: int, reason: str, ada: Member, bob: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    bob.shared("One")
    ada.git("pull", "-q")
    ada.save("Two")
    ada.sync.devices()
    before = ada.names()

    def failing(descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(SyncFolderError, match=reason):
        ada.sync.sync()
    monkeypatch.undo()

    assert (ada.titles(), ada.names()) == (["One", "Two"], before)
    assert ada.exported().rows == 3  # the project, the session and the observation


def test_a_crash_after_the_file_writes_the_same_chunk_again(ada: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    ada.save("One")

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(table, "add_range", killed)
    with pytest.raises(KeyboardInterrupt):
        ada.exported()
    monkeypatch.undo()
    assert len(ada.names()) == 1
    before = ada.names()

    done = ada.sync.sync()

    assert ada.names() == before
    assert done.read is not None
    assert done.read.applied.applied == 0
    assert [entry["id"] for entry in ada.manifest()["chunks"]] == [before[0].partition(".")[0]]


def test_a_chunk_keeps_the_rows_that_an_import_keeps_and_names_what_is_cut(ada: Member, tmp_path: Path) -> None:
    bare = {"content": "The driver must not import its entry point twice.", "project": "widgets"}
    wrong = row("obs-topic", topic_key="!!!", type="x" * 300)
    document = {"observations": [bare, wrong, row("obs-long", title="", content="kiln " * 20_000)], "prompts": [bare]}
    (tmp_path / "x.json").write_text(json.dumps({"version": "0.2.0", **document}))
    put_chunk(ada.root, document)

    done = ada.pulled()
    with Engram(data_dir=tmp_path / "other") as other:
        other.transfer.import_file(tmp_path / "x.json")
        imported = other.store.rows("select sync_id, title, type, topic_key, session_id from observations order by 1")

    kept = ada.app.store.rows("select sync_id, title, type, topic_key, session_id from observations order by 1")
    assert [tuple(one) for one in kept] == [tuple(one) for one in imported]
    assert done.read is not None
    assert "obs-long: kept 50,000 of 100,000 bytes" in done.read.cut[0].reason
