"""What is fetched: a cursor for each project, and past everything that cannot be read."""

from __future__ import annotations

from typing import Any

import pytest

from engram_py.sharing.sync.autosync import pull as pull_module
from tests.sharing.sync.autosync.conftest import Joiner, Lab, from_elsewhere
from tests.sharing.sync.autosync.team_server import Request

LIST, PUSH, PULL = "/sync/projects", "/sync/mutations/push", "/sync/mutations/pull"


def test_two_machines_that_share_a_project_hold_the_same_memory(join: Joiner) -> None:
    here, there = join("a"), join("b")
    here.save("one", "two")
    there.save("three")
    for one in (here, there, here):
        one.synced()

    assert here.titles() == there.titles() == ["one", "three", "two"]
    there.app.observations.delete(there.app.search("two", project=there.project).results[0].id, hard=True)
    for one in (there, here):
        one.synced()
    assert here.titles() == there.titles() == ["one", "three"]
    digests = [one.app.replica.digest(projects=[one.project]) for one in (here, there)]
    assert digests[0] == digests[1]


def test_a_project_that_is_enrolled_later_is_fetched_from_its_beginning(lab: Lab) -> None:
    lab.team.add(from_elsewhere(lab, f"obs-1-{lab.project}", "old"))
    other = f"{lab.project}-other"
    lab.team.grants[other] = "read"
    older = from_elsewhere(lab, f"obs-2-{lab.project}", "older")
    lab.team.add({**older, "project": other, "payload": {**older["payload"], "project": other}})
    lab.team.add(from_elsewhere(lab, f"obs-3-{lab.project}", "new"))
    lab.synced()
    assert lab.titles() == ["new", "old"]

    lab.app.autosync.account.enroll([other])
    lab.synced()

    rows = lab.app.store.rows("select title from observations where project = :other", other=other)
    assert [row[0] for row in rows] == ["older"]


def test_projects_at_the_same_place_are_fetched_with_one_request(lab: Lab) -> None:
    names = [f"{lab.project}-{number}" for number in range(3)]
    lab.team.grants |= dict.fromkeys(names, "read")
    lab.app.autosync.account.enroll(names)
    for name in names:
        entry = from_elsewhere(lab, f"obs-{name}", name)
        lab.team.add({**entry, "project": name, "payload": {**entry["payload"], "project": name}})
    lab.team.asked.clear()

    lab.synced()

    assert lab.team.counts()[PULL] == 1


def test_a_page_is_applied_before_its_cursor_moves(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pull_module, "FIRST_LIMIT", 4)
    lab.exchange = lab.lane()
    for number in range(30):
        lab.team.add(from_elsewhere(lab, f"obs-{number:02}-{lab.project}", f"note {number:02}", at=number))
    pulls: list[int] = []

    def fourth_breaks_off(request: Request) -> bool:
        pulls.append(int(request.query["since_seq"][0]))
        if len(pulls) == 3:
            request.hang_up()
        return len(pulls) == 3

    lab.team.always[PULL] = fourth_breaks_off
    lab.failed()
    assert 0 < len(lab.titles()) < 30

    lab.synced()

    assert len(lab.titles()) == 30
    assert pulls[3] == pulls[2]  # what was not acknowledged here is asked for again, and nothing else


@pytest.mark.parametrize(
    "flaw",
    [
        pytest.param({"op": "explode"}, id="op"),
        pytest.param({"entity_key": "a\x1b[2Jb"}, id="key-with-control-characters"),
        pytest.param({"payload": {"title": "no more"}}, id="payload-lacks-fields"),
        pytest.param({"project": "somebody-elses"}, id="not-asked-for"),
        pytest.param({"project": 9}, id="project-is-a-number"),
    ],
)
def test_an_entry_that_cannot_be_read_is_set_aside_and_blocks_nothing(lab: Lab, flaw: dict[str, Any]) -> None:
    lab.team.add(from_elsewhere(lab, f"obs-1-{lab.project}", "one"))
    bad = {**from_elsewhere(lab, f"obs-2-{lab.project}", "bad"), **flaw}
    lab.team.always[PULL] = lambda request: _page_of(lab, request, bad)
    lab.team.add(from_elsewhere(lab, f"obs-3-{lab.project}", "three"))

    done = lab.synced()

    assert (lab.titles(), done.set_aside) == (["one", "three"], 1)
    [aside] = lab.status.set_aside
    assert (aside.direction, aside.reason_code, aside.entity_key.isprintable()) == ("pull", "unreadable", True)
    assert aside.reason


def _page_of(lab: Lab, request: Request, bad: dict[str, Any]) -> None:
    """What the server has, and an entry that it should never have taken."""
    seqs = sorted((row.seq, row.entry) for row in lab.team.log.values() if row.entry["project"] == lab.project)
    told = [{**entry, "seq": seq * 2} for seq, entry in seqs] + [{**bad, "seq": seqs[-1][0] * 2 + 1}]
    since = int(request.query["since_seq"][0])
    request.answer(
        {"mutations": [one for one in told if one["seq"] > since], "has_more": False, "latest_seq": told[-1]["seq"]}
    )


def test_what_could_not_be_read_is_fetched_again_when_somebody_asks(lab: Lab) -> None:
    entry = from_elsewhere(lab, f"obs-1-{lab.project}", "one")
    lab.team.add({**entry, "op": "explode"})
    lab.synced()
    assert lab.aside() == [("pull", f"obs-1-{lab.project}", "unreadable")]

    [row] = [row for (name, _, _), row in lab.team.log.items() if name == lab.project]
    row.entry = entry  # as if this program had learned to read it
    lab.app.autosync.retry()

    assert (lab.titles(), lab.aside()) == (["one"], [])


def test_a_row_that_this_program_fails_on_blocks_nothing_and_writes_come_between_steps(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock is held for a step, and a step is made as long as its time allows."""
    from engram_py.sharing.sync.replica.replica import Replica

    apply, sizes = Replica.apply, []

    def fails(self: Replica, mutations: Any, **more: Any) -> Any:
        sizes.append(len(mutations))
        if any(one.payload.get("title") == "bad" for one in mutations):
            raise ZeroDivisionError
        return apply(self, mutations, **more)

    monkeypatch.setattr(Replica, "apply", fails)
    monkeypatch.setattr(pull_module, "_STEP_SECONDS", 1e-9)
    for number in range(25):
        title = "bad" if number == 20 else f"note {number:02}"
        lab.team.add(from_elsewhere(lab, f"obs-{number}-{lab.project}", title))

    lab.synced()

    assert (sizes[0], set(sizes[1:])) == (pull_module._FIRST_STEP, {1})
    assert len(lab.titles()) == 24
    assert lab.aside() == [("pull", f"obs-20-{lab.project}", "unreadable")]


def test_a_project_that_was_not_granted_for_a_while_is_fetched_whole_when_it_is(lab: Lab) -> None:
    """Its cursor would otherwise have passed over what came meanwhile."""
    lab.team.add(from_elsewhere(lab, f"obs-1-{lab.project}", "one"))
    lab.synced()
    del lab.team.grants[lab.project]
    lab.synced()
    assert [one.reason_code for one in lab.status.projects] == ["policy_forbidden"]
    lab.team.add(from_elsewhere(lab, f"obs-2-{lab.project}", "two"))
    lab.synced()
    assert lab.titles() == ["one"]

    lab.team.grants[lab.project] = "read"
    lab.synced()

    assert lab.titles() == ["one", "two"]
    assert [one.reason_code for one in lab.status.projects] == [""]


def test_a_right_that_ends_between_the_list_and_the_page_loses_nothing_once_it_is_back(lab: Lab) -> None:
    """The server then leaves the project's rows out, and its cursor passes over them."""
    other = lab.other("read")
    lab.team.add(from_elsewhere(lab, f"obs-1-{lab.project}", "one"))
    lab.team.add(from_elsewhere(lab, f"obs-2-{lab.project}", "two") | {"project": other})
    lab.team.add(from_elsewhere(lab, f"obs-3-{lab.project}", "three"))

    def withdrawn(request: Request) -> bool:
        del request.team.grants[other]
        return False

    lab.team.play(PULL, withdrawn)
    lab.synced()
    lab.synced()
    lab.team.grants[other] = "read"
    lab.synced()

    rows = lab.app.store.rows("select title from observations where sync_id = :key", key=f"obs-2-{lab.project}")
    assert [row[0] for row in rows] == ["two"]


def test_one_project_that_is_refused_does_not_keep_the_others_from_being_fetched(lab: Lab) -> None:
    other = lab.other("read")
    entry = from_elsewhere(lab, f"obs-2-{other}", "secret")
    lab.team.add({**entry, "project": other})
    lab.team.add(from_elsewhere(lab, f"obs-1-{lab.project}", "one"))

    def not_that_one(request: Request) -> bool:
        refused = other in request.query["project"]
        if refused:
            request.refuse(403, "policy_forbidden", "not that one")
        return refused

    lab.team.always[PULL] = not_that_one

    assert lab.failed().reason_code == "policy_forbidden"

    assert lab.titles() == ["one"]


def test_a_server_that_does_not_list_projects_is_asked_for_all_of_them(lab: Lab) -> None:
    """Engram's own server."""
    lab.team.always[LIST] = lambda request: request.raw(b"404 page not found", 404)
    lab.team.add(from_elsewhere(lab, f"obs-1-{lab.project}", "one"))
    lab.save("two")

    lab.synced()

    assert (lab.titles(), lab.sent()) == (["one", "two"], ["one", "two"])


def test_a_log_that_ends_before_our_cursor_is_read_from_its_beginning(lab: Lab) -> None:
    lab.team.always[LIST] = lambda request: request.raw(b"", 404)
    for number in range(5):
        lab.team.add(from_elsewhere(lab, f"obs-{number}-{lab.project}", f"note {number}"))
    lab.synced()
    for key in [key for key in lab.team.log if key[0] == lab.project]:
        del lab.team.log[key]
    lab.team.seq = 0
    lab.team.add(from_elsewhere(lab, f"obs-9-{lab.project}", "note 9"))

    done = lab.synced()

    assert lab.titles()[-1] == "note 9"
    assert any("synced again" in report for report in done.warnings)
    assert len(lab.sent()) == 6
