"""A folder that lost chunks gets them again; one that only stands on another branch does not."""

from __future__ import annotations

import shutil

from engram_py.sync.git.table import ChunksWritten
from tests.sync.git.conftest import Joining, Member


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
    assert eve.sync.sync().written == ChunksWritten()
    written = bob.exported()
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
