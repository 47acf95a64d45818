"""Two clones of one repository, lost chunks, and reading that stays within its share of time."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from engram_py import Draft, Engram
from engram_py.base.dataclass import replace
from engram_py.base.settings import Settings
from engram_py.interfaces.wording.sync import synced
from engram_py.sharing.sync.git import importer, service
from engram_py.sharing.sync.git.table import ChunksWritten
from engram_py.sharing.sync.mutation import AppliedBatch, Mutation
from tests.sharing.sync.git.conftest import Joining, Member, put_chunk, settled
from tests.support import RepoMaker


def test_what_one_saved_the_other_finds_after_a_pull_and_does_not_write_again(ada: Member, bob: Member) -> None:
    ada.app.observations.pin(ada.save("Token lifetime", "Fifteen minutes.", topic_key="decision/tokens"))
    ada.shared()

    done = bob.pulled()

    assert done.read is not None
    assert done.read.chunks == 1
    assert (bob.titles(), bob.digest(), bob.names()) == (["Token lifetime"], ada.digest(), ada.names())
    pinned = bob.app.store.row("select pinned, topic_key from observations")
    assert pinned is not None
    assert tuple(pinned) == (1, "decision/tokens")
    assert bob.app.store.value("select count(*) from sync_present") == 0
    for member in (ada, bob):
        done = member.sync.sync()
        assert done.read is not None
        assert done.written is not None
        assert (done.read.chunks, done.written.chunks) == (0, ())
        assert member.git("status", "--porcelain") == ""


def test_two_people_who_sync_on_two_branches_merge_without_a_conflict(ada: Member, bob: Member) -> None:
    ada.shared("Before the branches")
    bob.pulled()
    ada.git("checkout", "-q", "-b", "left")
    bob.git("checkout", "-q", "-b", "right")
    for number in range(3):
        ada.save(f"Ada {number}")
        bob.save(f"Bob {number}")
        for member in (ada, bob):
            member.sync.sync()
            member.commit()
    ada.git("push", "-q", "origin", "left")
    bob.git("fetch", "-q")

    bob.git("merge", "-q", "--no-edit", "origin/left")
    bob.sync.sync()

    assert sorted(entry["id"] for entry in bob.manifest()["chunks"]) == [n.partition(".")[0] for n in bob.names()]
    assert len(bob.names()) == 7
    bob.commit()
    bob.git("push", "-q", "origin", "right")
    ada.git("pull", "-q", "--no-rebase", "--no-edit", "origin", "right")
    ada.sync.sync()
    assert ada.digest() == bob.digest()
    assert len(ada.titles()) == 7


def test_a_manifest_that_is_lost_or_has_conflict_marks_heals_from_the_chunks(ada: Member, bob: Member) -> None:
    ada.shared("One")
    bob.save("Two")
    bob.sync.sync()
    path = bob.root / ".engram" / "manifest.json"
    theirs, before = path.read_text(encoding="utf-8"), path.read_bytes()
    path.write_text(
        f'<<<<<<< HEAD\n{theirs}=======\n{{"version": 1, "chunks": [{{"id": "../../x"}}]\n>>>>>>> x\n', encoding="utf-8"
    )

    bob.sync.sync()

    assert [entry["id"] for entry in bob.manifest()["chunks"]] == [name.partition(".")[0] for name in bob.names()]
    assert bob.manifest()["chunks"][0]["created_by"] == "Bob"
    for damage in (b"", b"garbage \xff{{{", b"[]", b'{"version": 1, "chunks": null}', None):
        path.unlink() if damage is None else path.write_bytes(damage)
        bob.sync.sync()
        assert path.read_bytes() == before


def test_edits_of_both_and_a_deletion_settle_to_the_same_memory(ada: Member, bob: Member) -> None:
    ada.save("Tokens", "Fifteen minutes.", topic_key="decision/tokens")
    doomed = ada.save("Doomed")
    settled([ada, bob])
    ada.save("Tokens", "An hour.", topic_key="decision/tokens")
    bob.save("Tokens", "A day, Bob says.", topic_key="decision/tokens")
    ada.app.observations.delete(doomed, hard=True)

    settled([ada, bob])

    assert ada.digest() == bob.digest()
    assert ada.titles() == bob.titles() == ["Tokens"]
    texts = ada.app.store.rows("select content from observation_versions order by content")
    assert {"Fifteen minutes.", "An hour."} <= {row["content"] for row in texts}


@pytest.mark.parametrize("kind", ["clone", "worktree"])
def test_two_working_copies_of_one_person_do_not_write_everything_twice(
    kind: str, ada: Member, join: Joining, tmp_path: Path
) -> None:
    ada.save("One")
    ada.shared("Two")
    folder = tmp_path / "tree"
    if kind == "clone":
        folder = join("other").root
    else:
        ada.git("worktree", "add", "-q", str(folder), "-b", "side")
    with Engram(settings=Settings(tmp_path / "ada" / "data"), directory=folder) as same_memory:
        done = same_memory.git_sync.sync()

    assert done.written is not None
    assert done.written.chunks == ()
    assert json.loads((folder / ".engram" / "manifest.json").read_text(encoding="utf-8")) == ada.manifest()


def test_an_incremental_export_holds_the_changed_row_alone(ada: Member) -> None:
    for number in range(30):
        ada.save(f"Memory {number}")
    ada.shared()
    ada.save("The new one")

    written = ada.exported()

    assert written.rows == 1
    assert len(ada.names()) == 2


def test_neither_secrets_nor_personal_rows_nor_raw_turns_are_in_any_chunk(ada: Member) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 4
    ada.save("Deploy", f"The token is {secret}, used by CI. <private>hunter two</private>")
    ada.save("Mine", "A very personal sentence.", scope="personal")
    ada.exported()

    said = ada.texts()

    assert b"used by CI" in said
    for hidden in (secret.encode(), b"hunter two", b"very personal"):
        assert hidden not in said


def test_a_folder_that_engram_wrote_is_read_and_its_manifest_left_as_it_is(ada: Member, bob: Member) -> None:
    row = {
        "id": 7, "sync_id": "obs-engram", "session_id": "s-9", "type": "bugfix", "title": "Cache key",
        "content": "The cache key lacked the tenant.", "project": "widgets", "scope": "project", "pinned": True,
        "revision_count": 1, "duplicate_count": 1, "review_after": "2027-01-01 00:00:00",
        "created_at": "2026-01-01 10:00:00", "updated_at": "2026-01-01 10:00:00", "deleted_at": None,
    }  # fmt: skip
    session = {"id": "s-9", "project": "widgets", "directory": "/w", "started_at": "2026-01-01 09:00:00"}
    chunk = put_chunk(ada.root, {"sessions": [session], "observations": [row], "prompts": None})
    entry = {"id": chunk, "created_by": "alan", "created_at": "2026-01-01T10:00:01Z"}
    counts = {"sessions": 1, "memories": 1, "prompts": 0}
    manifest = ada.root / ".engram" / "manifest.json"
    manifest.write_text(json.dumps({"version": 1, "chunks": [entry | counts]}, indent=2), encoding="utf-8")
    before = manifest.read_bytes()

    assert ada.imported().chunks == 1

    assert manifest.read_bytes() == before
    found = ada.app.store.row("select pinned, review_after, revision_count from observations")
    assert found is not None
    assert tuple(found) == (1, "2027-01-01T00:00:00.000Z", 1)
    ada.shared("Our own")
    assert {one["id"]: one["created_by"] for one in ada.manifest()["chunks"]}[chunk] == "alan"
    bob.pulled()
    assert bob.digest() == ada.digest()


def test_prompts_of_somebody_who_shares_hers_arrive_and_their_end_is_told(join: Joining) -> None:
    ada, bob = join("ada"), join("bob")
    ada.app.settings = replace(ada.app.settings, sync_prompts=True)
    kept = ada.app.prompts.save("which port does the gateway use?")
    ada.app.prompts.save("who wrote the parser?")
    ada.shared()
    bob.pulled()
    bob.app.prompts.save("what of bob's own?")

    assert {prompt.content for prompt in bob.app.prompts.recent()} >= {
        "which port does the gateway use?",
        "who wrote the parser?",
    }
    ada.app.prompts.delete(kept.id)
    ada.shared()
    bob.pulled()

    assert b"bob's own" not in bob.texts()
    assert "which port does the gateway use?" not in {prompt.content for prompt in bob.app.prompts.recent()}


def test_machines_that_share_no_prompts_hold_the_same_memory(ada: Member, bob: Member) -> None:
    ada.save("Tokens")
    ada.app.prompts.save("what did ada ask?")
    bob.app.prompts.save("what did bob ask?")
    settled([ada, bob])

    assert ada.digest() == bob.digest()


def test_a_deleted_chunk_is_written_again_as_it_was_and_everything_when_asked_for(ada: Member) -> None:
    for number in range(3):
        ada.save(f"Memory {number}")
        ada.shared()
    before = {path.name: path.read_bytes() for path in ada.chunks.iterdir()}
    (ada.chunks / ada.names()[1]).unlink()

    written = ada.exported()

    assert (written.again, written.lost) == (True, 1)
    assert {path.name: path.read_bytes() for path in ada.chunks.iterdir()} == before
    assert ada.git("status", "--porcelain") == ""
    assert ada.exported(again=True).rows == 5  # the project, the session, three observations
    assert len(ada.names()) == 4
    assert ada.exported().chunks == ()


def test_a_damaged_chunk_of_ones_own_is_written_again_under_a_longer_name(ada: Member, bob: Member) -> None:
    ada.shared("One")
    [name] = ada.names()
    (ada.chunks / name).write_bytes(b"half")

    repaired = ada.shared().written

    assert repaired is not None
    assert repaired.lost == 1
    assert len(ada.names()) == 2
    done = bob.pulled()
    assert done.read is not None
    assert [one.chunk for one in done.read.refused] == [name.partition(".")[0]]
    assert bob.titles() == ["One"]


def test_a_fresh_folder_is_given_everything_whoever_it_came_from(ada: Member, bob: Member, join: Joining) -> None:
    ada.shared("From Ada")
    bob.pulled()
    bob.shared("From Bob")
    bob.git("rm", "-r", "-q", ".engram")
    bob.commit()
    shutil.rmtree(bob.root / ".engram", ignore_errors=True)
    bob.git("push", "-q", "origin", "HEAD")

    eve = join("eve")
    assert eve.sync.sync(format="chunks").written == ChunksWritten()
    written = bob.exported(format="chunks")
    assert (written.again, written.lost) == (True, 1)
    bob.shared()

    eve.pulled()
    assert eve.titles() == ["From Ada", "From Bob"]
    assert eve.digest() == bob.digest()


def test_a_chunk_that_another_branch_has_is_not_lost(ada: Member) -> None:
    ada.shared("On main")
    ada.git("checkout", "-q", "-b", "feature")
    ada.save("On the feature branch")
    ada.sync.sync()
    ada.commit()
    ada.git("checkout", "-q", "main")

    done = ada.sync.sync()

    # Written here once more, it would stand in git's way when the branches are changed back.
    assert done.written is not None
    assert done.written.chunks == ()
    assert ada.sync.status().elsewhere == 1
    ada.git("checkout", "-q", "feature")
    ada.git("checkout", "-q", "main")
    ada.git("merge", "-q", "feature")
    assert ada.sync.status().elsewhere == 0


def test_a_chunk_whose_branch_was_thrown_away_is_written_again(ada: Member, bob: Member) -> None:
    ada.git("checkout", "-q", "-b", "feature")
    ada.save("Said on a branch that nobody merged")
    ada.sync.sync()
    ada.commit()
    ada.git("checkout", "-q", "main")
    ada.git("branch", "-q", "-D", "feature")

    ada.shared()

    bob.pulled()
    assert bob.titles() == ["Said on a branch that nobody merged"]


def test_a_deletion_after_the_chunk_was_lost_is_what_is_written(ada: Member, bob: Member) -> None:
    doomed = ada.save("Doomed")
    ada.shared()
    bob.pulled()
    ada.app.observations.delete(doomed, hard=True)
    (ada.chunks / ada.names()[0]).unlink()

    ada.shared()

    bob.pulled()
    assert bob.titles() == []
    assert b"Doomed" not in ada.texts()


def document(rows: int, *, length: int = 20, first: int = 0) -> dict[str, Any]:
    observations = [
        {
            "sync_id": f"obs-{number:016x}",
            "session_id": "s1",
            "type": "decision",
            "title": f"row {number}",
            "content": f"{number} " + "x" * length,
            "project": "widgets",
            "scope": "project",
            "created_at": "2026-02-01 10:00:00",
            "updated_at": "2026-02-01 10:00:00",
        }
        for number in range(first, first + rows)
    ]
    session = {"id": "s1", "project": "widgets", "directory": "~/w", "started_at": "2026-02-01 10:00:00"}
    return {"sessions": [session], "observations": observations, "prompts": []}


def test_reading_goes_on_where_it_stopped(ada: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importer, "_LONGEST_STEP", 5)
    monkeypatch.setattr(importer, "_FIRST_STEP", 5)
    put_chunk(ada.root, document(12))
    applied: list[int] = []
    apply = ada.app.replica.apply

    def counted(rows: Sequence[Mutation], **told: Any) -> AppliedBatch:
        applied.append(len(rows))
        return apply(rows, **told)

    monkeypatch.setattr(ada.app.replica, "apply", counted)

    reads = [ada.sync.read_new(until=time.monotonic()) for _ in range(2)]  # no time: a step each
    last = ada.sync.read_new(until=time.monotonic() + 60)

    assert all(one is None or one.read is None or one.read.more for one in reads)
    assert last is not None
    assert sum(applied) == 13  # the session and the rows, each once
    assert len(ada.titles()) == 12


def test_a_chunk_that_unpacks_to_much_is_left_to_a_reading_that_nobody_waits_for(ada: Member) -> None:
    put_chunk(ada.root, document(120, length=40_000))
    small = put_chunk(ada.root, document(1, first=1000))

    done = ada.sync.read_new(until=time.monotonic() + 60)

    assert done is not None
    assert done.read is not None
    assert (done.read.chunks, done.read.more, ada.titles()) == (1, True, ["row 1000"]), small
    ada.sync.read_rest(until=time.monotonic() + 60)
    assert len(ada.titles()) == 121


def test_what_a_folder_adds_unasked_is_bounded_and_said(ada: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "UNASKED_BYTES", 100_000)
    put_chunk(ada.root, document(100, length=500))
    put_chunk(ada.root, document(100, length=501, first=500))

    ada.sync.read_new(until=time.monotonic() + 60)
    [refusal] = ada.sync.status().refused

    assert len(ada.titles()) == 100
    assert "`engram sync` reads it" in refusal.reason
    assert ada.sync.read_new(until=time.monotonic() + 60) is None  # it is not looked at again
    ada.imported()
    assert len(ada.titles()) == 200


@pytest.mark.parametrize("everything", [False, True], ids=["one", "all"])
def test_two_owners_repositories_of_one_name_are_never_mixed(
    tmp_path: Path, make_repo: RepoMaker, everything: bool
) -> None:
    acme, remote = make_repo("there/api", remote="https://github.com/acme/api.git"), "https://github.com/acme/api.git"
    work, here = make_repo("work/api", remote="https://github.com/work/api.git"), make_repo("acme/api", remote=remote)
    with (
        Engram(tmp_path / "ada", directory=acme) as ada,
        Engram(tmp_path / "bob", directory=work) as other,
        Engram(tmp_path / "bob", directory=here) as bob,
    ):
        ada.save(Draft("Acme cutover", "The acme cutover runs at noon."))
        ada.git_sync.sync(format="chunks")
        assert other.save(Draft("Work cutover", "The work cutover runs at midnight.")).project == "api"
        assert bob.save(Draft("Acme local", "Something of acme.")).project == "acme-api"
        shutil.copytree(acme / ".engram", here / ".engram")

        done = bob.git_sync.sync(all_projects=everything, format="chunks")

        rows = bob.store.rows("select title, project, session_id from observations order by title")
        assert [tuple(row) for row in rows] == [
            ("Acme cutover", "acme-api", "manual-save-acme-api"),
            ("Acme local", "acme-api", "manual-save-acme-api"),
            ("Work cutover", "api", "manual-save-api"),
        ]
        assert done.read is not None
        assert (done.read.left_out, done.others) == ({}, ())
        if not everything:
            shutil.copytree(here / ".engram", acme / ".engram", dirs_exist_ok=True)
            ada.git_sync.sync()
            found = ada.store.rows("select title, project from observations order by title")
            assert [tuple(row) for row in found] == [("Acme cutover", "api"), ("Acme local", "api")]


def test_nobody_is_told_to_import_what_is_another_repositorys_here(tmp_path: Path, make_repo: RepoMaker) -> None:
    there, here = make_repo("there/tools"), make_repo("here/kiosk", remote="https://github.com/acme/kiosk.git")
    with (
        Engram(tmp_path / "ada", directory=there) as ada,
        Engram(tmp_path / "bob", directory=make_repo("own/tools")) as other,
        Engram(tmp_path / "bob", directory=here) as bob,
    ):
        ada.save(Draft("Foreign tools", "The tools of somebody else."))
        ada.git_sync.sync(format="chunks")
        other.save(Draft("Own tools", "The tools of this machine."))
        bob.save(Draft("Kiosk", "The clock of the kiosk."))
        shutil.copytree(there / ".engram", here / ".engram")

        done = bob.git_sync.sync()

        assert done.others == ("tools",)
        assert not any("--project tools" in line for line in synced(done))


def test_a_copied_repository_reads_the_chunks_of_its_folder_itself(tmp_path: Path, make_repo: RepoMaker) -> None:
    repo = make_repo("rocket", remote="https://github.com/acme/rocket.git")
    with Engram(tmp_path / "ada", directory=repo) as ada:
        ada.save(Draft("Fuel", "The fuel is kerosene."))
        ada.git_sync.sync(format="chunks")
        shutil.copytree(repo, tmp_path / "copy")
        with Engram(tmp_path / "ada", directory=tmp_path / "copy") as copy:
            read = copy.git_sync.sync().read
            assert read is not None
            assert read.chunks == 1
        again = ada.git_sync.sync().read
        assert again is not None
        assert again.chunks == 0
