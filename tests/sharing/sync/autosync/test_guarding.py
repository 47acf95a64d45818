"""A server, or somebody who may push to it, reaches the projects that were enrolled there and no other."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from engram_py import Draft
from engram_py.sharing.sync.autosync import table
from engram_py.sharing.sync.mutation import version_digest, version_key
from tests.sharing.sync.autosync.conftest import Joiner, Lab, from_elsewhere


def late(lab: Lab) -> str:
    """A clock later than those of all rows here."""
    return f"{int((lab.clock.now + timedelta(hours=3)).timestamp() * 1000):012x}-0000-aa"


MOMENT = "2026-01-01T10:00:00.000Z"


def project_of(lab: Lab, title: str) -> str:
    return str(lab.app.store.value("select project from observations where title = :title", title=title))


def reasons(lab: Lab) -> dict[str, str]:
    return {one.entity_key: one.reason for one in lab.status.set_aside}


def test_a_row_of_a_project_that_is_not_enrolled_is_not_changed_or_planted_from_outside(lab: Lab) -> None:
    private = f"{lab.project}-private"
    saved = lab.app.save(Draft("Of this machine", "text"), project=private)
    lab.team.add(from_elsewhere(lab, saved.sync_id, "taken over", at=10**12))
    lab.team.add(from_elsewhere(lab, f"obs-1-{lab.project}", "planted") | {"project": lab.project})
    planted = lab.team.log[lab.project, "observation", f"obs-1-{lab.project}"].entry
    planted["payload"]["project"] = private

    lab.sync()

    assert project_of(lab, "Of this machine") == private
    assert private in reasons(lab)[saved.sync_id]
    assert lab.titles() == ["planted"]


def entry(lab: Lab, entity: str, key: str, op: str = "upsert", **payload: Any) -> dict[str, Any]:
    """A row as somebody pushes it who may write to the test's project alone."""
    told = {"project": lab.project, "created_at": MOMENT, **payload, "engram_py": {"clock": late(lab)}}
    return {"project": lab.project, "entity": entity, "entity_key": key, "op": op, "payload": told, "occurred_at": ""}


def enroll(lab: Lab, project: str) -> None:
    lab.team.grants[project] = "write"
    lab.app.autosync.account.enroll([project])


def secret_of(lab: Lab) -> str:
    return f"{lab.project}-secret"


def by_another_spelling(lab: Lab) -> str:
    lab.app.save(Draft("Plan", "text"), project=secret_of(lab))
    return secret_of(lab).upper()


def by_its_prompts(lab: Lab) -> str:
    lab.app.prompts.save("a prompt about the merger", project=secret_of(lab))
    return secret_of(lab)


def by_an_older_name(lab: Lab) -> str:
    lab.app.save(Draft("Plan", "text"), project=f"{secret_of(lab)}-old")
    lab.app.merging.merge([f"{secret_of(lab)}-old"], secret_of(lab))
    return f"{secret_of(lab)}-old"


def by_being_enrolled_and_still_empty(lab: Lab) -> str:
    enroll(lab, secret_of(lab))
    return secret_of(lab)


@pytest.mark.parametrize(
    "known", [by_another_spelling, by_its_prompts, by_an_older_name, by_being_enrolled_and_still_empty]
)
def test_a_name_that_anything_here_has_does_not_become_another_name(known: Callable[[Lab], str], lab: Lab) -> None:
    key = known(lab)
    lab.team.add(entry(lab, "alias", key, alias=key))

    lab.sync()

    aliases = lab.app.store.rows("select alias from project_aliases where project = :p", p=lab.project)
    assert [row["alias"] for row in aliases] == []
    assert f"engram projects merge {key.lower()} --into {lab.project}" in reasons(lab)[key]


def test_a_name_that_nothing_here_has_becomes_another_name_and_its_rows_follow(lab: Lab) -> None:
    former = f"{lab.project}-former"
    lab.team.add(from_elsewhere(lab, f"obs-1-{lab.project}", "from before", project=former))
    lab.team.add(entry(lab, "alias", former, alias=former))

    lab.synced()

    given = "select project from sync_renamed where entity_key = :key"
    assert (lab.titles(), reasons(lab)) == (["from before"], {})
    assert lab.app.store.value(given, key=f"obs-1-{lab.project}") == former


def test_what_else_another_project_has_is_not_reached(lab: Lab) -> None:
    older = by_an_older_name(lab)
    secret = secret_of(lab)
    store = lab.app.store
    sync_id = str(store.value("select sync_id from observations where project = :p", p=secret))
    version = version_key(sync_id, version_digest(MOMENT, "t", "injected"))
    lab.team.add(entry(lab, "alias", older, "delete"))
    lab.team.add(entry(lab, "project", secret, name=secret, display_name="taken over"))
    lab.team.add(entry(lab, "project", secret.upper(), "delete"))
    lab.team.add(entry(lab, "version", version, title="t", content="injected", sync_id=sync_id))

    lab.sync()

    assert set(reasons(lab)) >= {older, secret, secret.upper(), version}
    assert store.value("select project from project_aliases where alias = :a", a=older) == secret
    assert store.value("select display_name from projects where name = :p", p=secret) == secret
    assert store.value("select count(*) from observation_versions where content = 'injected'") == 0


@pytest.mark.parametrize("known", [True, False], ids=["here", "on-its-way"])
def test_a_row_of_one_enrolled_project_is_not_taken_into_another_one(known: bool, lab: Lab) -> None:
    secret = secret_of(lab)
    enroll(lab, secret)
    sync_id = f"obs-2-{lab.project}"
    of_secret = from_elsewhere(lab, sync_id, f"Plan of {secret}", project=secret)
    lab.team.add({**of_secret, "project": secret})
    if known:
        lab.synced()
    lab.team.add(from_elsewhere(lab, sync_id, "Taken", at=10**10))

    lab.sync()

    assert lab.titles() == []
    assert project_of(lab, f"Plan of {secret}") == secret
    assert f"it belongs to {secret} here" in reasons(lab)[sync_id]


@pytest.mark.parametrize("together", [True, False], ids=["in-one-batch", "each-by-itself"])
def test_projects_that_were_merged_on_another_machine_are_merged_here(join: Joiner, together: bool) -> None:
    here, there = join("a"), join("b")
    old = f"{here.project}-old"
    for one in (here, there):
        enroll(one, old)
    here.save("Early", project=old)
    there.save("Also early", project=old)
    for one in (here, there, here):
        one.synced()

    here.app.merging.merge([old], here.project)
    here.save("Late")
    there.save("Meanwhile", project=old)
    here.synced()
    if together:
        with there.app.store.transaction():  # both projects from their beginnings
            table.set_projects(there.app.store, there.team.address, [here.project, old], pulled_seq=0, seen_seq=0)
    for one in (there, there, here, there):
        one.synced()

    assert reasons(here) == reasons(there) == {}
    assert here.titles() == there.titles() == ["Also early", "Early", "Late", "Meanwhile"]
    digests = [one.app.replica.digest(projects=[one.project, old]) for one in (here, there)]
    assert digests[0] == digests[1]


def test_a_session_is_of_the_project_that_sends_it_and_not_of_the_row_that_was_first(lab: Lab) -> None:
    other = f"{lab.project}-other"
    enroll(lab, other)
    session = f"s-{lab.project}"
    lab.team.add(from_elsewhere(lab, f"obs-3-{lab.project}", "First", session_id=session))
    lab.synced()
    sent = entry(lab, "session", session, id=session, project=other, directory="/src")
    lab.team.add({**sent, "project": other})

    lab.synced()

    assert lab.app.store.value("select project from sessions where id = :id", id=session) == other
