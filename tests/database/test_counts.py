"""The number of rows of each kind is kept whoever writes them, so that nobody has to count."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engram_py import Draft, Engram
from engram_py.database import counts
from engram_py.observations.values import Change
from tests.database.files import save


def imported(app: Engram) -> None:
    file = app.store.path.parent.parent / "export.json"
    app.transfer.export(file)
    app.clearing.clear("everything")
    app.transfer.import_file(file)


def revised(app: Engram) -> None:
    app.observations.update(1, Change(content="Another text."))
    app.observations.revert(1)


def judged(app: Engram) -> None:
    app.relations.compare(1, 2, "supersedes", confidence=0.9, reasoning="later")


def renamed(app: Engram) -> None:
    app.save(Draft("Elsewhere", "It is of another project."), project="gizmos")
    app.observations.move(1, "gizmos")
    app.merging.rename("widgets", "things")
    app.merging.merge(["things"], into="gizmos")


def synced(app: Engram) -> None:
    other = Engram(app.store.path.parent.parent / "other", directory=app.store.path.parent)
    changes = app.replica.changes()
    other.replica.apply(changes.mutations)
    other.replica.apply(changes.mutations)
    assert counts.number(other.store, "observation") == 2
    assert counts.wrong(other.store) == []
    other.close()


CHANGES: dict[str, Callable[[Engram], object]] = {
    "saved": lambda app: save(app, "three", type="decision"),
    "retyped": lambda app: app.observations.update(1, Change(type="policy")),
    "revised": revised,
    "hidden": lambda app: app.observations.delete(1),
    "brought-back": lambda app: (app.observations.delete(1), app.observations.undelete(1)),
    "destroyed": lambda app: app.observations.delete_many([1, 2], hard=True),
    "hidden-then-destroyed": lambda app: (app.observations.delete(1), app.observations.delete(1, hard=True)),
    "a-prompt-removed": lambda app: app.prompts.delete(1),
    "judged": judged,
    "moved-and-merged": renamed,
    "a-project-cleared": lambda app: app.clearing.clear("project", project="widgets"),
    "exported-cleared-and-imported": imported,
    "synced": synced,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_is_kept_is_what_counting_gives(app: Engram, change: Callable[[Engram], object], tmp_path: Path) -> None:
    save(app, "one")
    save(app, "two", type="decision")
    app.prompts.save("A prompt")
    change(app)
    assert counts.wrong(app.store) == []
    kept = counts.types(app.store)
    assert sum(kept.values()) == app.store.value("select count(*) from observations where deleted_at is null")


def test_a_number_that_went_wrong_is_named_and_counted_again(app: Engram) -> None:
    save(app, "one")
    with app.store.transaction():
        app.store.execute("update counts set number = 7 where kind = 'session'")
    [wrong] = counts.wrong(app.store)
    assert wrong.startswith("session ")
    with app.store.transaction():
        counts.count_again(app.store)
    assert counts.wrong(app.store) == []
