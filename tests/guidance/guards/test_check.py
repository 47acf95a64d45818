"""``engram check`` finds in staged changes, commits and files what is against a decision, with line and author."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from engram_py import Draft, Engram
from engram_py.base.reasons import Reason
from engram_py.guidance.guards import diff
from engram_py.guidance.guards.diff import FileChange, parsed
from engram_py.guidance.guards.values import Checked, Guard, NoDiffError
from engram_py.interfaces.wording.acting import github, sarif
from engram_py.memory.privacy.provenance import arrival_of
from tests.memory.anchors.repositories import Repo
from tests.support import Git

HTTPX = Guard(added="import requests", within=("**/*.py",), use="httpx", by="Ada")
MIGRATIONS = Guard(paths=("migrations/**",), deny="write", use="a new migration", by="Ada", strict=True)


@pytest.fixture
def repo(root: Path, git: Git) -> Repo:
    git(root, "checkout", "-q", "-B", "main")
    repo = Repo(root, git)
    repo.commit("before", {"a.py": ["x = 1", "y = 2"], "b.txt": ["import requests"]})
    return repo


@pytest.fixture
def number(here: Engram, repo: Repo) -> int:
    number = here.save(Draft("HTTP client", "Chosen.", "decision")).id
    for guard in (HTTPX, MIGRATIONS):
        here.guards.add(number, guard)
    return number


def stage(repo: Repo, files: Mapping[str, list[str]]) -> None:
    for path, text in files.items():
        repo.write(path, text)
    repo.git("add", "-A")


def places(checked: Checked) -> list[tuple[str, int]]:
    return [(one.file, one.line) for one in checked.found]


BROKEN = {
    "a.py": ["x = 1", "import os", "import requests", "y = 2"],
    "migrations/1.sql": ["drop"],
    "c.txt": ["import requests"],
}


def test_staged_lines_and_files_are_found_where_they_are(here: Engram, repo: Repo, number: int) -> None:
    stage(repo, BROKEN)
    found = here.guards.check(staged=True)
    assert places(found) == [("a.py", 3), ("migrations/1.sql", 1)]
    assert {(one.id, one.author, one.use) for one in found.found} == {
        (number, "Ada", "httpx"),
        (number, "Ada", "a new migration"),
    }


def test_a_range_is_what_its_commits_changed_since_the_two_parted(here: Engram, repo: Repo, number: int) -> None:
    repo.git("checkout", "-q", "-b", "work")
    repo.commit("one", BROKEN)
    repo.git("checkout", "-q", "main")
    repo.commit("theirs", {"d.py": ["import requests"]})
    assert places(here.guards.check(["main..work"])) == [("a.py", 3), ("migrations/1.sql", 1)]
    assert places(here.guards.check(["work..main"])) == [("d.py", 1)]


def test_files_are_looked_at_whole(here: Engram, repo: Repo, number: int) -> None:
    stage(repo, BROKEN)
    assert places(here.guards.check(["a.py", "b.txt"])) == [("a.py", 3)]
    assert places(here.guards.check([str(repo.root / "migrations/1.sql")])) == [("migrations/1.sql", 1)]


def test_moved_lines_and_renamed_files_are_not_new(here: Engram, repo: Repo, number: int) -> None:
    repo.commit("old", {"e.py": ["import requests", *(f"x{n} = {n}" for n in range(9))]})
    repo.git("mv", "e.py", "f.py")
    assert here.guards.check(staged=True).found == ()
    stage(repo, {"f.py": [*(f"x{n} = {n}" for n in range(9)), "import requests"]})
    assert here.guards.check(staged=True).found == ()


def test_a_deleted_file_of_a_guarded_folder_is_found(here: Engram, repo: Repo, number: int) -> None:
    repo.commit("old", {"migrations/0.sql": ["create"]})
    repo.git("rm", "-q", "migrations/0.sql")
    assert places(here.guards.check(staged=True)) == [("migrations/0.sql", 0)]


def test_a_new_file_is_no_edit(here: Engram, repo: Repo) -> None:
    number = here.save(Draft("Migrations", "Chosen.", "decision")).id
    here.guards.add(number, Guard(paths=("migrations/**",)))
    repo.commit("old", {"migrations/0.sql": ["create"]})
    stage(repo, {"migrations/1.sql": ["alter"], "migrations/0.sql": ["create", "more"]})
    assert places(here.guards.check(staged=True)) == [("migrations/0.sql", 2)]
    assert places(here.guards.check(["migrations/0.sql", "migrations/1.sql"])) == [("migrations/0.sql", 1)]


def test_strange_names_and_bytes_are_read(here: Engram, repo: Repo, number: int) -> None:
    repo.root.joinpath("migrations").mkdir()
    repo.root.joinpath('migrations/ü \t"x".sql').write_text("x")
    repo.root.joinpath("migrations/bin").write_bytes(b"\0\1\2")
    repo.git("add", "-A")
    assert [one for one, _ in places(here.guards.check(staged=True))] == ["migrations/bin", 'migrations/ü \t"x".sql']


@pytest.mark.parametrize(
    ("name", "data"),
    [
        pytest.param(".gitattributes", b"*.py binary\n", id="attribute-binary"),
        pytest.param(".gitattributes", b"*.py -diff\n", id="attribute-no-diff"),
        pytest.param("a.py", b"\0\nimport requests\n", id="nul"),
        pytest.param("a.py", "import requests\n".encode("utf-16"), id="utf-16"),
        pytest.param("a.py", b"x = '" + b"x" * 50_000 + b"'; import requests\n", id="long-line"),
        pytest.param("b\n\1\xff.py", b"import requests\n", id="name"),
    ],
)
def test_nothing_that_a_branch_says_of_a_file_hides_its_lines(
    here: Engram, repo: Repo, number: int, name: str, data: bytes
) -> None:
    repo.git("checkout", "-q", "-b", "work")
    stage(repo, {"c.py": ["import requests"]})
    (repo.root / os.fsdecode(name.encode("latin-1"))).write_bytes(data)
    repo.git("add", "-A")
    expected = {"c.py", name.replace("\xff", "\ufffd")} if name.endswith(".py") else {"c.py"}
    assert {file for file, _ in places(here.guards.check(staged=True))} == expected
    repo.git("commit", "-qm", "work")
    assert {file for file, _ in places(here.guards.check(["main..work"]))} == expected
    whole = here.guards.check([os.fsdecode(name.encode("latin-1"))])
    assert len(whole.found) == (name.endswith(".py"))


POINTER = ["version https://git-lfs.github.com/spec/v1", "oid sha256:" + 64 * "0", "size 12"]


def test_a_changed_file_whose_text_is_not_in_the_diff_is_named(
    here: Engram, repo: Repo, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage(repo, {"pointer.py": POINTER, "pointer.bin": POINTER, "good.py": ["import requests"]})
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{repo.git('rev-parse', 'HEAD').strip()},module.py")
    checked = here.guards.check(staged=True)
    assert places(checked) == [("good.py", 1)]
    assert [dict(one.facts)["files"] for one in checked.warnings if isinstance(one, Reason)] == [
        ("module.py", "pointer.py")
    ]

    repo.write("large.py", ["import requests", *("x" * 100 for _ in range(50))])
    repo.git("add", "large.py")
    monkeypatch.setattr(diff, "_MOST_DIFF", 1_000)
    checked = here.guards.check(staged=True)
    assert places(checked) == [("good.py", 1)]
    assert [dict(one.facts)["files"] for one in checked.warnings if isinstance(one, Reason)] == [
        ("large.py", "module.py", "pointer.py")
    ]


def test_a_branch_is_guarded_before_the_commit_and_not_after_it(here: Engram, repo: Repo) -> None:
    number = here.save(Draft("Branches", "Chosen.", "decision")).id
    here.guards.add(number, Guard(branch="main", use="a branch"))
    stage(repo, {"a.py": ["x"]})
    assert places(here.guards.check(staged=True)) == [("", 0)]
    repo.commit("one")
    assert here.guards.check(["HEAD~1..HEAD"]).found == ()


def test_a_guard_from_elsewhere_is_counted_and_not_followed(here: Engram, repo: Repo, number: int) -> None:
    with here.store.transaction():
        here.store.update("observations", {"id": number}, {"arrival": arrival_of(here.store, "git:x", "eve", "Eve")})
    stage(repo, BROKEN)
    found = here.guards.check(staged=True)
    assert (found.found, len(found.warnings)) == ((), 1)


@pytest.mark.parametrize("what", ["nope.py", "nope..HEAD", "--output=x..y", "src"])
def test_what_is_no_diff_is_refused(here: Engram, repo: Repo, number: int, what: str) -> None:
    (repo.root / "src").mkdir(exist_ok=True)
    with pytest.raises(NoDiffError):
        here.guards.check([what])
    assert not (repo.root / "x..y").exists()


def test_a_diff_whose_lines_look_like_headers_is_read_by_its_counts() -> None:
    diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -3,2 +3,1 @@ f\n--- old\n-+++ b/y\n+++ new\n"
    assert list(parsed(diff)) == [FileChange("x", [(3, "++ new")], [(3, "-- old"), (4, "+++ b/y")])]


def test_places_are_printed_for_github_and_as_sarif(here: Engram, repo: Repo, number: int) -> None:
    stage(repo, BROKEN)
    found = here.guards.check(staged=True)
    first, second = github(found).split("\n")
    assert (
        first
        == f'::warning file=a.py,line=3,title=engram #{number}::"HTTP client" (decision #{number}, Ada): use httpx'
    )
    assert second.startswith("::error file=migrations/1.sql,line=1,")
    log = json.loads(json.dumps(sarif(found, "1")))
    [run] = log["runs"]
    assert [one["ruleId"] for one in run["results"]] == [f"engram-{number}"] * 2
    assert run["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] == 3
