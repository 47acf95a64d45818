"""A rebuild of the index: the answers are the same before and after, whoever writes or dies in the middle."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

import pytest

from engram_py import Draft, Engram
from engram_py.base.database import fts, soundness
from engram_py.base.settings import Settings
from engram_py.memory.observations.values import Change
from engram_py.upkeep import reindex
from engram_py.upkeep.reindex import Reindexing
from engram_py.upkeep.values import Reindexed
from tests.sharing.interchange.transfer_files import furnish
from tests.support import FakeClock, Opener, draft
from tests.upkeep.index_contents import contents

QUERIES = (
    "token lifetime", "rateLimit", "rate_limit", "user", "令牌的有效期", "Zurich", "what did we decide about ports",
    "auth/tokens", "#2", "session", "getUserById", "deleted",
)  # fmt: skip
WORDS = ("token", "lifetime", "getUserById", "rate_limit", "Zürich", "令牌的有效期", "port", "src/auth/session.py")


@pytest.fixture(scope="module")
def lived_in_once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, datetime]:
    """A memory made through saves, revisions, corrections, deletes, a merge, an import, captures and prompts."""
    clock, folder = FakeClock(), tmp_path_factory.mktemp("lived_in")
    with Engram(settings=Settings(folder, clock=clock), directory=folder, project="widgets") as app:
        furnish(app)
        for number in range(40):
            words = " ".join(WORDS[(number * step) % len(WORDS)] for step in (1, 2, 3, 5))
            place = "widgets" if number % 3 else "gizmos"
            topic = f"auth/{number % 7}" if number % 5 == 0 else None
            aliases = ("expiry", "有效期") if number % 4 == 0 else ()
            app.save(Draft(f"{WORDS[number % 8]} {number}", words, topic_key=topic, aliases=aliases), project=place)
            clock.advance(minutes=20)
        app.observations.update(9, Change(title="Ports we decided about"))
        app.observations.delete(10)
        app.observations.delete(11, hard=True)
        app.prompts.save("What did we decide about rate_limit?")
        app.episodes.capture("## Key Learnings\n- getUserById is slow\n- 令牌的有效期 is fifteen minutes\n")
        file = folder / "memory.json"
        app.transfer.export(file, project="gizmos")
        app.merging.merge(["gizmos"], "widgets")
        app.transfer.import_file(file)
        return app.store.path, clock.now


@pytest.fixture
def lived_in(lived_in_once: tuple[Path, datetime], data_dir: Path, clock: FakeClock, open_memory: Opener) -> Engram:
    """A copy of that memory."""
    path, clock.now = lived_in_once
    data_dir.mkdir(mode=0o700)
    shutil.copy(path, data_dir)
    return open_memory()


def answers(app: Engram) -> bytes:
    """What every query answers, as bytes. Being shown counts, so nobody is shown anything here."""
    with app.usage.paused():
        results = [asdict(app.search(query, all_projects=True, limit=20)) for query in QUERIES]
    return json.dumps(results, default=str).encode()


def spoil(app: Engram) -> None:
    """Terms as an older version would have derived them."""
    with app.store.transaction():
        app.store.execute("update observations set terms = 'older terms'")
        app.store.execute("update user_prompts set terms = 'older terms'")


def at_once(app: Engram) -> Reindexing:
    return Reindexing(app.store, pause=lambda seconds: None)


def test_a_rebuild_changes_no_byte_of_any_answer_and_leaves_nothing_of_the_work(lived_in: Engram) -> None:
    def schema() -> set[tuple[str, str]]:
        return {(row[0], row[1]) for row in lived_in.store.rows("select type, name from sqlite_master")}

    before, held = answers(lived_in), contents(lived_in)
    tables, facts = schema(), lived_in.store.rows("select * from meta")
    told: list[tuple[int, int]] = []

    rebuilt = lived_in.reindexing.run(progress=lambda done, total: told.append((done, total)))

    assert (schema(), lived_in.store.rows("select * from meta")) == (tables, facts)
    assert answers(lived_in) == before
    assert contents(lived_in) == held
    assert (rebuilt.rewritten, rebuilt.resumed, rebuilt.mended) == (0, False, False)
    assert rebuilt.observations == lived_in.store.value("select count(*) from observations")
    assert rebuilt.prompts == lived_in.store.value("select count(*) from user_prompts") > 0
    total = fts.count(lived_in.store)
    assert told[-1] == (total, total)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_terms_of_another_version_are_derived_again(lived_in: Engram) -> None:
    before, held = answers(lived_in), contents(lived_in)
    queued = lived_in.store.rows("select * from sync_mutations")
    spoil(lived_in)
    assert contents(lived_in) != held

    rebuilt = lived_in.reindexing.run()

    assert answers(lived_in) == before
    assert contents(lived_in) == held
    assert rebuilt.rewritten == rebuilt.observations + rebuilt.prompts  # the deleted ones too
    assert lived_in.store.rows("select * from sync_mutations") == queued


def test_an_index_that_says_something_else_is_made_right(lived_in: Engram) -> None:
    held = contents(lived_in)
    with lived_in.store.transaction():
        lived_in.store.execute("insert into observations_fts (observations_fts) values ('delete-all')")
        lived_in.store.execute("insert into observations_fts (rowid, title, content) values (3, 'wrong', 'words')")
    lived_in.reindexing.run()
    assert contents(lived_in) == held


@pytest.mark.parametrize(
    "damage",
    [
        "drop trigger observations_fts_enter",
        "drop table prompts_fts",
        "drop table passages_fts",
    ],
)
def test_an_index_that_is_not_whole_is_mended_first(lived_in: Engram, damage: str) -> None:
    held = contents(lived_in)
    with lived_in.store.transaction():
        lived_in.store.execute(damage)

    assert lived_in.reindexing.run().mended

    assert contents(lived_in) == held
    assert lived_in.doctor.examine(check="schema").status == "ok"


def test_a_rebuilt_index_follows_the_table_as_before(lived_in: Engram) -> None:
    lived_in.reindexing.run()
    saved = lived_in.save(draft("Quokka facts.", title="Quokka"))
    lived_in.observations.update(saved.id, Change(content="Numbat facts."))
    lived_in.observations.delete(2)
    lived_in.prompts.save("quokkas?")
    held = contents(lived_in)
    lived_in.reindexing.run()
    assert contents(lived_in) == held
    assert lived_in.search("numbat").results[0].id == saved.id


def test_an_empty_memory_is_rebuilt(app: Engram) -> None:
    assert app.reindexing.run().observations == 0
    assert app.search("anything").results == ()


# --- others write meanwhile ---------------------------------------------------------------------------------


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reindex, "_FIRST_STEP", 2)
    monkeypatch.setattr(reindex, "_LARGEST_STEP", 2)


@pytest.mark.usefixtures("small_steps")
def test_what_others_do_between_the_steps_is_in_the_index(lived_in: Engram, open_memory: Opener) -> None:
    """Every kind of write, to rows that were indexed already and to rows that were not."""
    other = open_memory()
    other.store.lock_timeout = 0  # a step that held the lock would fail these
    spoil(lived_in)
    steps = 0

    def interfere(done: int, total: int) -> None:
        nonlocal steps
        steps += 1
        ids = [row[0] for row in other.store.rows("select id from observations where deleted_at is null order by id")]
        for place in (ids[steps % len(ids)], ids[-(steps % len(ids)) - 1]):
            match steps % 4:
                case 0:
                    other.observations.update(place, Change(content=f"Corrected in step {steps}."))
                case 1:
                    other.save(draft(f"New in step {steps}.", title=f"New {steps}"))
                case 2:
                    other.observations.delete(place, hard=steps % 8 == 2)
                    break
                case 3:
                    other.prompts.save(f"Prompt {steps}")
                    hidden = other.store.value("select id from observations where deleted_at is not null limit 1")
                    with other.store.transaction():
                        other.store.update("observations", {"id": hidden}, {"deleted_at": None, "clock": f"z{steps}"})
        found = other.search("token lifetime", all_projects=True)
        assert found.results  # the index in use is whole meanwhile

    lived_in.reindexing.run(progress=interfere)

    assert steps > 10
    held = contents(lived_in)
    lived_in.reindexing.run()
    assert contents(lived_in) == held
    assert lived_in.doctor.examine(check="search_index").status == "ok"


@pytest.mark.usefixtures("small_steps")
def test_a_row_that_changes_while_its_terms_are_derived_keeps_the_terms_of_its_new_text(
    lived_in: Engram, open_memory: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = open_memory()
    spoil(lived_in)
    rows_after = fts.rows_after
    changed = False

    def read_then_change(*where: object, **options: int) -> object:
        nonlocal changed
        rows = rows_after(*where, **options)  # type: ignore[arg-type]
        if not changed:
            other.observations.update(rows[0]["id"], Change(content="numbatBurrow is new"))
            changed = True
        return rows

    monkeypatch.setattr(fts, "rows_after", read_then_change)
    lived_in.reindexing.run()
    assert lived_in.search("burrow", all_projects=True).results[0].snippet == "numbatBurrow is new"


@pytest.mark.usefixtures("small_steps")
def test_two_rebuilds_at_once_are_one(lived_in: Engram, open_memory: Opener) -> None:
    other = open_memory()
    ran: list[Reindexed] = []
    before, held = answers(lived_in), contents(lived_in)

    def meanwhile(done: int, total: int) -> None:
        if not ran and done > total // 3:
            ran.append(at_once(other).run())

    lived_in.reindexing.run(progress=meanwhile)

    assert ran
    assert (answers(lived_in), contents(lived_in)) == (before, held)
    assert fts.unfinished(lived_in.store) == []


WRITER = """
import sys
from engram_py import Engram
from engram_py.memory.observations.values import Change, Draft

folder, name = sys.argv[1:]
with Engram(folder, directory=folder, project="widgets") as app:
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(30):
        saved = app.save(Draft(f"{name} {number}", f"What {name} learned of getUserById in {number}."))
        if number % 3 == 0:
            app.observations.update(saved.id, Change(content=f"What {name} corrected in {number}."))
        if number % 7 == 0:
            app.observations.delete(saved.id, hard=number % 2 == 0)
    print("done", flush=True)
"""


def test_processes_that_write_all_the_while_lose_nothing(lived_in: Engram, data_dir: Path) -> None:
    def writer(name: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", WRITER, str(data_dir), name]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    writers = [writer(name) for name in ("alder", "birch")]
    for one in writers:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    for one in writers:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    while any(one.poll() is None for one in writers):
        lived_in.reindexing.run()

    assert [one.communicate()[0] for one in writers] == ["done\n", "done\n"]
    held = contents(lived_in)
    lived_in.reindexing.run()
    assert contents(lived_in) == held
    assert lived_in.store.value("select count(*) from observations where title like 'alder %'") == 30 - 3


# --- stopped in the middle ----------------------------------------------------------------------------------


class StoppedError(Exception):
    """Somebody pulled the plug."""


def stop_after(app: Engram, rows: int) -> None:
    def stop(done: int, total: int) -> None:
        if done >= rows:
            raise StoppedError

    with pytest.raises(StoppedError):
        app.reindexing.run(progress=stop)


@pytest.mark.usefixtures("small_steps")
def test_a_rebuild_that_was_stopped_goes_on_from_there(lived_in: Engram) -> None:
    before, held = answers(lived_in), contents(lived_in)
    total = fts.count(lived_in.store)
    stop_after(lived_in, 20)
    assert answers(lived_in) == before
    saved = lived_in.save(draft("Numbat facts.", title="Numbat"))
    lived_in.observations.delete(9)
    lived_in.observations.delete(saved.id, hard=True)
    done: list[int] = []

    rebuilt = lived_in.reindexing.run(progress=lambda rows, of: done.append(rows))

    assert rebuilt.resumed
    assert done[-1] == total - 20
    after = contents(lived_in)
    assert not lived_in.reindexing.run().resumed
    assert contents(lived_in) == after != held


def test_only_who_has_done_everything_before_says_how_far_it_is(lived_in: Engram) -> None:
    """Of two processes that rebuild, one may die; the next goes on from where nothing is left out."""
    store, version = lived_in.store, reindex.index_version(lived_in.store)
    fts.begin(store, soundness.OBSERVATIONS, version)
    for after, last, mark in ((10, 20, 0), (0, 10, 10), (10, 20, 20), (0, 10, 20)):
        with store.transaction():
            fts.fill(store, soundness.OBSERVATIONS, version, after=after, last=last)
        assert fts.begin(store, soundness.OBSERVATIONS, version) == mark


@pytest.mark.usefixtures("small_steps")
def test_a_rebuild_of_another_version_is_begun_again(lived_in: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    held = contents(lived_in)
    with monkeypatch.context() as older:
        older.setattr(reindex, "derived_terms", lambda *texts: "older terms")
        stop_after(lived_in, 20)

    rebuilt = lived_in.reindexing.run()

    assert not rebuilt.resumed
    assert rebuilt.rewritten >= 20
    assert contents(lived_in) == held


@pytest.mark.usefixtures("small_steps")
def test_an_unfinished_rebuild_is_said_by_the_doctor(lived_in: Engram) -> None:
    stop_after(lived_in, 20)
    [check] = lived_in.doctor.examine(check="search_index").checks
    assert (check.result, check.safe_next_step) == ("warning", "run `engram reindex`")
    assert "observations_fts" in check.message
    lived_in.reindexing.run()
    assert lived_in.doctor.examine(check="search_index").status == "ok"


def test_terms_of_another_version_are_said_by_the_doctor(lived_in: Engram) -> None:
    spoil(lived_in)
    [check] = lived_in.doctor.examine(check="search_index").checks
    assert check.result == "warning"
    assert "index terms of another version" in check.message


@pytest.mark.usefixtures("small_steps")
def test_the_doctor_may_repair_the_index_in_the_middle(lived_in: Engram) -> None:
    held = contents(lived_in)
    stop_after(lived_in, 20)
    with lived_in.store.transaction():
        lived_in.store.execute("insert into observations_fts (observations_fts) values ('delete-all')")
    lived_in.doctor.examine(fix=True)
    assert contents(lived_in) == held
    lived_in.reindexing.run()
    assert contents(lived_in) == held


@pytest.mark.usefixtures("small_steps")
def test_a_rebuild_that_was_stopped_in_its_last_steps_is_finished_by_the_next(
    lived_in: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fts, "_MERGED_PAGES", 1)
    monkeypatch.setattr(fts, "_DISCARDED_PAGES", 1)
    before, held = answers(lived_in), contents(lived_in)
    left: set[str] = set()
    for pauses in range(1, 1_000):
        stopper = Stopper(pauses)
        try:
            Reindexing(lived_in.store, pause=stopper).run()
            break
        except StoppedError:
            assert fts.unfinished(lived_in.store)
            names = ("observations_fts_next", "observations_fts_old")
            left |= {name for name in names if fts.definition(lived_in.store, name)}
            assert (answers(lived_in), contents(lived_in)) == (before, held)

    assert left == {"observations_fts_next", "observations_fts_old"}
    assert (answers(lived_in), contents(lived_in)) == (before, held)
    assert fts.unfinished(lived_in.store) == []


class Stopper:
    """A pause that somebody uses to stop the program: the one of this number."""

    def __init__(self, number: int) -> None:
        self.left = number

    def __call__(self, seconds: float) -> None:
        self.left -= 1
        if not self.left:
            raise StoppedError


KILLED = """
import os, sys
from engram_py import Engram
from engram_py.upkeep import reindex
reindex._FIRST_STEP = reindex._LARGEST_STEP = 1
stop, folder = int(sys.argv[1]), sys.argv[2]

def killed(done, total):
    if done == stop:
        os.kill(os.getpid(), 9)

with Engram(folder, directory=folder, project="widgets") as app:
    app.reindexing.run(progress=killed)
"""


@pytest.mark.skipif(os.name != "posix", reason="kill -9")
def test_a_process_killed_at_any_step_leaves_a_whole_index(lived_in: Engram, data_dir: Path) -> None:
    before, held = answers(lived_in), contents(lived_in)
    total = fts.count(lived_in.store)
    for stop in (1, total // 2, total - 3, 3):
        ended = subprocess.run([sys.executable, "-c", KILLED, str(stop), str(data_dir)], check=False, timeout=60)
        assert ended.returncode in (-9, 0)
        assert (answers(lived_in), contents(lived_in)) == (before, held)

    lived_in.reindexing.run()

    assert (answers(lived_in), contents(lived_in)) == (before, held)
    assert fts.unfinished(lived_in.store) == []
