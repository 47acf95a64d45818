"""Row 103 and issue 22: the collection `git` and the passages of documents."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py import Draft, Engram
from engram_py.base.database.store import Store
from engram_py.base.git.program import Deadline
from engram_py.recall.documents import history as commits
from engram_py.recall.documents import table
from engram_py.recall.documents.passages import (
    MOST_CHARS,
    OVERLAP_CHARS,
    passages,
    split_front_matter,
    status_of,
    structure,
    title_of,
)
from engram_py.recall.documents.values import Cut, Read
from tests.memory.anchors.repositories import Repo
from tests.recall.documents.conftest import REASON, sources, write
from tests.support import Git, Opener, RepoMaker

WHY = "why do we not retry an upload of an invoice"


def test_a_question_about_a_reason_is_answered_by_the_commit_that_gives_it(indexed: Engram, history: Repo) -> None:
    found = indexed.search(WHY)

    assert found.results == ()
    [hit] = found.documents
    commit = history.git("rev-parse", "HEAD~1")
    assert (hit.source, hit.author, hit.kind) == (f"commit:{commit[:7]}", "Ada", "git")
    assert "409" in hit.snippet
    assert "Signed-off-by" not in hit.snippet


def test_what_a_memory_says_is_not_said_again_by_a_document(indexed: Engram) -> None:
    subject, _, body = REASON.partition("\n\n")
    indexed.observations.save(Draft(subject, body.partition("\n\n")[0]))

    found = indexed.search(WHY)

    assert [hit.title for hit in found.results] == [subject]
    assert found.documents == ()


def test_a_foreign_question_shows_no_document(indexed: Engram) -> None:
    assert indexed.search("which font does the login page use").documents == ()


def test_a_subject_alone_gives_no_reason_and_is_not_indexed(open_memory: Opener, history: Repo) -> None:
    app = open_memory(history.root)

    git, _ = app.documents.update().items

    assert (git.indexed, git.skipped[0].path) == (1, "2 commits")


def test_a_commit_without_a_date_that_a_calendar_has_is_named_and_stops_no_other(
    open_memory: Opener, history: Repo
) -> None:
    odd = [_odd_commit(history, date) for date in (" 253402300800 +0000", "")]
    history.commit("Use sqlite\n\nA server is one more thing to run on a laptop.")
    app = open_memory(history.root)

    git, _ = app.documents.update().items

    assert git.indexed == 2
    named = {one.path: str(one.reason) for one in git.skipped}
    assert all("date" in named[commit[:12]] for commit in odd)
    assert named["2 commits"] == "the message gives no reason"


def _odd_commit(repo: Repo, date: str) -> str:
    """Commit what HEAD has with a reason, at a ``date`` as it stands in the object."""
    tree, parent = repo.git("rev-parse", "HEAD^{tree}"), repo.git("rev-parse", "HEAD")
    who = f"Ada <ada@example.org>{date}"
    text = (
        f"tree {tree}\nparent {parent}\nauthor {who}\ncommitter {who}\n\nPin numpy\n\nTwo breaks the build of July.\n"
    )
    command = ["git", "-C", str(repo.root), "hash-object", "-t", "commit", "-w", "--stdin", "--literally"]
    made = subprocess.run(command, input=text.encode(), capture_output=True, check=True).stdout.decode().strip()
    repo.git("reset", "-q", "--hard", made)
    return made


def test_an_update_reads_only_what_is_new(indexed: Engram, history: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    history.commit("Use sqlite\n\nA server is one more thing to run on a laptop.")
    read: list[str] = []
    kept = commits.read_commits

    def noted(
        root: Path, ids: Sequence[str], deadline: Deadline, aside: Callable[[str, str], object]
    ) -> list[commits.Commit] | None:
        read.extend(ids)
        return kept(root, ids, deadline, aside)

    monkeypatch.setattr(commits, "read_commits", noted)

    git, _ = indexed.documents.update().items
    again, _ = indexed.documents.update().items

    assert read == [history.git("rev-parse", "HEAD")]
    assert (git.indexed, git.unchanged) == (1, 1)
    assert (again.indexed, again.unchanged) == (0, 2)


def test_a_run_that_died_is_finished_by_the_next(
    open_memory: Opener, history: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commits, "BATCH", 2)
    for number in range(5):
        history.commit(f"Change {number}\n\nBecause the number {number} was asked for.")
    app = open_memory(history.root)
    put, stored = table.put, list[str]()

    def dies(store: Store, collection: int, read: Read) -> None:
        if len(stored) == 3:
            raise KeyboardInterrupt
        put(store, collection, read)
        stored.append(read.path)

    monkeypatch.setattr(table, "put", dies)
    with pytest.raises(KeyboardInterrupt):
        app.documents.update()
    monkeypatch.setattr(table, "put", put)

    app.documents.update()

    assert app.store.value("select count(*) from documents") == 6
    assert app.store.value("select count(*) from passages") == 6
    assert app.documents.update().items[0].indexed == 0


def test_a_commit_that_history_lost_is_found_no_more(indexed: Engram, history: Repo) -> None:
    history.git("reset", "-q", "--hard", "HEAD~2")
    history.commit("Start again\n\nThe first attempt was abandoned by everybody.")

    git, _ = indexed.documents.update().items

    assert (git.indexed, git.removed) == (1, 1)
    assert sources(indexed, WHY) == []


def test_a_reverted_commit_says_so_and_stands_behind_what_holds(open_memory: Opener, history: Repo) -> None:
    app = open_memory(history.root)
    reason = history.git("rev-parse", "HEAD~1")
    history.git("revert", "--no-edit", reason)
    reverting = history.git("rev-parse", "HEAD")
    app.documents.update()

    hits = {hit.source: hit for hit in app.documents.search(WHY).results}

    assert hits[f"commit:{reason[:7]}"].notes == (f"reverted by commit {reverting[:7]}",)


def test_a_revert_that_was_taken_back_reverts_nothing(open_memory: Opener, history: Repo) -> None:
    app = open_memory(history.root)
    reason = history.git("rev-parse", "HEAD~1")
    history.git("revert", "--no-edit", reason)
    history.commit(f"Put it back\n\nThis reverts commit {history.git('rev-parse', 'HEAD')}.")
    app.documents.update()

    hits = {hit.source: hit for hit in app.documents.search(WHY).results}

    assert hits[f"commit:{reason[:7]}"].notes == ()


def test_a_fix_names_what_it_fixes(open_memory: Opener, history: Repo) -> None:
    app = open_memory(history.root)
    reason = history.git("rev-parse", "HEAD~1")
    history.commit(f'Retry once on a reset connection\n\nFixes: {reason[:12]} ("Retry uploads")')
    app.documents.update()

    hits = {hit.source: hit for hit in app.documents.search(WHY).results}

    fix = history.git("rev-parse", "HEAD")
    assert hits[f"commit:{reason[:7]}"].notes == (f"fixed by commit {fix[:7]}",)


@pytest.mark.parametrize("kind", ["one commit", "bare", "shallow", "no commit"])
def test_every_kind_of_repository_is_read(
    open_memory: Opener, make_repo: RepoMaker, git: Git, tmp_path: Path, kind: str
) -> None:
    origin = Repo(make_repo("origin"), git)
    origin.commit(REASON, {"a.txt": ["1"]})
    place = tmp_path / "work" / "widgets"
    match kind:
        case "bare":
            git(tmp_path, "clone", "-q", "--bare", str(origin.root), str(place))
        case "shallow":
            git(tmp_path, "clone", "-q", "--depth=1", f"file://{origin.root}", str(place))
        case "one commit":
            place.mkdir(parents=True)
            git(place, "init", "-q")
            git(place, "commit", "-q", "--allow-empty", "-m", REASON)
        case "no commit":
            place.mkdir(parents=True)
            git(place, "init", "-q")
    app = open_memory(place)

    app.documents.update()

    assert len(sources(app, WHY)) == (0 if kind == "no commit" else 1)


def test_a_shallow_history_that_is_fetched_is_indexed(
    open_memory: Opener, make_repo: RepoMaker, git: Git, tmp_path: Path
) -> None:
    origin = Repo(make_repo("origin"), git)
    origin.commit(REASON)
    origin.commit("Later\n\nSomething else was in the way of it.")
    place = tmp_path / "work" / "widgets"
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{origin.root}", str(place))
    app = open_memory(place)
    app.documents.update()
    assert sources(app, WHY) == []
    git(place, "fetch", "-q", "--unshallow")

    app.documents.update()

    assert len(sources(app, WHY)) == 1


def test_a_message_that_is_no_utf8_is_read(open_memory: Opener, history: Repo, git: Git) -> None:
    message = "Größe ändern\n\nDer Zwischenspeicher lief über, deshalb.".encode("latin-1")
    tree = history.git("rev-parse", "HEAD^{tree}")
    made = subprocess.run(
        ["git", "commit-tree", tree, "-p", "HEAD"], cwd=history.root, input=message, capture_output=True, check=True
    )
    history.git("reset", "-q", "--hard", made.stdout.decode().strip())
    app = open_memory(history.root)

    app.documents.update()

    assert len(sources(app, "Zwischenspeicher")) == 1


def test_a_secret_in_a_message_is_not_stored(open_memory: Opener, history: Repo) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    history.commit(f"Rotate the deploy token\n\nThe old one, {token}, was in the log.")
    app = open_memory(history.root)

    app.documents.update()

    [hit] = app.documents.search("rotate the deploy token").results
    assert token not in hit.snippet
    assert app.store.value("select count(*) from passages where content like '%' || :token || '%'", token=token) == 0


def cut(text: str) -> tuple[Cut, ...]:
    return passages(structure(text))


def paragraph(number: int, words: int) -> str:
    return " ".join(f"word{number}x{place}" for place in range(words))


def test_row_151_a_long_text_is_cut_between_paragraphs_with_an_overlap() -> None:
    text = "\n\n".join(paragraph(number, 20) for number in range(70))
    assert len(text) > 12_000

    found = cut(text)

    assert all(len(one.text) <= MOST_CHARS for one in found)
    lines = text.split("\n")
    for before, after in pairwise(found):
        shared = lines[after.first_line - 1 : before.last_line]
        assert 0 < len("\n".join(shared)) <= OVERLAP_CHARS
    for one in found:
        assert one.text == "\n".join(lines[one.first_line - 1 : one.last_line])


def test_row_151_a_passage_ends_at_a_heading() -> None:
    text = f"# One\n\n{paragraph(1, 300)}\n\n## Two\n\n{paragraph(2, 30)}\n"

    assert [(one.title, one.above) for one in cut(text)] == [("One", ()), ("Two", ("One",))]


def test_row_151_a_fence_is_not_cut() -> None:
    fence = "```py\n" + "\n".join(f"value_{number} = {number}\n" for number in range(300)) + "```"
    text = f"# Code\n\nBefore it.\n\n{fence}\n\nAfter it.\n"
    assert len(fence) > MOST_CHARS

    assert any(fence in one.text for one in cut(text))


def test_a_line_in_a_fence_is_no_heading() -> None:
    assert [one.title for one in cut("# Real\n\n```sh\n# not a heading\n```\n\n> # nor this\n")] == ["Real"]


def test_a_line_without_an_end_is_cut_between_words() -> None:
    found = cut(paragraph(1, 2_000))

    assert len(found) > 1
    assert all(len(one.text) <= MOST_CHARS and one.first_line == one.last_line == 1 for one in found)


def test_long_lists_and_tables_are_cut_between_their_items() -> None:
    items = "\n".join(f"- {paragraph(number, 12)}" for number in range(60))
    rows = "| a | b |\n|---|---|\n" + "\n".join(f"| {paragraph(number, 10)} | b |" for number in range(60))

    for found in (cut(items), cut(rows)):
        assert len(found) > 1
        assert all(one.text.startswith(("- ", "| ")) and len(one.text) <= MOST_CHARS for one in found)


@given(
    st.lists(
        st.sampled_from(["# A", "## B", "text", "", "- x", "  - y", "```", "~~~", "> q", "===", "\t", "|a|", "x" * 90])
    )
)
def test_no_line_with_text_is_lost(lines: list[str]) -> None:
    text = "\n".join(lines)
    parts = structure(text)
    held = {number for one in passages(parts) for number in range(one.first_line - 1, one.last_line)}
    headings = {line for one in parts.headings for line in range(one.first, one.end)}

    assert {number for number, line in enumerate(lines) if line.strip()} <= held | headings


def test_row_150_a_hit_names_the_line_of_the_match(app: Engram, tmp_path: Path) -> None:
    text = "# Log\n\n" + "\n".join(f"Entry {number} is about nothing." for number in range(1, 30))
    write(tmp_path, "notes/log.md", text.replace("Entry 17 is about nothing.", "Limescale ruined the kettle."))
    app.documents.add(str(tmp_path / "notes"))

    [hit] = app.documents.search("who ruined the kettle with limescale").results

    assert (hit.source, hit.line, hit.first_line, hit.last_line) == ("notes/log.md:19", 19, 3, 31)
    assert "Limescale" in hit.snippet


@pytest.mark.parametrize(
    ("text", "status"),
    [
        pytest.param("# A\n\nStatus: Superseded by [ADR-12](0012.md)\n", "superseded by ADR-12", id="line"),
        pytest.param("# A\n\n* **Status:** deprecated\n", "deprecated", id="bold item"),
        pytest.param("# A\n\n## Status\n\nSuperseded by 0012.\n", "superseded by 0012", id="heading"),
        pytest.param("---\nsuperseded-by: adr/12\n---\n# A\n", "superseded by adr/12", id="front matter"),
        pytest.param("# A\n\n| Status | Rejected |\n|---|---|\n", "rejected", id="table"),
        pytest.param("Superseded-By: 0012\n\n# A\n", "superseded by 0012", id="trailer"),
        pytest.param("# A\n\nStatus: accepted\n\nIt supersedes ADR-3.\n", "", id="accepted"),
        pytest.param("# A\n\nThe status page: rejected requests are shown.\n", "", id="prose"),
    ],
)
def test_a_record_says_whether_it_still_holds(text: str, status: str) -> None:
    head, skip = split_front_matter(text)
    parts = structure(text, skip=skip)

    assert status_of(head, parts) == status
    assert title_of("adr/1.md", head, parts) == "A"
