"""A server, or somebody who may push to it, reaches the projects that were enrolled there and no other."""

from __future__ import annotations

from engram_py import Draft
from tests.services.autosync.conftest import Lab, from_elsewhere


def project_of(lab: Lab, title: str) -> str:
    return str(lab.app.store.value("select project from observations where title = :title", title=title))


def reasons(lab: Lab) -> dict[str, str]:
    return {one.entity_key: one.reason for one in lab.status.set_aside}


def test_a_row_that_names_another_project_in_its_payload_stays_in_the_one_it_came_under(lab: Lab) -> None:
    private = f"{lab.project}-private"
    lab.app.save(Draft("Mine", "text"), project=private)
    entry = from_elsewhere(lab, f"obs-1-{lab.project}", "planted")
    lab.team.add({**entry, "payload": {**entry["payload"], "project": private}})

    lab.synced()

    assert lab.titles() == ["planted"]


def test_a_row_of_a_project_that_is_not_enrolled_is_not_changed_from_outside(lab: Lab) -> None:
    private = f"{lab.project}-private"
    saved = lab.app.save(Draft("Of this machine", "text"), project=private)
    lab.team.add(from_elsewhere(lab, saved.sync_id, "taken over", at=10**12))

    lab.sync()

    assert project_of(lab, "Of this machine") == private
    assert private in reasons(lab)[saved.sync_id]


def test_a_project_of_its_own_is_not_made_another_name_of_an_enrolled_one(lab: Lab) -> None:
    private = f"{lab.project}-private"
    lab.app.save(Draft("Of this machine too", "text"), project=private)
    payload = {"alias": private, "project": lab.project, "engram_py": {"clock": f"{10**12:012x}-0000-aa"}}
    alias = {"project": lab.project, "entity": "alias", "entity_key": private, "op": "upsert"}
    lab.team.add({**alias, "payload": payload})

    lab.sync()

    assert project_of(lab, "Of this machine too") == private
    assert f"engram projects merge {private} --into {lab.project}" in reasons(lab)[private]
