"""Git as a program, the names of remotes, and the files it tracks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py.base.git.answers import TrackedFiles, tracked_files
from engram_py.base.git.program import Deadline, ask_git
from engram_py.base.git.repository import canonical_remote, find_repository, remote_names, strip_credentials
from tests.support import Git, RepoMaker, stand_in


@pytest.fixture
def root(tmp_path: Path, git: Git) -> Path:
    root = tmp_path / "repo"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    git(root, "commit", "-q", "--allow-empty", "-m", "first")
    return root


def test_git_answers_up_to_the_limit_and_not_where_it_refuses_is_elsewhere_or_has_no_time(
    root: Path, git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ask_git(root, "rev-parse", "HEAD", deadline=Deadline()) == (
        git(root, "rev-parse", "HEAD").encode() + b"\n",
        True,
    )
    assert ask_git(root, "rev-parse", "no-such-thing", deadline=Deadline()) is None
    assert ask_git(tmp_path / "gone", "rev-parse", "HEAD", deadline=Deadline()) is None
    answer = ask_git(root, "help", "-a", limit=10, deadline=Deadline(30))
    assert answer is not None
    assert (len(answer[0]), answer[1]) == (10, False)
    monkeypatch.setattr("subprocess.Popen", None)
    assert ask_git(root, "rev-parse", "HEAD", deadline=Deadline(0)) is None


@pytest.mark.skipif(os.name == "nt", reason="the stand-in is a shell script")
@pytest.mark.parametrize("script", ["exec sleep 600", "while :; do :; done", "exec cat /dev/zero > /dev/null"])
def test_a_git_that_does_not_end_is_ended(
    root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str
) -> None:
    stand_in(tmp_path / "bin", monkeypatch, script)
    assert ask_git(root, "log", deadline=Deadline(0.1)) is None


@pytest.mark.skipif(os.name == "nt", reason="the stand-in is a shell script")
def test_a_git_that_reads_nothing_does_not_hold_up_who_writes_to_it(
    root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stand_in(tmp_path / "bin", monkeypatch, "exec sleep 600")
    assert ask_git(root, "x", given=["0" * 1_000] * 1_000, deadline=Deadline(0.1)) is None


@pytest.mark.skipif(os.name == "nt", reason="the stand-in is a shell script")
def test_a_git_inside_the_repository_is_not_run(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(root / "bin", monkeypatch, "echo ran")
    assert ask_git(root, "x", deadline=Deadline()) is None


def test_the_variables_of_a_hook_do_not_lead_to_another_repository(
    root: Path, git: Git, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    head = git(root, "rev-parse", "HEAD")
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    assert ask_git(root, "rev-parse", "HEAD", deadline=Deadline()) == (f"{head}\n".encode(), True)


def test_a_damaged_repository_inside_another_is_not_answered_for_by_that(root: Path) -> None:
    (root / "inner" / ".git").mkdir(parents=True)
    (root / "inner" / ".git" / "config").write_text("")
    assert ask_git(root / "inner", "rev-parse", "HEAD", deadline=Deadline()) is None


@pytest.mark.skipif(os.name == "nt", reason="the transport is a shell command")
def test_a_partial_clone_does_not_fetch_what_it_lacks(root: Path, git: Git, tmp_path: Path) -> None:
    git(root, "config", "remote.origin.url", f"ext::sh -c touch% {tmp_path}/ran")
    git(root, "config", "remote.origin.promisor", "true")
    git(root, "config", "protocol.ext.allow", "always")
    git(root, "config", "extensions.partialClone", "origin")
    git(root, "config", "core.repositoryFormatVersion", "1")
    ask_git(root, "cat-file", "-p", "ab" * 20, deadline=Deadline(30))
    ask_git(root, "cat-file", "--batch-check", given=["ab" * 20], deadline=Deadline(30))
    assert not (tmp_path / "ran").exists()


BASE = Path("/srv/here")


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/acme/widgets",
        "https://user:tok@github.com/Acme/Widgets.git",
        "https://ghp_secret@GitHub.com/acme/widgets.git/",
        "http://github.com:80/acme//widgets",
        "git@github.com:Acme/Widgets.git",
        "github.com:acme/widgets",
        "git@github.com:/acme/widgets.git",
        "ssh://git@github.com:22/Acme/Widgets",
        "ssh://git@ssh.github.com:443/acme/widgets.git",
        "git://github.com/acme/widgets.git",
        "https://github.com/acme/widgets.git?token=secret#x",
        "https://user:p%40ss@github.com/acme/widgets",
        "https://user:p@ss@github.com/acme/widgets",
        "https://user:pa/ss@github.com/acme/widgets",
        "user:secret@github.com:acme/widgets",
    ],
)
def test_every_way_to_write_a_remote_is_one_identity(url: str) -> None:
    assert canonical_remote(url, base=BASE) == "github.com/acme/widgets"


@pytest.mark.parametrize(
    ("url", "identity"),
    [
        pytest.param("ssh://git@host:2222/a/b", "host:2222/a/b", id="other-port"),
        pytest.param("ssh://git@[::1]:22/a/b", "[::1]/a/b", id="ipv6"),
        pytest.param("git@[::1]:a/b", "[::1]/a/b", id="ipv6-scp"),
        pytest.param("git@gitlab.com:group/sub/lib.git", "gitlab.com/group/sub/lib", id="nested-group"),
        pytest.param("https://host/My%20Lib", "host/my lib", id="escaped"),
        pytest.param("/srv/Repos/lib.git", "/srv/Repos/lib", id="path"),
        pytest.param("../lib.git", "/srv/lib", id="relative-path"),
        pytest.param("file:///srv/lib.git", "/srv/lib", id="file-url"),
        pytest.param("file://u:secret@host/srv/lib", "/srv/lib", id="file-url-with-host"),
        pytest.param("ext::sh -c evil", None, id="command"),
        pytest.param("https://github.com/", None, id="no-path"),
        pytest.param("", None, id="empty"),
        pytest.param("x" * 5000, None, id="too-long"),
    ],
)
def test_a_remote_is_identified_by_host_and_path(url: str, identity: str | None) -> None:
    assert canonical_remote(url, base=BASE) == identity


def test_a_remote_offers_a_short_name_and_longer_ones() -> None:
    assert remote_names("github.com/acme/widgets") == ("widgets", "acme-widgets", "github.com-acme-widgets")
    assert remote_names("gitlab.com/a/b/c") == ("c", "a-b-c", "gitlab.com-a-b-c")
    assert remote_names("host/widgets") == ("widgets", "host-widgets")
    assert remote_names("/srv/repos/widgets") == ("widgets", "repos-widgets")
    assert remote_names("/widgets") == ("widgets",)


@pytest.mark.parametrize(
    ("url", "clean"),
    [
        ("https://user:tok@github.com/a/b.git", "https://github.com/a/b.git"),
        ("git@github.com:a/b.git", "github.com:a/b.git"),
        ("codecommit::https://u:tok@host/b", "codecommit::https://host/b"),
        ("https://host/a@v1/b?private_token=tok", "https://host/a@v1/b"),
        ("/srv/a@b/c", "/srv/a@b/c"),
    ],
)
def test_credentials_are_stripped_from_a_url(url: str, clean: str) -> None:
    assert strip_credentials(url) == clean


SECRET = st.text(alphabet="abcXYZ0189!$&*+-._~%@:", min_size=8, max_size=30).map(lambda text: f"S3CR3T{text}")


@given(SECRET, st.sampled_from(["https", "http", "ssh", "git", "ftp"]), st.sampled_from(["", ":8443"]))
def test_no_password_survives(secret: str, scheme: str, port: str) -> None:
    url = f"{scheme}://user:{secret}@git.example.org{port}/acme/widgets.git"
    assert "s3cr3t" not in strip_credentials(url).lower()
    assert "s3cr3t" not in str(canonical_remote(url, base=BASE)).lower()


@given(st.one_of(st.text(), st.text(alphabet="ab:/@[]?#.~%\\ git:s", max_size=40)))
def test_any_text_can_be_stripped_and_identified(text: str) -> None:
    clean = strip_credentials(text)
    assert strip_credentials(clean) == clean
    remote = canonical_remote(text, base=BASE)
    assert remote is None or all(remote_names(remote))


NAMES = ["a.py", "b/a.py", "b/c/a.py", "b/xa.py", "ü/日本.py", "with blank.py", "tab\ta.py", f"deep/{'x' * 200}/a.py"]


@pytest.fixture(params=["sha1", "sha256", "version 4", "split"])
def staged(request: pytest.FixtureRequest, tmp_path: Path, git: Git) -> Path:
    root = tmp_path / "repo"
    root.mkdir()
    git(root, "init", "-q", f"--object-format={'sha256' if request.param == 'sha256' else 'sha1'}")
    for number, name in enumerate(NAMES):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"text {number % 4}\n")
    git(root, "add", "-A")
    if request.param == "version 4":
        git(root, "update-index", "--index-version", "4")
    if request.param == "split":
        git(root, "update-index", "--split-index")
    return root


def tracked(root: Path) -> TrackedFiles:
    repository = find_repository(root)
    found = tracked_files(repository) if repository else None
    assert found is not None
    return found


def blobs(root: Path, git: Git) -> dict[str, str]:
    return {name: git(root, "rev-parse", f":{name}") for name in NAMES}


def test_files_and_blobs_are_found_as_git_names_them(staged: Path, git: Git) -> None:
    files, expected = tracked(staged), blobs(staged, git)
    assert {name: getattr(files.get(name), "blob", None) for name in expected} == expected
    for blob in set(expected.values()):
        assert {one.path for one in files.with_blob(blob)} == {name for name in NAMES if expected[name] == blob}
    assert {one.path for one in files.ending_in("a.py")} == {name for name in NAMES if name.endswith("/a.py")}


def test_what_is_not_tracked_is_not_found(staged: Path) -> None:
    files = tracked(staged)
    assert [files.get(name) for name in ("py", "", "c/a.py", "a.py2", "xa.py", "b", "\udc80")] == [None] * 7
    assert [*files.with_blob("0" * 40), *files.ending_in("nothing.py")] == []


def test_what_is_added_later_is_found(staged: Path, git: Git) -> None:
    assert tracked(staged).get("later.py") is None
    (staged / "later.py").write_text("not yet\n")
    git(staged, "add", "--intent-to-add", "later.py")
    assert tracked(staged).get("later.py")


def test_a_file_in_conflict_has_no_one_blob(staged: Path, git: Git) -> None:
    one, other = (git(staged, "rev-parse", f":{name}") for name in NAMES[:2])
    stages = f"0 {'0' * len(one)}\ta.py\n100644 {one} 2\ta.py\n100644 {other} 3\ta.py\n"
    git(staged, "update-index", "--index-info", given=stages)
    assert tracked(staged).get("a.py") is None


def test_submodules_are_told_from_files(make_repo: RepoMaker, git: Git) -> None:
    library, root = make_repo("library"), make_repo("widgets")
    git(root, "submodule", "--quiet", "add", str(library), "libs/lib")
    assert tracked(root).submodules == ["libs/lib"]
    assert tracked(root).get("libs/lib") is None


@pytest.mark.parametrize("data", [None, b"", b"DIRC", b"garbage" * 100])
def test_without_an_index_that_git_reads_nothing_is_listed(make_repo: RepoMaker, data: bytes | None) -> None:
    root = make_repo("widgets")
    if data is None:
        (root / ".git/index").unlink(missing_ok=True)
    else:
        (root / ".git/index").write_bytes(data)
    repository = find_repository(root)
    assert repository is not None
    files = tracked_files(repository)
    assert files is None or files.get("a.py") is None


@pytest.mark.parametrize("folders", ["--sparse-index", "--no-sparse-index"])
def test_what_a_sparse_checkout_leaves_out_is_skipped(staged: Path, git: Git, folders: str) -> None:
    git(staged, "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q", "-m", "all")

    def skipped() -> list[str]:
        files = tracked(staged)
        return [name for name in NAMES if (file := files.get(name)) is not None and file.skipped]

    assert skipped() == []
    git(staged, "sparse-checkout", "set", "--cone", folders, "b/c")
    assert skipped() == [name for name in NAMES if not (staged / name).exists()]
    assert skipped()
