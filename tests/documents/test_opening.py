"""Rows 145 to 147: documents are opened by path and lines, by commit, by docid, several at once."""

from __future__ import annotations

import pytest

from engram_py import Engram
from engram_py.documents.values import DocumentNotFoundError, Opened, OpenedSeveral
from tests.anchors.repositories import Repo
from tests.documents.conftest import write
from tests.memory import Opener


@pytest.fixture
def documented(open_memory: Opener, history: Repo) -> Engram:
    write(history.root, "docs/storage.md", "# Storage\n\nline three\nline four\nline five\n")
    write(history.root, "docs/sync.md", "# Sync\n\nOther machines.\n")
    app = open_memory(history.root)
    app.documents.update()
    return app


def opened(app: Engram, name: str, *, first: int | None = None, count: int | None = None) -> Opened:
    found = app.documents.open(name, first=first, count=count)
    assert isinstance(found, Opened)
    return found


def numbered(found: Opened) -> list[tuple[int, str]]:
    return [(line.number, line.text) for line in found.lines]


def test_row_145_a_path_with_lines_shows_those_lines(documented: Engram) -> None:
    found = opened(documented, "docs/storage.md:3:2")

    assert numbered(found) == [(3, "line three"), (4, "line four")]
    assert found.more


def test_row_145_explicit_lines_win(documented: Engram) -> None:
    assert numbered(opened(documented, "docs/storage.md:3:2", first=5, count=1)) == [(5, "line five")]


def test_row_145_a_docid_names_the_document(documented: Engram) -> None:
    docid = opened(documented, "docs/sync.md").docid

    assert opened(documented, f"doc:{docid}").source == "docs/sync.md"


@pytest.mark.parametrize("name", ["sync.md", "./docs/sync.md", "{root}/docs/sync.md", "sync.md:1"])
def test_row_145_a_path_is_found_however_it_is_written(documented: Engram, history: Repo, name: str) -> None:
    assert opened(documented, name.format(root=history.root)).source == "docs/sync.md"


def test_a_commit_opens_as_git_has_it_now(documented: Engram, history: Repo) -> None:
    commit = history.git("rev-parse", "HEAD~1")

    text = "\n".join(line.text for line in opened(documented, f"commit:{commit[:9]}").lines)

    assert commit in text
    assert "Signed-off-by: Ada" in text
    assert "src/upload.py" in text


def test_a_commit_without_a_reason_opens_as_well(documented: Engram, history: Repo) -> None:
    assert opened(documented, f"commit:{history.git('rev-parse', 'HEAD')}").title == "typo"


def test_row_146_an_unknown_path_names_the_near_ones(documented: Engram) -> None:
    with pytest.raises(DocumentNotFoundError) as raised:
        documented.documents.open("docs/storge.md")

    assert raised.value.details()["found"] is False
    assert "docs/storage.md" in raised.value.near


def test_row_146_an_ignored_file_says_which_rule(documented: Engram, history: Repo) -> None:
    write(history.root, ".gitignore", "secret/\n")
    write(history.root, "secret/plan.md", "# Plan\n")

    with pytest.raises(DocumentNotFoundError, match="gitignore"):
        documented.documents.open("secret/plan.md")


def test_what_is_outside_of_the_collections_is_not_opened(documented: Engram) -> None:
    for name in ("/etc/passwd", "../../etc/passwd", "docs/../../../etc/passwd", "\0", "commit:ffffffff"):
        with pytest.raises(DocumentNotFoundError):
            documented.documents.open(name)


def test_row_147_several_are_opened_by_glob_and_commas(documented: Engram, history: Repo) -> None:
    write(history.root, "docs/large.md", "word " * 14_000)
    documented.documents.update()

    found = documented.documents.open("docs/*.md,nothing.md")

    assert isinstance(found, OpenedSeveral)
    assert [one.source for one in found.documents] == ["docs/storage.md", "docs/sync.md"]
    reasons = {one.path: one.reason for one in found.skipped}
    assert "64 KB" in str(reasons["docs/large.md"])
    assert "nothing.md" in reasons
