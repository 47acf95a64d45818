"""The files a save names: in its list and on its **Where** line, and what is stored of them."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py import Draft, Engram
from engram_py.base.reasons import reason
from engram_py.memory.anchors.record import Reference, parse_reference, references, where_references
from engram_py.memory.anchors.values import LINE_LIMIT, MOST_ANCHORS
from engram_py.memory.observations.values import Saved
from tests.memory.anchors.repositories import AUTH, WHERE, Repo, about, kept, lines, places, state, states, write
from tests.support import Opener, names, words


def notes(saved: Saved) -> tuple[str, ...]:
    """What was said about the files."""
    return tuple(words(one) for one in saved.warnings if names([one]) != ["created_project"])


# --- which files --------------------------------------------------------------------------------------------


def test_listed_files_and_those_of_the_where_line_are_kept_with_what_git_calls_them(here: Engram, repo: Repo) -> None:
    saved = here.save(Draft("Both", WHERE, files=("src/login.py:3",)))

    first, second = kept(here, saved)

    assert places(here, saved) == [("src/login.py", 3, 3, "given"), (AUTH, 10, 20, "where")]
    assert (first.blob, second.blob) == tuple(repo.git("rev-parse", f"HEAD:{path}") for path in ("src/login.py", AUTH))
    assert {first.git_commit, second.git_commit} == {repo.git("rev-parse", "HEAD")}


def test_a_modified_file_has_no_blob(here: Engram, root: Path) -> None:
    write(root, AUTH, ["changed"])
    assert [one.blob for one in kept(here, about(here, AUTH, "src/login.py"))[:1]] == [None]


@pytest.mark.parametrize("name", ["src/auth.py", "./src/auth.py", "src//auth.py", "src/../src/auth.py", "src\\auth.py"])
def test_a_path_has_one_spelling(here: Engram, name: str) -> None:
    assert places(here, about(here, name)) == [(AUTH, None, None, "given")]


def test_paths_are_relative_to_where_one_stands_and_to_the_root(open_memory: Opener, root: Path) -> None:
    write(root, "auth.py", lines("another"))
    inside = open_memory(root / "src")
    saved = about(inside, "auth.py:3", "src/login.py", str(root / "src" / "auth.py"))
    assert [one[:2] for one in places(inside, saved)] == [(AUTH, 3), ("src/login.py", None), (AUTH, None)]


def test_the_one_file_of_a_name_is_found_by_it(here: Engram) -> None:
    assert places(here, about(here, "login.py:2-4")) == [("src/login.py", 2, 4, "given")]


def test_of_several_files_of_a_name_none_is_guessed(here: Engram, repo: Repo) -> None:
    repo.commit("a second one", {"lib/login.py": lines("lib")})
    assert [one.digest for one in kept(here, about(here, "login.py"))] == [None]


def test_a_file_of_another_worktree_is_kept_by_its_path_in_the_repository(
    here: Engram, repo: Repo, tmp_path: Path
) -> None:
    for tree in (tmp_path / "tree", repo.root / ".trees" / "inner"):
        repo.git("worktree", "add", "-q", "--detach", str(tree))
        write(tree, AUTH, ["written", "there"])
        saved = about(here, str(tree / AUTH), title=f"In {tree.name}")
        assert places(here, saved) == [(AUTH, None, None, "given")]
        assert state(here, saved).state == "changed"


def test_only_hashes_of_the_code_are_stored(here: Engram, data_dir: Path, root: Path) -> None:
    write(root, AUTH, ["nobody_may_read_this_line = 1", *lines("auth")])
    about(here, f"{AUTH}:1-3", AUTH)
    here.close()
    stored = b"".join(file.read_bytes() for file in data_dir.rglob("*") if file.is_file())
    assert b"nobody_may_read_this_line" not in stored


@pytest.mark.skipif(os.name == "nt", reason="a drive")
@pytest.mark.parametrize(
    ("name", "lines_of_it"), [("a:b.py", (None, None)), ("a:b.py:2-3", (2, 3)), ("a:b/c.py", (None, None))]
)
def test_a_name_that_would_be_a_drives_on_windows_is_a_file_here(
    here: Engram, root: Path, name: str, lines_of_it: tuple[int | None, int | None]
) -> None:
    path = name.removesuffix(":2-3")
    write(root, path, lines("b"))
    saved = about(here, name)
    assert places(here, saved) == [(path, *lines_of_it, "given")]
    assert state(here, saved).state == "fresh"
    write(root, path, ["changed"])
    assert state(here, saved).state != "fresh"


# --- what cannot be read --------------------------------------------------------------------------------------


def make_huge(root: Path) -> None:
    with (root / "huge.bin").open("wb") as file:
        file.truncate(2 << 30)


def make_pipe(root: Path) -> None:
    os.mkfifo(root / "pipe")


def make_loop(root: Path) -> None:
    (root / "loop").symlink_to("pool")
    (root / "pool").symlink_to("loop")


def make_way_out(root: Path) -> None:
    write(root.parent, "outside.py", ["secret"])
    (root / "way_out.py").symlink_to("../outside.py")


def make_binary(root: Path) -> None:
    (root / "logo.png").write_bytes(b"\x89PNG\0\0" * 100)


@pytest.mark.skipif(os.name == "nt", reason="pipes and symlinks")
@pytest.mark.parametrize(
    ("make", "name", "said"),
    [
        pytest.param(None, "src/nothing.py", "src/nothing.py (no such file)", id="missing"),
        pytest.param(None, "src", "src (a directory)", id="directory"),
        pytest.param(None, ".", ". (the repository itself)", id="root"),
        pytest.param(None, "../other.py", "../other.py (outside the repository)", id="above"),
        pytest.param(None, "/etc/passwd", "/etc/passwd (outside the repository)", id="absolute"),
        pytest.param(None, "/dev/zero", "/dev/zero (outside the repository)", id="device"),
        pytest.param(None, "C:\\Users\\ada\\x.py", "C:\\Users\\ada\\x.py (outside the repository)", id="windows"),
        pytest.param(None, "C:/Users/ada/x.py", "C:/Users/ada/x.py (outside the repository)", id="windows-slashes"),
        pytest.param(None, "\\\\server\\share\\x.py", "(outside the repository)", id="unc"),
        pytest.param(None, ".git/config", ".git/config (inside .git)", id="git"),
        pytest.param(None, "a\0b.py", "a?b.py (not a path)", id="nul"),
        pytest.param(None, "a\nb.py", "a?b.py (not a path)", id="line-break"),
        pytest.param(None, "a\udc80b.py", "a?b.py (not a path)", id="surrogate"),
        pytest.param(None, "a\u202eb.py", "a?b.py (not a path)", id="right-to-left"),
        pytest.param(None, "x/" * 500_000, "(not a path)", id="megabyte"),
        pytest.param(make_huge, "huge.bin", "huge.bin (larger than 512 KB)", id="two-gigabytes"),
        pytest.param(make_pipe, "pipe", "pipe (not a regular file)", id="pipe"),
        pytest.param(make_loop, "loop", "loop (too many levels of symbolic links)", id="loop"),
        pytest.param(make_way_out, "way_out.py", "way_out.py (outside the repository)", id="symlink"),
        pytest.param(make_binary, "logo.png:3", "logo.png (a binary file, linked as a whole)", id="binary"),
    ],
)
def test_what_cannot_be_anchored_is_said_and_the_memory_kept(
    here: Engram, root: Path, make: object, name: str, said: str
) -> None:
    if callable(make):
        make(root)

    saved = about(here, name)

    assert here.get(saved.id).observation.title == "About some code"
    [note] = notes(saved)
    assert said in note
    assert len(note) < 200


def test_a_file_that_could_not_be_read_keeps_its_name_and_is_unknown(here: Engram) -> None:
    saved = about(here, "src", "src/nothing.py")
    assert [(one.state, one.reason) for one in states(here, saved)] == [
        ("unknown", reason("unreadable_then", problem="a directory")),
        ("unknown", reason("unreadable_then", problem="no such file")),
    ]


def test_lines_behind_the_end_of_a_file_mean_all_of_it(here: Engram, root: Path) -> None:
    saved = about(here, f"{AUTH}:41-43")
    assert notes(saved) == (f"linked differently: {AUTH}:41-43 (the whole file, it has 40 lines)",)
    assert (state(here, saved).state, state(here, saved).start) == ("fresh", None)
    (root / AUTH).write_text("gone\n", encoding="utf-8")
    assert state(here, saved).state == "changed"


def test_a_binary_file_is_anchored_as_a_whole(here: Engram, root: Path) -> None:
    make_binary(root)
    saved = about(here, "logo.png")
    assert (notes(saved), state(here, saved).state) == ((), "fresh")
    (root / "logo.png").write_bytes(b"\x89PNG\0\1")
    assert state(here, saved).state == "changed"


@pytest.mark.parametrize(
    ("lines_given", "lines_kept", "said"),
    [
        pytest.param(":20-10", (10, 20), "lines 10-20", id="backwards"),
        pytest.param(":35-99", (35, 40), "lines 35-40, the file ends there", id="past-the-end"),
        pytest.param(":99-40", (40, 40), "line 40, the file ends there", id="backwards-past-the-end"),
        pytest.param(":5-", (5, 40), "lines 5-40, the file ends there", id="to-the-end"),
        pytest.param(":0", (None, None), "the whole file", id="zero"),
        pytest.param(":0-5", (None, None), "the whole file", id="from-zero"),
        pytest.param(":99999999999999999999", (None, None), "the whole file", id="astronomic"),
        pytest.param(":-5", (None, None), "the whole file", id="negative"),
        pytest.param(":login", (None, None), "the whole file", id="a-name"),
        pytest.param("::Login.check", (None, None), "the whole file", id="a-symbol"),
        pytest.param(":1,5", (None, None), "the whole file", id="with-a-comma"),
        pytest.param(":", (None, None), "the whole file", id="nothing-behind-it"),
        pytest.param("#L3-L5", (3, 5), None, id="as-links-have-it"),
        pytest.param(":3:17", (3, 3), None, id="with-a-column"),
        pytest.param(":3-40", (3, 40), None, id="to-the-last"),
    ],
)
def test_odd_lines_are_read_as_what_they_can_mean_and_that_is_said(
    here: Engram, lines_given: str, lines_kept: tuple[int | None, int | None], said: str | None
) -> None:
    saved = about(here, f"{AUTH}{lines_given}")
    [(path, *kept_lines, _)] = places(here, saved)
    assert (path, tuple(kept_lines)) == (AUTH, lines_kept)
    assert notes(saved) == ((f"linked differently: {AUTH}{lines_given} ({said})",) if said else ())


def test_what_is_told_behind_a_name_is_left_out_however_long_it_is(here: Engram) -> None:
    assert places(here, about(here, f"{AUTH} : {'the check ' * 300}")) == [(AUTH, None, None, "given")]


@pytest.mark.parametrize("filling", [" ", "\t", "a ", ":", "#", "/"])
def test_long_names_of_nothing_are_read_in_a_moment(here: Engram, filling: str) -> None:
    begun = time.process_time()
    saved = about(here, *(f"ab{filling * 4_000}{number}" for number in range(100)))
    assert time.process_time() - begun < 2
    assert (places(here, saved), len(notes(saved))) == ([], 1)


def test_odd_lines_of_the_where_line_are_said_as_well(here: Engram) -> None:
    saved = here.save(Draft("Odd", "**Where**: src/auth.py:20-10, `src/login.py` (lines 38 to 99)"))
    assert places(here, saved) == [(AUTH, 10, 20, "where"), ("src/login.py", 38, 40, "where")]
    assert notes(saved) == (
        "linked differently: src/auth.py:20-10 (lines 10-20), src/login.py:38-99 (lines 38-40, the file ends there)",
    )


@pytest.mark.parametrize("files", [("",), ("  ", ""), ("``",)])
def test_a_blank_name_is_left_out_and_that_is_said(here: Engram, files: tuple[str, ...]) -> None:
    saved = about(here, *files, AUTH)
    assert places(here, saved) == [(AUTH, None, None, "given")]
    assert "not linked to: a blank name" in notes(saved)
    assert "not linked to: a blank name" in notes(about(here, *files, title="Nothing else"))


def test_lines_to_the_end_of_a_file_nobody_could_read_are_the_whole_file(here: Engram, app: Engram) -> None:
    assert places(here, about(here, "src/nothing.py:5-"))[0][1:3] == (None, None)
    assert places(app, about(app, "src/nothing.py:5-"))[0][1:3] == (None, None)


@pytest.mark.skipif(os.name == "nt", reason="no such names there")
@pytest.mark.parametrize("name", ["src/notes:10", "src/a: b.py", "src/12:30-13:45", "src/x#L3", "src/day:0"])
def test_a_name_that_looks_like_lines_is_a_name_where_there_is_such_a_file(here: Engram, repo: Repo, name: str) -> None:
    repo.commit("an odd name", {name: lines("odd")})
    saved = about(here, name)
    assert (places(here, saved), notes(saved)) == ([(name, None, None, "given")], ())
    lined = about(here, f"{name}:3-5", title="Lines of it")
    assert places(here, lined) == [(name, 3, 5, "given")]
    assert [state(here, one).state for one in (saved, lined)] == ["fresh", "fresh"]


def test_no_more_than_thirty_two_files_are_kept_and_the_rest_is_said(here: Engram, root: Path) -> None:
    names = [f"src/part{number}.py" for number in range(MOST_ANCHORS + 5)]
    for name in names:
        write(root, name, [name])
    saved = about(here, *names)
    assert len(kept(here, saved)) == MOST_ANCHORS
    assert f"src/part{MOST_ANCHORS}.py (more than {MOST_ANCHORS} files)" in notes(saved)[-1]
    assert notes(saved)[-1].endswith("and 2 more")


def test_a_word_of_the_where_line_that_is_no_file_is_no_anchor_and_worth_no_note(here: Engram) -> None:
    saved = here.save(Draft("Prose", "**Where**: the read/write path, e.g. in `refresh()` and/or the docs"))
    assert (kept(here, saved), notes(saved)) == ((), ())


def test_a_file_of_the_where_line_that_is_not_there_is_said(here: Engram) -> None:
    saved = here.save(Draft("Typo", "**Where**: src/auht.py:3"))
    assert (kept(here, saved), notes(saved)[-1]) == ((), "not linked to: src/auht.py:3 (no such file)")


@pytest.mark.parametrize("named", ["src/auht.py", "src/auht.py:3", "./src/auht.py", "`src/auht.py:3-4`, src/auht.py:9"])
@pytest.mark.parametrize("listed", ["src/auht.py", "src/auht.py:7", "src/../src/auht.py"])
def test_one_note_is_enough_for_a_file_that_is_listed_and_on_the_where_line(
    here: Engram, listed: str, named: str
) -> None:
    saved = here.save(Draft("Typo", f"**Where**: {named}", files=(listed,)))
    assert list(notes(saved)) == [f"linked by path only, their text was not read: {listed} (no such file)"]
    assert len(kept(here, saved)) == 1


def test_a_secret_in_a_path_is_not_stored(here: Engram, data_dir: Path) -> None:
    secret = "gh" + "p_" + "q7Wm2Zx9Kd4Rt8Vb1Nc6Hy3Jf5Lg0Ps12345"
    about(here, f"src/{secret}.py", f"src/{secret}.py:3")
    here.close()
    stored = b"".join(file.read_bytes() for file in data_dir.rglob("*") if file.is_file())
    assert secret.encode() not in stored


# --- outside of the repository ----------------------------------------------------------------------------------


def test_without_a_repository_names_are_kept(app: Engram) -> None:
    saved = about(app, "src/auth.py:10", "../../x.py", "/etc/passwd")
    assert [(one.path, one.start_line, one.digest) for one in kept(app, saved)] == [(AUTH, 10, None)]
    assert "linked by path only, their text was not read: src/auth.py:10 (no repository here)" in notes(saved)


def test_a_memory_of_another_project_keeps_names_only(here: Engram) -> None:
    saved = here.save(Draft("Elsewhere", "Of another project", files=(AUTH,)), project="gadgets")
    assert [(one.path, one.digest) for one in kept(here, saved)] == [(AUTH, None)]
    assert "files were linked by path only: this is not the repository of gadgets" in notes(saved)


Place = tuple[str, int | None, int | None]


def found_places(content: str, *, unsure: bool = False) -> list[Place]:
    """The files a content surely names; with ``unsure`` what may be a file as well."""
    return [(one.path, one.start, one.end) for one in where_references(content) if one.sure or unsure]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        pytest.param("src/auth.py:10–20", ("src/auth.py", 10, 20), id="en-dash"),
        pytest.param("src/auth.py#L10-L20", ("src/auth.py", 10, 20), id="link"),
        pytest.param(f"src/auth.py:{LINE_LIMIT + 1}", ("src/auth.py", None, None), id="too-large"),
        pytest.param("`src/my file.py:3`", ("src/my file.py", 3, 3), id="quoted"),
        pytest.param(r"C:\work\auth.py:10", (r"C:\work\auth.py", 10, 10), id="drive"),
        pytest.param("10:20", ("10", 20, 20), id="number"),
        pytest.param(":10", ("", 10, 10), id="only-lines"),
    ],
)
def test_a_listed_file_is_a_path_and_its_lines(text: str, place: Place) -> None:
    found = parse_reference(text)
    assert found is not None
    assert (found.path, found.start, found.end) == place


@pytest.mark.parametrize("text", ["", "  ", "``"])
def test_a_blank_names_nothing(text: str) -> None:
    assert parse_reference(text) is None


@pytest.mark.parametrize(
    ("content", "named"),
    [
        pytest.param("**What**: a\n**Where**: src/a.py\n**Why**: src/b.py", [("src/a.py", None, None)], id="line"),
        pytest.param("**Where:** src/a.py:3, lib/b.go:5-9.", [("src/a.py", 3, 3), ("lib/b.go", 5, 9)], id="list"),
        pytest.param("Where: src/a.py", [("src/a.py", None, None)], id="plain"),
        pytest.param("- **Where**: src/a.py", [("src/a.py", None, None)], id="item"),
        pytest.param("**Where** (files): src/a.py", [("src/a.py", None, None)], id="files"),
        pytest.param("**What**: x **Where**: a/b.py:3 **Why**: c/d.py", [("a/b.py", 3, 3)], id="one-line"),
        pytest.param(
            "## Where\n\n- `src/a.py` (lines 3-9)\n- src/b.py, line 4\n\n## Why\n- src/c.py",
            [("src/a.py", 3, 9), ("src/b.py", 4, 4)],
            id="heading",
        ),
        pytest.param("**Where**: src/a.py\nand lib/prose.py goes on", [("src/a.py", None, None)], id="paragraph-ends"),
        pytest.param("**Where**: `refresh()` in src/a.py::refresh", [("src/a.py", None, None)], id="symbol"),
        pytest.param(
            "**Where**: src/a.py#refresh, src/b.py:refresh",
            [("src/a.py", None, None), ("src/b.py", None, None)],
            id="fragments",
        ),
        pytest.param(r"**Where**: src\win\a.py:7", [(r"src\win\a.py", 7, 7)], id="backslashes"),
        pytest.param(
            '**Where**: (src/a.py), [src/b.py], <src/c.py>; "src/d.py"',
            [(f"src/{name}.py", None, None) for name in "abcd"],
            id="brackets",
        ),
        pytest.param("**Where**: src/ünïcode/日本.py:3", [("src/ünïcode/日本.py", 3, 3)], id="unicode"),
        pytest.param("**WHERE**: src/a.py", [("src/a.py", None, None)], id="capitals"),
        pytest.param("**Where**: src/a.py, and again src/a.py", [("src/a.py", None, None)] * 2, id="twice"),
    ],
)
def test_the_where_line_names_files(content: str, named: list[Place]) -> None:
    assert found_places(content) == named


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("src/a.py is where it happens", id="no-label"),
        pytest.param("Where the wild/things.are", id="a-sentence"),
        pytest.param("**Where**: https://example.org/src/a.py", id="url"),
        pytest.param("**Where**: src/*.py and src/{a,b}.py", id="glob"),
        pytest.param("**Where**: ada@example.org, --strict, $HOME/x.py", id="no-path"),
        pytest.param("**Where**:", id="empty"),
        pytest.param("nowhere: src/a.py", id="another-word"),
        pytest.param("**Elsewhere**: src/a.py", id="another-label"),
    ],
)
def test_what_is_no_where_line_or_no_path_names_nothing(content: str) -> None:
    assert found_places(content, unsure=True) == []


def test_what_may_be_prose_is_offered_without_a_claim() -> None:
    content = "**Where**: auth.py, the read/write path, `Makefile`, app.search, e.g. here"
    assert found_places(content) == []
    assert [place[0] for place in found_places(content, unsure=True)] == [
        "auth.py",
        "read/write",
        "Makefile",
        "app.search",
        "e.g",
    ]


def test_a_file_named_with_lines_is_not_named_as_a_whole_too() -> None:
    found = references(["src/a.py:3-5"], "**Where**: src/a.py and src/b.py")
    assert found == (Reference("src/a.py", 3, 5), Reference("src/b.py", origin="where"))


def test_each_place_is_named_once_and_what_was_listed_comes_first() -> None:
    found = references(["src/b.py", "src/b.py"], "**Where**: src/a.py, src/b.py")
    assert [(one.path, one.origin) for one in found] == [("src/b.py", "given"), ("src/a.py", "where")]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("**Where**: " + "a/b.py " * 7_000, id="many"),
        pytest.param("**Where**: " * 5_000, id="labels"),
        pytest.param("**Where**: " + "`" * 50_000, id="ticks"),
        pytest.param("**Where**: " + "a:" * 25_000, id="colons"),
        pytest.param("**Where**: " + "a/" * 25_000, id="deep"),
        pytest.param("**where(" * 6_000, id="parentheses"),
        pytest.param(" " * 49_000 + "where:", id="blanks"),
        pytest.param("where:\n" * 7_000, id="lines"),
        pytest.param("**Where**: " + "(" * 40_000 + "a.py", id="open"),
        pytest.param("**Where**: " + "**" * 20_000, id="stars"),
        pytest.param("**Where**: a.py " + "lines " * 8_000, id="words"),
    ],
)
def test_a_long_where_line_is_read_in_part(content: str) -> None:
    assert len(references([], content)) <= 128


@given(st.lists(st.text(max_size=60), max_size=5), st.text(max_size=300))
def test_any_text_is_read_without_an_error(files: list[str], text: str) -> None:
    for one in references(files, f"**Where**: {text}"):
        assert one.start is None or 1 <= one.start <= (one.end or 0) <= LINE_LIMIT
