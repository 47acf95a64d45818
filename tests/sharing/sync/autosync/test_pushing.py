"""What is sent: in bounded batches, past every row and project that the server does not take."""

from __future__ import annotations

import json

import pytest

from engram_py.base.errors import CloudError
from engram_py.base.reasons import amount
from engram_py.memory.observations.values import Change
from engram_py.sharing.sync.autosync import client as client_module
from engram_py.sharing.sync.autosync import push as push_module
from engram_py.sharing.sync.errors import NotLoggedInError
from engram_py.sharing.sync.mutation import mutation_of
from tests.sharing.sync.autosync.conftest import Joiner, Lab, from_elsewhere
from tests.sharing.sync.autosync.team_server import Request
from tests.support import draft, raising

PUSH, PULL = "/sync/mutations/push", "/sync/mutations/pull"


def test_nothing_is_sent_before_a_login_and_an_enrolment(lab: Lab) -> None:
    lab.app.autosync.account.unenroll([lab.project])
    lab.team.asked.clear()
    lab.save("one")

    assert lab.exchange.once(now=True) is None
    with raising(CloudError, "nothing_enrolled"):
        lab.app.autosync.sync_now()
    lab.app.autosync.account.logout()
    assert lab.exchange.once(now=True) is None
    with pytest.raises(NotLoggedInError):
        lab.app.autosync.sync_now()
    assert lab.team.asked == []


def test_only_what_is_enrolled_is_sent_and_what_was_there_before_is_sent_then(lab: Lab) -> None:
    other = f"{lab.project}-other"
    lab.team.grants[other] = "write"
    lab.save("one")
    lab.save("secret plan", project=other)
    lab.synced()
    assert {name for name, _, _ in lab.team.log if name in (lab.project, other)} == {lab.project}

    lab.app.autosync.account.enroll([other])
    lab.synced()

    assert {name for name, _, _ in lab.team.log if name in (lab.project, other)} == {lab.project, other}
    assert lab.cursors()["pushed_seq"] == lab.cursors(other)["pushed_seq"]


def test_personal_memory_stays_here(lab: Lab) -> None:
    lab.save("shared")
    lab.app.save(draft("Mine.", "mine", scope="personal"), project=lab.project)
    lab.synced()

    assert lab.sent() == ["shared"]
    assert "Mine." not in json.dumps(lab.team.bodies)


def test_a_change_is_sent_once_and_does_not_come_back_and_a_quiet_poll_is_one_request(lab: Lab) -> None:
    lab.save("one")
    lab.synced()
    lab.synced()
    lab.team.asked.clear()

    lab.save("two")
    lab.synced()
    lab.synced()

    assert (lab.team.counts()[PUSH], lab.team.counts()[PULL]) == (1, 0)
    lab.team.asked.clear()
    lab.synced()
    assert lab.team.asked == [("GET", "/sync/projects")]


def test_a_large_backlog_goes_out_in_batches_that_are_halved_until_they_fit(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.team.most_bytes = 100_000
    lab.save(*[f"note {number}" for number in range(40)], text="A long text. " * 1000)
    lab.synced()
    assert (len(lab.sent()), lab.aside()) == (40, [])

    lab.team.bodies.clear()
    monkeypatch.setattr(push_module, "MOST_BYTES", 40_000)
    lab.exchange = lab.lane()
    lab.save(*[f"more {number}" for number in range(30)], text="A long text. " * 500)
    lab.synced()
    assert len(lab.sent()) == 70
    sizes = [len(json.dumps(body)) for body in lab.team.bodies]
    assert max(sizes) < 50_000
    assert len(sizes) > 4


def test_one_row_over_the_limit_is_set_aside_by_name_and_the_rest_goes_on(lab: Lab) -> None:
    lab.team.most_bytes = 70_000
    [large] = lab.save("large", text="\N{GREEK SMALL LETTER ALPHA}" * 14_000)
    lab.save("one", "two")

    done = lab.synced()

    assert lab.sent() == ["one", "two"]
    assert (done.set_aside, lab.aside()) == (1, [("push", large, "too_large")])
    assert "bytes" in lab.status.set_aside[0].reason


@pytest.mark.parametrize(("status", "code"), [(413, "cloud_config_error"), (400, "server_unsupported")])
def test_a_proxy_or_server_that_takes_nothing_is_not_the_rows_fault(lab: Lab, status: int, code: str) -> None:
    lab.save("one", "two", "three")
    lab.team.always[PUSH] = lambda request: request.refuse(status, "x", "what is this?")

    assert lab.failed().reason_code == code

    assert lab.aside() == []
    assert lab.team.counts()[PUSH] < 10
    lab.team.always.clear()
    lab.synced()
    assert lab.sent() == ["one", "three", "two"]


def test_a_row_that_is_refused_is_set_aside_blocks_nothing_and_is_offered_again_when_it_changes(lab: Lab) -> None:
    bad = lab.save("one", "bad", "two")[1]
    lab.team.reject[bad] = "invalid_text"

    lab.synced()

    assert (lab.sent(), lab.aside()) == (["one", "two"], [("push", bad, "invalid_text")])
    [aside] = lab.status.set_aside
    assert (aside.entity, aside.project, aside.reason) == ("observation", lab.project, "invalid_text, says the server")
    lab.team.bodies.clear()
    lab.synced()
    assert lab.team.bodies == []
    lab.team.reject.clear()
    lab.app.observations.update(lab.app.search("bad", project=lab.project).results[0].id, Change(title="better"))
    lab.synced()
    assert (lab.sent(), lab.aside()) == (["better", "one", "two"], [])


def test_what_was_set_aside_is_offered_again_when_somebody_asks(lab: Lab) -> None:
    keys = lab.save("bad", "worse", "good")
    lab.team.reject |= {keys[0]: "invalid_text", keys[1]: "invalid_text"}
    lab.synced()
    del lab.team.reject[keys[0]]

    lab.app.autosync.retry()

    assert lab.sent() == ["bad", "good"]
    [aside] = lab.status.set_aside
    assert (aside.entity_key, aside.tries) == (keys[1], 2)


@pytest.mark.parametrize(("status", "failures"), [(400, 0), (500, 3)], ids=["refused-whole", "server-error"])
def test_the_row_that_makes_a_server_refuse_or_fail_is_found(lab: Lab, status: int, failures: int) -> None:
    """Engram's server refuses the whole request for one row; a failing server is given a few turns."""

    def chokes(request: Request) -> bool:
        bad = any(one["payload"].get("title") == "bad" for one in request.json["entries"])
        if bad:
            request.raw(b"", status)
        return bad

    [bad] = lab.save("one", "bad", "two")[1:2]
    lab.team.always[PUSH] = chokes

    for _ in range(failures):
        assert lab.failed().reason_code == "transport_failed"
        assert lab.sent() == []
    lab.synced()

    assert (lab.sent(), lab.aside()) == (["one", "two"], [("push", bad, "refused")])


def test_a_project_that_is_paused_waits_says_why_and_the_others_go_on(lab: Lab) -> None:
    other = lab.other()
    lab.synced()
    lab.save("one")
    lab.save("two", project=other)
    lab.team.paused.add(other)

    done = lab.failed()

    assert (done.reason_code, other in done.reason_message, lab.sent()) == ("paused", True, ["one"])
    assert "it is paused" in done.reason_message  # a server whose list has no reason says it in its refusal
    assert lab.aside() == []
    waiting = {one.name: one.pending for one in lab.status.projects}
    assert waiting[lab.project] == 0
    assert waiting[other] > 0
    lab.team.pauses[other] = "it is being moved"
    lab.team.bodies.clear()
    assert lab.failed().reason_message == f"{other} is paused: it is being moved"
    assert lab.team.bodies == []
    lab.team.paused.clear()
    lab.synced()
    assert lab.status.pending == 0


def test_a_reader_is_in_step_with_what_stays_here(lab: Lab) -> None:
    """What came from a folder the server has from its author; what is new here is counted and sent nowhere."""
    lab.team.grants[lab.project] = "read"
    arrived = from_elsewhere(lab, f"obs-{lab.project}", "through git")
    lab.app.replica.apply([mutation_of(arrived)], source="folder:x")
    done = lab.synced()
    assert (done.warnings, lab.team.bodies) == ((), [])
    [project] = lab.status.projects
    assert (project.access, project.pending, project.reason_code) == ("read", 0, "")

    lab.save("one")
    done = lab.synced()

    [project] = lab.status.projects
    report = f"{lab.project} is read-only; this machine keeps {amount(project.pending, 'change')}"
    assert (done.warnings, lab.team.bodies) == ((report,), [])
    assert (lab.status.phase, lab.status.reason_code, lab.status.pending) == ("healthy", "", 0)
    assert project.pending > 0
    lab.team.grants[lab.project] = "write"
    lab.synced()
    assert lab.sent() == ["one", "through git"]


@pytest.mark.parametrize("reason", ["policy_forbidden", "paused"])
def test_a_right_that_ends_between_the_list_and_the_push_costs_no_row(lab: Lab, reason: str) -> None:
    other = lab.other()
    lab.synced()
    lab.save("one")
    lab.save("two", project=other)

    def changed_its_mind(request: Request) -> bool:
        if reason == "paused":
            request.team.paused.add(other)
        else:
            request.team.grants[other] = "read"
        return False

    lab.team.play(PUSH, changed_its_mind)

    assert lab.failed().reason_code == reason

    assert (lab.sent(), lab.aside()) == (["one"], [])
    lab.team.paused.clear()
    lab.team.grants[other] = "write"
    lab.synced()
    assert lab.status.pending == 0
    assert len([1 for name, kind, _ in lab.team.log if (name, kind) == (other, "observation")]) == 1


@pytest.mark.parametrize("told", [True, False], ids=["every", "hidden"])
def test_a_project_that_is_new_to_the_server_is_made_by_a_token_that_may_write_anything(lab: Lab, told: bool) -> None:
    """Such a token is not shown what is not there yet; a server may say what it may do in every project."""
    if told:
        del lab.team.grants[lab.project]
        lab.team.every = "write"
    else:
        lab.team.hidden.add(lab.project)
    lab.save("one", "two")

    lab.synced()

    assert lab.sent() == ["one", "two"]
    if told:
        assert len(lab.team.bodies) == 1
        [project] = lab.status.projects
        assert (project.access, project.pending, project.reason_code) == ("write", 0, "")
        lab.team.log.clear()
        lab.synced()
        cursors = lab.cursors() | {"pushed_seq": 0}
        assert cursors == {"pushed_seq": 0, "pulled_seq": 0, "seen_seq": 0, "access": "write"}
        assert lab.sent() == []  # what somebody destroyed there is not brought back


def test_an_old_name_that_was_not_granted_is_offered_again_when_it_is_but_not_for_ever(lab: Lab) -> None:
    old = f"{lab.project}-old"
    lab.save("one")
    lab.save("before", project=old)
    lab.app.merging.merge([old], lab.project)
    lab.team.reject[old] = "alias_not_granted"
    lab.synced()
    lab.team.bodies.clear()
    lab.synced()
    assert (lab.aside(), lab.team.bodies) == ([("push", old, "alias_not_granted")], [])
    assert "`engram cloud grants add " in lab.status.set_aside[0].next_step

    lab.team.grants[old] = "write"
    for _ in range(7):
        lab.synced()
    lab.team.bodies.clear()
    lab.synced()
    assert (lab.team.bodies, lab.status.set_aside[0].tries) == ([], 5)


def test_an_old_name_arrives_once_it_is_granted(lab: Lab) -> None:
    old = f"{lab.project}-old"
    lab.save("before", project=old)
    lab.app.merging.merge([old], lab.project)
    lab.team.reject[old] = "alias_not_granted"
    lab.synced()
    lab.team.reject.clear()
    lab.team.grants[old] = "write"

    lab.synced()

    assert (lab.aside(), lab.team.keys(lab.project, "alias")) == ([], [old])


def test_a_project_that_is_not_granted_is_asked_about_with_one_row(lab: Lab) -> None:
    del lab.team.grants[lab.project]
    lab.save("one", "two", "three")

    assert lab.failed().reason_code == "policy_forbidden"

    assert [len(body) for body in lab.team.bodies] == [1]
    assert lab.cursors()["pushed_seq"] == 0


def test_another_database_at_the_same_address_gets_everything_again(join: Joiner) -> None:
    here, there = join("a"), join("b")
    here.save("one")
    there.save("two")
    for one in (here, there, here):
        one.synced()
    assert here.titles() == ["one", "two"]

    here.team.replaced()
    here.save("three")
    done = here.synced()

    assert any("synced again" in report for report in done.warnings)
    assert here.sent() == ["one", "three", "two"]  # what came from the other machine too: it may never come back
    there.synced()
    assert there.titles() == ["one", "three", "two"]


def test_another_database_that_is_longer_than_ours_was_is_known_by_its_name(lab: Lab) -> None:
    lab.save("one")
    lab.synced()
    lab.team.replaced()
    lab.team.seq = 10_000
    lab.team.add(from_elsewhere(lab, f"obs-{lab.project}", "two"))

    lab.synced()

    assert lab.sent() == lab.titles() == ["one", "two"]


def test_a_long_turn_leaves_the_other_direction_its_own(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push_module, "MOST_ROWS", 5)
    monkeypatch.setattr(push_module, "TURN_SECONDS", -1.0)
    lab.exchange = lab.lane()
    lab.save(*[f"note {number}" for number in range(20)])

    lab.synced()
    assert len(lab.sent()) < 20
    assert lab.exchange.more
    while lab.exchange.more:
        lab.synced()

    assert len(lab.sent()) == 20
    assert client_module.TURN_SECONDS < 60
