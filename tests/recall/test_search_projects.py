"""Which projects a search looks into, what it says of the others, and what other processes save meanwhile."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.base.reasons import Reason, reason
from engram_py.base.settings import Settings
from tests.recall.searching import dated, ids, kept, silence
from tests.support import FakeClock

pytestmark = pytest.mark.usefixtures("others")

QUEUE = "The retry queue drains on restart because consumers acknowledge too early."


def test_a_day_on_which_only_others_changed_is_no_word_that_they_know(app: Engram, clock: FakeClock) -> None:
    kept(app, "The pump was sealed yesterday.", project="gadgets")
    clock.advance(days=3)
    kept(app, "Terraform applies.")
    clock.advance(days=1)
    assert app.searches.search("pump yesterday", project="gadgets").warnings == (dated("yesterday", "2026-03-04"),)


def test_an_answer_says_which_words_only_other_projects_know(app: Engram) -> None:
    saved = kept(app, "The pool is full: apply twice.", title="Apply", type="decision")
    kept(app, "Terraform applies.", project="gadgets")
    note = reason("known_elsewhere", words=("terraform",))

    assert app.searches.search("terraform apply").warnings == (note,)
    assert app.searches.search("terraform apply", all_projects=True).warnings == ()
    assert note not in app.searches.search('terraform apply "is full"').warnings  # so may the quotes
    pasted = " ".join(f"qu{letter}rk" for letter in "abcdefghijklmn")
    assert note not in app.searches.search(f"terraform apply twice pool full {pasted}").warnings
    filtered = app.searches.search("terraform apply type:decision")  # the filter may be what hides it
    assert ([hit.id for hit in filtered.results], filtered.warnings) == ([saved], ())


def test_project_rows_are_seen_from_their_project_and_the_others_from_everywhere(app: Engram) -> None:
    row = {
        (project, scope): kept(app, f"The {scope} queue of {project}.", project=project, scope=scope)
        for project in ("widgets", "gadgets")
        for scope in ("project", "personal", "global")
    }
    everywhere = {one for (_, scope), one in row.items() if scope != "project"}
    assert set(ids(app, "queue", limit=20)) == everywhere | {row["widgets", "project"]}
    assert set(ids(app, "queue", project="gadgets", limit=20)) == everywhere | {row["gadgets", "project"]}
    assert set(ids(app, "queue", all_projects=True, limit=20)) == set(row.values())
    for project in ("widgets", "gadgets"):
        assert ids(app, "queue", project=project, scope="project") == [row[project, "project"]]
    assert app.searches.search("queue", scope="personal").projects is None
    for scope in ("personal", "global"):
        mine = {row[project, scope] for project in ("widgets", "gadgets")}
        assert set(ids(app, "queue", scope=scope)) == set(ids(app, f"queue scope:{scope}")) == mine


NOBODY, OTHERS = reason("unknown_words"), reason("only_elsewhere")
INGRESS, CLUSTER = "The kubernetes ingress.", "The kubernetes cluster."


@pytest.mark.parametrize(
    ("ours", "theirs", "query", "elsewhere", "unknown", "why"),
    [
        pytest.param("", QUEUE, "retry queue drains", "retry queue drains", "", OTHERS, id="every-word"),
        pytest.param("", "It boots the motor.", "booking of drones", "", "booking drones", NOBODY, id="read-otherwise"),
        pytest.param("", "It boots the motor.", "booting of drones", "booting", "drones", None, id="another-form"),
        pytest.param(
            "", "The placement of the motor.", "gps antenna placement", "placement", "gps antenna", OTHERS,
            id="one-beside-unknown-ones",
        ),
        pytest.param("", INGRESS, "kubernetes ingress type:policy", "kubernetes ingress", "", None, id="a-filter"),
        pytest.param(CLUSTER, INGRESS, "kubernetes type:policy", "", "", None, id="hidden-by-a-filter"),
        pytest.param(CLUSTER, INGRESS, "kubernetes since:2099", "", "", None, id="hidden-by-a-date"),
    ],
)  # fmt: skip
def test_words_that_only_other_projects_know_are_said(
    app: Engram, ours: str, theirs: str, query: str, elsewhere: str, unknown: str | None, why: Reason | None
) -> None:
    if ours:
        kept(app, ours)
    kept(app, theirs, project="gadgets")
    found = silence(app, query)
    assert found.elsewhere == tuple(elsewhere.split())
    assert unknown is None or found.unknown == tuple(unknown.split())
    assert why in (None, found.reason)
    assert found.filtered == 0 or ours
    everywhere = app.searches.search(query, all_projects=True).silence
    assert everywhere is None or everywhere.elsewhere == ()


def test_an_id_that_is_not_there_sends_nobody_to_a_number_of_another_project(app: Engram) -> None:
    gone = kept(app, "Nothing of note.")
    app.observations.delete(gone)
    kept(app, f"The limit is {gone}.", project="gadgets")
    for asked in (f"#{gone}", "#9999"):
        found = silence(app, asked)
        assert (found.elsewhere, found.unknown) == ((), ())
        assert found.reason == reason("gone", ids=(int(asked[1:]),))


def test_other_projects_are_offered_only_where_there_are_any(app: Engram) -> None:
    kept(app, QUEUE)
    assert not silence(app, "zebra").others
    kept(app, QUEUE, project="gizmos")
    assert silence(app, "zebra").others
    assert not silence(app, "zebra", all_projects=True).others


def test_a_word_that_stands_far_behind_in_sight_is_no_unknown_word(app: Engram) -> None:
    filler = " ".join(f"filler{number}" for number in range(60))
    with app.store.transaction():
        for number in range(5):
            kept(app, f"gadget {number} {filler}")
        for number in range(200):
            kept(app, f"turbine turbine v{number}", title=f"turbine {number}")
        for number in range(150):  # newer, and of somebody else
            kept(app, f"gadget {number} {filler}", project="elsewhere")

    assert ids(app, "turbine gadget")


# --- other processes --------------------------------------------------------------------------------------------

SEARCHING = """
import sys
from pathlib import Path
from engram_py import Engram
from engram_py.base.settings import Settings
with Engram(settings=Settings(Path(sys.argv[1])), directory=Path(sys.argv[2])) as app:
    for _ in range(40):
        found = app.searches.search("retry queue drain databse -redis", explain=True)
        assert 1 <= len(found.results) <= 10, found
        app.searches.search("kubernetes ingress")
        app.searches.search("type:bugfix")
    app.usage.flush()
    print("done")
"""


def test_two_processes_search_while_a_third_saves(app: Engram, data_dir: Path, folder: Path) -> None:
    kept(app, QUEUE)
    command = [sys.executable, "-c", SEARCHING, str(data_dir), str(folder)]
    others = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for number in range(60):
        kept(app, f"The retry queue and the database, part {number}.", title=f"Part {number}", type="bugfix")
    for other in others:
        out, err = other.communicate(timeout=120)
        assert (other.returncode, out.strip()) == (0, "done"), err


def test_a_search_sees_what_another_process_saved_just_now(app: Engram, data_dir: Path, folder: Path) -> None:
    assert ids(app, "retry queue") == []
    with Engram(settings=Settings(data_dir), directory=folder) as other:
        saved = kept(other, QUEUE)
    assert ids(app, "retry queue") == [saved]
