"""Files that Engram itself wrote arrive whole, whether as its database, its export or its folder of chunks."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from engram_py import Draft, Engram
from engram_py.interfaces.wording import render
from engram_py.memory.observations.values import Change
from engram_py.memory.sessions import table as session_table
from engram_py.sharing.interchange.results import Counts, Imported, InvalidSourceError
from tests.sharing.interchange.interop import FILES, WAYS, database, from_database, from_folder, kept, unpack
from tests.sharing.interchange.transfer_files import imported, observation
from tests.sharing.sync.git.conftest import is_root, put_chunk
from tests.support import FakeClock

WAY = pytest.mark.parametrize("way", WAYS)


@pytest.fixture(autouse=True)
def later(clock: FakeClock) -> None:
    """Engram wrote the files before: what is dated ahead of a machine waits for its time."""
    clock.advance(days=300)


KINDS = ("sessions", "observations", "prompts", "relations", "versions", "tombstones")


def accounted(done: Imported) -> dict[str, int]:
    """How many rows of each kind were read; what became of them adds up to it."""
    for name in KINDS:
        one: Counts = getattr(done, name)
        assert one.read == one.new + one.newer + one.skipped + one.invalid, name
        assert sum(one.reasons.values()) == one.skipped + one.invalid, name
    return {name: getattr(done, name).read for name in KINDS if getattr(done, name).read}


def exported() -> Any:
    return json.loads((FILES / "export.json").read_text(encoding="utf-8"))


def changed(folder: Path, script: str) -> Path:
    """Engram's database after more happened in it."""
    path = database(folder)
    with closing(sqlite3.connect(path)) as db:
        db.executescript(script)
    return path


@WAY
def test_every_row_arrives_as_it_was_and_under_its_number(here: Engram, root: Path, way: str) -> None:
    WAYS[way](here, root)

    document = exported()
    names = ("id", "sync_id", "session_id", "type", "title", "content", "project", "scope", "revision_count")
    there = [(*(row[name] for name in names), row.get("topic_key")) for row in document["observations"]]
    assert kept(here, ", ".join((*names, "topic_key"))) == there
    assert kept(here, "id", "observations where deleted_at is not null") == [(13,)]
    assert {row[0] for row in kept(here, "origin")} == {"import"}
    assert kept(here, "id, content", "user_prompts") == [(row["id"], row["content"]) for row in document["prompts"]]
    assert kept(here, "id, directory", "sessions") == [(f"s-{number}", "/src/widgets") for number in (1, 2, 3)]
    assert [hit.id for hit in here.search("busqueda acentos").results] == [12]
    verdicts = [
        ("obs-2a49101538b127d2", "obs-cdb02b382dea9325", "supersedes", "judged", "moved after the restart"),
        ("obs-7d6bb37a134548ee", "obs-2a49101538b127d2", "supersedes", "judged", "moved"),
    ]
    columns = "source_id, target_id, relation, judgment_status, reason"
    # An export of 0.1.0 has no relations.
    assert kept(here, columns, "memory_relations", "sync_id") == ([] if way == "export" else verdicts)
    assert here.doctor.examine(check="orphans").status == "ok"
    # The next step of the last summary of one's own history stands first in a new session.
    for context in (here.contexts.assemble(unasked=True), here.contexts.assemble(query="where were we?", unasked=True)):
        told = [
            line
            for line in render.text(context, now=here.journal.moment(), door="python").splitlines()
            if "; next: " in line
        ]
        if way == "folder":  # nobody signed it: whoever else writes there is not the user
            assert told == []
        else:
            assert ("[#15]" in told[0], "next: Write the migration" in told[0]) == (True, True)


@WAY
def test_a_summary_or_a_save_with_a_topic_key_takes_no_imported_row(here: Engram, root: Path, way: str) -> None:
    WAYS[way](here, root)
    before = kept(here, "id, title, content, revision_count, topic_key")

    saved = here.episodes.summarize("## Goal\nAnother day\n\n## Next Steps\n- Ship it", session_id="s-new")
    again = here.episodes.summarize("## Goal\nAnother day\n\n## Next Steps\n- Rest", session_id="s-new")
    topic = "bug/fixed-token-refresh-race"
    other = here.save(Draft("Fixed token refresh race", "Another cause.", "bugfix", topic_key=topic))

    assert (saved.outcome, saved.id, again.outcome, again.id) == ("added", 16, "updated", 16)
    assert other.outcome == "added"
    assert kept(here, "id, title, content, revision_count, topic_key", "observations where id < 16") == before


@WAY
@pytest.mark.parametrize("first", WAYS)
def test_whatever_was_read_before_nothing_arrives_twice(here: Engram, root: Path, first: str, way: str) -> None:
    WAYS[first](here, root)
    before = kept(here, "id, sync_id, title, content, revision_count, deleted_at"), kept(here, "id", "user_prompts")

    WAYS[way](here, root)

    after = kept(here, "id, sync_id, title, content, revision_count, deleted_at"), kept(here, "id", "user_prompts")
    assert after == before
    assert here.store.value("select count(*) from observation_versions") == 0


def test_the_answer_accounts_for_every_row_of_each_way(here: Engram, root: Path) -> None:
    rows = {"sessions": 3, "observations": 14, "prompts": 3}

    done = here.importers.adopt("engram", database(root))
    again = here.importers.adopt("engram", database(root))
    from_file = here.transfer.import_file(FILES / "export.json")

    assert accounted(done) == accounted(again) == rows | {"relations": 2}
    assert accounted(from_file) == rows
    assert (done.observations.new, again.observations.skipped, from_file.observations.skipped) == (14, 14, 14)
    assert "observations: 14 read, 0 new, 0 updated, 14 skipped (already here, the same or newer: 14)" in render.text(
        again, now=here.journal.moment(), door="python"
    )


def test_the_answer_to_a_sync_accounts_for_every_row_of_the_folder(here: Engram, root: Path) -> None:
    unpack(root)
    bad = observation(sync_id="obs-bad", session_id="s-1", title="Empty", content="", project=None)
    elsewhere = {**bad, "sync_id": "obs-else", "content": "A text.", "project": "gizmos"}
    put_chunk(root, {"observations": [bad, elsewhere], "mutations": ["no row"]})

    read = here.git_sync.sync(write=False).read

    assert read is not None
    assert (read.chunks, read.rows, read.applied.applied) == (2, 25, 22)
    assert (len(read.unreadable), read.left_out, read.applied.unchanged, read.waiting) == (2, {"gizmos": 1}, 0, 0)


@pytest.mark.parametrize(
    ("name", "step"), [("export.json", "`engram import FILE`"), (".engram", "`engram sync --import`")]
)
def test_another_file_of_engram_is_refused_with_the_command_that_reads_it(
    here: Engram, root: Path, name: str, step: str
) -> None:
    unpack(root)
    (root / "export.json").write_bytes((FILES / "export.json").read_bytes())
    with pytest.raises(InvalidSourceError, match=step):
        here.importers.adopt("engram", root / name)


# --- what the July file does not have, and later ones do ----------------------------------------------------

LATER = """
create table observation_versions (id integer primary key, observation_id integer, title text, content text,
    version integer, created_at text);
insert into observation_versions (observation_id, title, content, version, created_at) values
    (1, 'Chose PostgreSQL for orders', 'PostgreSQL 15 holds the orders.', 1, '2026-11-23 03:24:00'),
    (11, 'I like tabs', 'Eight wide.', 1, '2026-11-23 03:24:00'),
    (99, 'Nobody', 'has this.', 1, '2026-11-23 03:24:00');
insert into prompt_tombstones values ('prompt-00000000000000aa', 's-1', 'widgets', '2026-11-23 03:25:00');
create table sync_delete_tombstones (entity text, entity_key text, session_id text, project text, deleted_at text,
    hard_delete integer, active integer);
insert into sync_delete_tombstones values
    ('observation', 'obs-486d722323f426ba', 's-3', 'widgets', '2026-11-23 03:24:19', 1, 1),
    ('observation', 'obs-d3609453b32494cb', 's-3', 'widgets', '2026-11-23 03:24:19', 0, 1);
update memory_relations set confidence = 7 where id = 1;
update observations set content = x'' where id = 9;
update user_prompts set content = '' where id = 1;
"""


def test_versions_tombstones_and_replaced_verdicts_of_a_database_arrive(here: Engram, root: Path) -> None:
    path = changed(root, LATER)

    done = here.importers.adopt("engram", path)

    assert accounted(done) == {
        "sessions": 3, "observations": 14, "prompts": 3, "relations": 2, "versions": 3, "tombstones": 2,
    }  # fmt: skip
    assert [(one.title, one.content) for one in here.get(1, history=True).versions] == [
        ("Chose PostgreSQL for orders", "PostgreSQL 15 holds the orders.")
    ]
    assert (done.versions.new, done.versions.reasons) == (2, {"their memory is not in the file": 1})
    assert kept(here, "entity, entity_key", "tombstones", "entity") == [
        ("observation", "obs-486d722323f426ba"),
        ("prompt", "prompt-00000000000000aa"),
    ]
    assert (done.observations.new, done.observations.invalid, done.tombstones.new) == (13, 1, 2)
    assert (done.relations.new, done.relations.invalid) == (1, 1)
    assert (done.prompts.new, done.prompts.reasons) == (2, {"empty": 1})

    again = here.importers.adopt("engram", path)
    assert (again.versions.skipped, again.tombstones.skipped, again.versions.new) == (2, 2, 0)
    older = exported()
    older["observations"] = [older["observations"][1] | {"id": 14, "sync_id": "obs-486d722323f426ba"}]
    done = imported(here, root, older)
    assert done.observations.reasons == {"destroyed, here or where it comes from": 1}


def test_a_replaced_verdict_points_at_the_one_that_replaced_it(here: Engram, root: Path) -> None:
    here.importers.adopt(
        "engram", changed(root, "update memory_relations set superseded_by_relation_id = 2 where id = 1")
    )

    [replaced] = kept(here, "superseded_by_relation_id", "memory_relations where sync_id = 'rel-e936ffdbf29d73d3'")
    assert kept(here, "sync_id", f"memory_relations where id = {replaced[0]}") == [("rel-57b2edebdc58bfc0",)]


def test_thousands_of_rows_with_few_texts_all_arrive(here: Engram, root: Path) -> None:
    script = """
    insert into observations (sync_id, session_id, type, title, content, project)
    with recursive n (i) as (select 1 union all select i + 1 from n where i < 2000)
    select printf('obs-%016x', i), 's-1', 'note', 'Title ' || i, 'One of ' || (i % 7) || ' texts.', 'widgets' from n;
    """
    done = here.importers.adopt("engram", changed(root, script))

    assert (done.observations.read, done.observations.new) == (2014, 2014)
    assert here.store.value("select max(id) from observations") == 2015


# --- numbers -------------------------------------------------------------------------------------------------


@WAY
def test_a_number_that_is_taken_costs_no_other_row_its_own(here: Engram, root: Path, way: str) -> None:
    for number in (1, 2, 3):
        here.save(Draft(f"Our own {number}", f"Text {number}."))
    here.observations.delete(3, hard=True)

    WAYS[way](here, root)

    numbers = dict(kept(here, "sync_id, id", "observations where origin = 'import'"))
    document = exported()
    there = {row["sync_id"]: row["id"] for row in document["observations"]}
    moved = {key: number for key, number in numbers.items() if there[key] != number}
    assert len(numbers) == 14
    assert sorted(there[key] for key in moved) == [1, 2, 3]  # of 3 nobody knows any more what it was
    assert sorted(moved.values()) == [16, 17, 18]
    assert here.save(Draft("The next", "One.")).id == 19


@pytest.mark.parametrize("number", [None, 0, -4, True, "7", 2**62, 1.5, [1]])
def test_what_is_no_number_gets_one(here: Engram, root: Path, number: object) -> None:
    document = exported()
    document["observations"][0]["id"] = number
    document["observations"][1]["id"] = 3
    done = imported(here, root, document)

    numbers = dict(kept(here, "sync_id, id"))
    assert done.observations.new == 14
    assert [numbers[row["sync_id"]] for row in document["observations"][:3]] == [16, 3, 17]


# --- relations without an end ------------------------------------------------------------------------------


def test_a_relation_whose_end_never_arrived_is_reported_and_mends_when_it_does(here: Engram, root: Path) -> None:
    path = changed(root, "update observations set content = '' where id = 7")
    here.importers.adopt("engram", path)

    [check] = here.doctor.examine(check="orphans").checks
    assert (check.result, check.fixable) == ("warning", False)
    assert "1 orphaned relation" in check.message
    assert "engram import --from engram" in (check.safe_next_step or "")

    done = here.importers.adopt("engram", database(root))

    assert (done.observations.new, done.relations.newer) == (1, 1)
    assert {row[0] for row in kept(here, "judgment_status", "memory_relations")} == {"judged"}
    assert here.doctor.examine(check="orphans").status == "ok"


def test_doctor_gives_an_orphaned_relation_its_state_back_when_both_ends_are_here(here: Engram, root: Path) -> None:
    from_database(here, root)
    with here.store.transaction():
        here.store.execute("update memory_relations set judgment_status = 'orphaned'")

    assert here.doctor.examine(check="orphans").status == "warning"
    assert here.doctor.examine(check="orphans", fix=True).status == "ok"
    assert {row[0] for row in kept(here, "judgment_status", "memory_relations")} == {"judged"}
    here.observations.delete(7, hard=True)
    assert ("orphaned",) in kept(here, "judgment_status", "memory_relations")
    assert here.doctor.examine(check="orphans").status == "ok"  # nothing is missing that was not destroyed here


# --- what a folder has of its writer -------------------------------------------------------------------------


def test_a_personal_row_of_a_folder_is_kept_and_neither_sent_nor_shown_unasked(here: Engram, root: Path) -> None:
    from_folder(here, root)
    key = "obs-bc0b3177272c5e3c"

    assert kept(here, "id, scope, pinned", f"observations where sync_id = '{key}'") == [(11, "personal", 0)]
    assert 11 in [hit.id for hit in here.search("tabs four wide").results]
    for context in (here.contexts.assemble(unasked=True), here.contexts.assemble("elsewhere", unasked=True)):
        assert "I like tabs" not in render.text(context, now=here.journal.moment(), door="python")
    assert key not in {one.entity_key for one in here.replica.changes().mutations}

    here.observations.update(11, Change(content="Personal: tabs, eight wide."))
    from_folder(here, root)
    assert here.get(11).observation.content == "Personal: tabs, eight wide."
    assert key not in {one.entity_key for one in here.replica.changes().mutations}


def test_a_summary_of_another_project_or_of_a_person_is_not_told_as_the_sessions(here: Engram, root: Path) -> None:
    from_database(here, root)
    here.save(Draft("Session summary", "Of gizmos.", "session_summary"), project="gizmos", session_id="s-3")
    mine = Draft("Session summary", "Mine.", "session_summary", scope="personal")
    here.save(mine, project="widgets", session_id="s-3")

    [line] = [one for one in session_table.recent(here.store, projects=None, limit=9) if one.id == "s-3"]
    assert "Write the migration" in (line.summary or "")


@pytest.mark.parametrize("own", [None, "Ended well."])
def test_a_sessions_own_summary_comes_first_and_a_deleted_row_has_none(
    here: Engram, root: Path, own: str | None
) -> None:
    from_database(here, root)
    if own:
        here.sessions.end("s-3", summary=own)
    else:
        here.observations.delete(15)

    [line] = [one for one in session_table.recent(here.store, projects=None, limit=9) if one.id == "s-3"]
    assert line.summary == own


@pytest.mark.skipif(is_root(), reason="root may write everywhere")
def test_a_database_that_cannot_be_written_beside_is_read(here: Engram, root: Path) -> None:
    folder = root / "sealed"
    folder.mkdir()
    path = database(folder)
    path.chmod(0o400)
    folder.chmod(0o500)
    try:
        done = here.importers.adopt("engram", path)
    finally:
        folder.chmod(0o700)
    assert done.observations.new == 14
