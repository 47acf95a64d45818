"""When a hook has its changes sent by a process of their own."""

from __future__ import annotations

from engram_py.sync.autosync.schedule import QUIET_SECONDS, begin, is_due
from tests.sync.autosync.conftest import Lab, from_elsewhere

PUSH, LIST = "/sync/mutations/push", "/sync/projects"


def due(lab: Lab, *, last: bool = False) -> bool:
    return is_due(lab.app.store, lab.app.cloud, lab.app.journal.moment(), last=last)


def test_it_is_due_when_nobody_has_synced_for_a_while(lab: Lab) -> None:
    assert due(lab)
    lab.synced()
    assert not due(lab)

    lab.clock.advance(seconds=QUIET_SECONDS)
    assert due(lab)
    begin(lab.app.store, lab.app.journal.moment())
    assert not due(lab)


def test_at_the_end_of_a_session_it_is_due_only_with_something_to_send(lab: Lab) -> None:
    lab.save("one")
    lab.synced()
    lab.team.add(from_elsewhere(lab, f"obs-{lab.project}", "theirs"))
    lab.synced()  # what came from there does not go back
    assert not due(lab, last=True)
    lab.save("other", project="not-enrolled")
    assert not due(lab, last=True)

    lab.save("two")
    assert due(lab, last=True)
    assert not due(lab)


def test_at_the_end_of_a_session_it_is_not_due_for_what_may_not_be_sent(lab: Lab) -> None:
    lab.synced()
    lab.team.grants[lab.project] = "read"
    lab.synced()
    lab.save("one")
    assert not due(lab, last=True)

    with lab.app.store.transaction():
        lab.app.store.execute("update cloud_projects set access = 'write', server = 'https://elsewhere.example'")
    assert not due(lab, last=True)


def test_it_is_not_due_before_the_backoff_has_passed(lab: Lab) -> None:
    lab.save("one")
    lab.team.always[LIST] = lambda request: request.raw(b"", 503, Retry_After="600")
    lab.team.always[PUSH] = lambda request: request.raw(b"", 503, Retry_After="600")
    lab.failed()

    lab.clock.advance(seconds=599)
    assert not due(lab, last=True)
    lab.clock.advance(seconds=2)
    assert due(lab, last=True)


def test_catching_up_goes_on_until_both_are_at_their_ends(lab: Lab) -> None:
    lab.save(*[f"note {number}" for number in range(30)])
    lab.team.most_bytes = 4_000  # a dozen pages

    lab.app.autosync.catch_up(seconds=60)

    assert len(lab.sent()) == 30
