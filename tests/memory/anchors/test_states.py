"""The state of an anchored file after it changed, both texts of it, and the anchors of a memory that is rewritten."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py import Draft, Engram
from engram_py.memory.anchors import table
from engram_py.memory.anchors.moved_files import BINARY, NOT_COMMITTED
from engram_py.memory.anchors.values import FileTexts, Mark
from engram_py.memory.anchors.worktree import (
    Lines,
    digest_of,
    distinctive,
    find_span,
    mark_span,
    normal_lines,
    place_of,
)
from engram_py.memory.observations.values import Change, Saved
from tests.memory.anchors.repositories import (
    AUTH,
    WHERE,
    Repo,
    about,
    blame,
    facts,
    kept,
    lines,
    places,
    state,
    states,
    without_git,
    write,
)
from tests.support import Opener, words

# --- in its own file ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda text: [*text[:14], "another = line", *text[15:]], id="replaced"),
        pytest.param(lambda text: [*text[:14], "another = line", *text[14:]], id="inserted"),
        pytest.param(lambda text: [*text[:14], *text[15:]], id="removed"),
        pytest.param(lambda text: [*text[:9], *reversed(text[9:20]), *text[20:]], id="reordered"),
        pytest.param(lambda text: [*text[:5]], id="cut"),
        pytest.param(lambda text: [], id="emptied"),
        pytest.param(lambda text: [line.replace("auth_15", "AUTH_15") for line in text], id="letter"),
    ],
)
def test_lines_that_do_not_stand_together_any_more_have_changed(here: Engram, root: Path, change: object) -> None:
    saved = about(here, f"{AUTH}:10-20")
    assert callable(change)
    write(root, AUTH, change(lines("auth")))
    assert blame(state(here, saved)) == ("changed", None, None, True)


def test_line_ends_trailing_blanks_and_a_byte_order_mark_change_nothing(here: Engram, root: Path) -> None:
    span, whole = about(here, f"{AUTH}:10-20", title="Lines"), about(here, AUTH, title="File")
    text = "".join(f"{line} \t\r\n" for line in lines("auth"))
    (root / AUTH).write_bytes(b"\xef\xbb\xbf" + text.encode() + b"\r\n\r\n")
    assert (state(here, span).state, state(here, whole).state) == ("fresh", "fresh")


# --- a text that stands in its file more than once ---------------------------------------------------------


def test_one_of_several_copies_is_told_from_the_others_by_its_place_among_them(here: Engram, root: Path) -> None:
    block = ["try_once()", "return None"]
    text = [*lines("a", 5), *block, *lines("b", 5), *block, *lines("c", 5), *block]
    write(root, AUTH, text)
    second = about(here, f"{AUTH}:13-14")

    write(root, AUTH, [*lines("new", 7), *text])

    assert facts(state(here, second)) == ("moved", AUTH, 20, 21)


def test_where_a_copy_is_missing_it_is_not_guessed_which(here: Engram, root: Path) -> None:
    block = ["try_once()", "return None"]
    write(root, AUTH, [*lines("a", 5), *block, *lines("b", 5), *block])
    second = about(here, f"{AUTH}:13-14")

    write(root, AUTH, [*lines("new", 3), *lines("a", 5), *block, *lines("b", 5)])

    assert state(here, second).state == "changed"


def test_a_line_that_stands_in_every_file_does_not_move_to_another(here: Engram, repo: Repo) -> None:
    repo.write(AUTH, [*lines("auth"), "return None"])
    saved = about(here, f"{AUTH}:41")
    repo.write(AUTH, lines("auth"))
    repo.write("src/other.py", [*lines("other"), "return None"])
    repo.commit("another file returns nothing")
    assert state(here, saved).state == "changed"


# --- in another file ---------------------------------------------------------------------------------------


def test_lines_that_changed_in_a_renamed_file_are_said_to_be_there(here: Engram, repo: Repo, saved: Saved) -> None:
    repo.rename(AUTH, "src/identity.py", by="Bo")
    repo.write("src/identity.py", ["fifteen = 1" if "auth_15" in line else line for line in lines("auth")])
    repo.commit("change", by="Cy")

    found = state(here, saved)

    assert (*blame(found), found.now_path) == ("changed", 0, "Cy", False, "src/identity.py")


def test_a_copy_of_a_whole_file_does_not_hide_that_the_file_itself_changed(here: Engram, root: Path) -> None:
    saved = about(here, AUTH)
    shutil.copy(root / AUTH, root / "src/auth_old.py")
    write(root, AUTH, ["all = new"])
    assert state(here, saved).state == "changed"


def texts(app: Engram, saved: Saved) -> tuple[FileTexts, ...]:
    detail = app.get(saved.id)
    return app.anchors.texts(detail.observation, detail.anchors)


def changed() -> list[str]:
    return ["fifteen = 1" if "auth_15" in line else line for line in lines("auth")]


def test_both_texts_of_a_changed_file_are_given(here: Engram, repo: Repo) -> None:
    saved = about(here, AUTH)
    assert texts(here, saved) == ()
    repo.write(AUTH, changed())
    [found] = texts(here, saved)
    assert found.before.splitlines() == lines("auth")
    assert found.after.splitlines() == changed()
    assert found.span is None


def test_the_lines_that_a_memory_is_about_are_counted_in_the_earlier_text(here: Engram, repo: Repo) -> None:
    repo.write(AUTH, ["# two", "# more", *lines("auth")])  # not committed: git has the lines two further up
    saved = about(here, f"{AUTH}:15-20")
    repo.commit("second", {AUTH: changed()})
    [found] = texts(here, saved)
    assert found.before.splitlines() == lines("auth")
    assert found.span == (13, 18)


def test_the_earlier_text_of_a_file_that_is_gone_is_given(here: Engram, repo: Repo) -> None:
    saved = about(here, AUTH)
    repo.delete(AUTH)
    [found] = texts(here, saved)
    assert found.before.splitlines() == lines("auth")
    assert found.after == ""


def test_a_text_that_was_never_committed_is_not_made_up(here: Engram, repo: Repo) -> None:
    repo.write(AUTH, lines("other"))
    saved = about(here, AUTH)
    repo.write(AUTH, changed())
    [found] = texts(here, saved)
    assert (found.why, found.before) == (NOT_COMMITTED, "")


def test_a_binary_file_and_a_machine_without_git_say_why(
    here: Engram, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repo.root / "logo.png").write_bytes(b"\x89PNG\0\1")
    repo.commit("a picture")
    picture, code = about(here, "logo.png"), about(here, AUTH, title="Auth")
    (repo.root / "logo.png").write_bytes(b"\x89PNG\0\2")
    repo.write(AUTH, changed())
    assert [one.why for one in texts(here, picture)] == [BINARY]
    without_git(monkeypatch, repo.root.parent / "empty")
    assert [one.why for one in texts(here, code)] == [NOT_COMMITTED]


def test_another_repository_gives_nothing(here: Engram, repo: Repo, tmp_path: Path) -> None:
    saved = about(here, AUTH)
    repo.write(AUTH, changed())
    detail = here.get(saved.id)
    elsewhere = here.for_caller(tmp_path)
    assert elsewhere.anchors.texts(detail.observation, detail.anchors) == ()


WORDS = st.sampled_from([b"", b"}", b"return None", b"    a = 1", b"    bb = 22", b"def f(x):"])
TEXTS = st.lists(WORDS, min_size=1, max_size=30)


@given(st.lists(st.binary(max_size=20).map(lambda line: line.translate(None, b"\r\n \t")), max_size=20), st.data())
def test_line_ends_and_trailing_blanks_make_no_difference(lines: list[bytes], data: st.DataObject) -> None:
    plain = b"\n".join(lines)
    dressed = b"".join(
        line + data.draw(st.sampled_from([b"", b" ", b"\t ", b"  "])) + data.draw(st.sampled_from([b"\n", b"\r\n"]))
        for line in lines
    )
    assert digest_of(normal_lines(plain)) == digest_of(normal_lines(dressed))


@given(TEXTS, st.data())
def test_a_second_span_of_a_file_is_found_as_the_first_is(lines: list[bytes], data: st.DataObject) -> None:
    start = data.draw(st.integers(1, len(lines)))
    end = data.draw(st.integers(start, len(lines)))
    mark, file = mark_span(lines, start, end), Lines(lines)
    expected = find_span(lines, mark, end - start + 1)
    assert [find_span(file, mark, end - start + 1) for _ in range(3)] == [expected] * 3


def test_blanks_in_front_of_a_line_make_a_difference() -> None:
    assert digest_of(normal_lines(b"a\n  b\n")) != digest_of(normal_lines(b"a\nb\n"))


@given(TEXTS, TEXTS, st.data())
def test_a_span_is_found_where_it_was_marked_and_what_is_found_is_its_text(
    before: list[bytes], after: list[bytes], data: st.DataObject
) -> None:
    start = data.draw(st.integers(1, len(before)))
    end = data.draw(st.integers(start, len(before)))
    mark = mark_span(before, start, end)
    assert place_of(before, mark, start, end - start + 1) == start
    place = place_of(after, mark, start, end - start + 1)
    if place is not None:
        assert after[place - 1 : place + end - start] == before[start - 1 : end]


@given(TEXTS, TEXTS, st.data())
def test_a_span_below_an_insertion_of_other_text_is_found_there(
    lines: list[bytes], above: list[bytes], data: st.DataObject
) -> None:
    start = data.draw(st.integers(1, len(lines)))
    end = data.draw(st.integers(start, len(lines)))
    mark = mark_span(lines, start, end)
    other = [b"# new: " + line for line in above]
    assert place_of([*other, *lines], mark, start, end - start + 1) == start + len(other)


def test_a_file_of_one_line_over_and_over_is_searched_in_part() -> None:
    lines = [b"}"] * 300_000
    mark = mark_span(lines, 200_000, 200_000)
    assert place_of(lines, mark, 200_000, 1) is not None
    assert len(find_span(lines, mark, 1)) == 256


def test_a_mark_without_a_probe_finds_nothing() -> None:
    assert find_span([b"a"], Mark(digest_of([b"a"])), 1) == []


def test_only_a_text_that_says_something_is_distinctive() -> None:
    assert distinctive([b"def refresh(token, clock):", b"    with lock:", b"        return renew(token, clock.now())"])
    assert not distinctive([b"    return None", b"", b"}"])
    assert not distinctive([b"def refresh(token, clock): return renew(token, clock.now(), retries=3)"])


def test_a_revision_is_about_the_files_as_they_are_when_it_is_written(here: Engram, root: Path) -> None:
    first = here.save(Draft("Topic", WHERE, topic_key="a/b", files=("src/login.py:1-5",)))
    write(root, AUTH, ["rewritten", *lines("auth")])
    write(root, "src/login.py", ["rewritten", *lines("login")])

    again = here.save(Draft("Topic", "**Where**: src/auth.py:1-3", topic_key="a/b"))

    assert again.id == first.id
    assert places(here, again) == [(AUTH, 1, 3, "where"), ("src/login.py", 2, 6, "given")]
    assert {one.state for one in states(here, again)} == {"fresh"}


def test_a_revision_that_lists_files_is_about_those(here: Engram) -> None:
    here.save(Draft("Topic", "one", topic_key="a/b", files=(AUTH,)))
    again = here.save(Draft("Topic", "two", topic_key="a/b", files=("src/login.py",)))
    assert places(here, again) == [("src/login.py", None, None, "given")]


def test_saying_the_same_again_without_files_keeps_them_and_with_files_replaces_them(here: Engram) -> None:
    first = about(here, AUTH)
    draft = Draft("About some code", here.get(first.id).observation.content)

    again = here.save(draft)
    assert (again.outcome, places(here, again)) == ("duplicate", [(AUTH, None, None, "given")])

    other = here.save(Draft(draft.title, draft.content, files=("src/login.py",)))
    assert (other.outcome, places(here, other)) == ("duplicate", [("src/login.py", None, None, "given")])


def test_a_corrected_content_is_read_for_its_where_line_again(here: Engram, root: Path) -> None:
    saved = here.save(Draft("Race", WHERE, files=("src/login.py:1-5",)))
    write(root, AUTH, ["rewritten", *lines("auth")])

    updated = here.observations.update(saved.id, Change(find="10-20`, src/login.py", replace="11-12`, src/no.py"))

    assert places(here, saved) == [(AUTH, 11, 12, "where"), ("src/login.py", 1, 5, "given")]
    assert {one.state for one in states(here, saved)} == {"fresh"}
    assert words(*updated.warnings) == "not linked to: src/no.py (no such file)"


def test_a_new_title_leaves_the_anchors_as_they_are(here: Engram, root: Path) -> None:
    saved = about(here, AUTH)
    write(root, AUTH, ["rewritten"])
    here.observations.update(saved.id, Change(title="Other"))
    assert state(here, saved).state == "changed"


def test_a_review_confirms_the_files_as_they_are(here: Engram, repo: Repo) -> None:
    saved = about(here, f"{AUTH}:10-20", "src/login.py:5-9", "src")
    repo.write(AUTH, ["fifteen = 1" if "auth_15" in line else line for line in lines("auth")])
    repo.git("mv", "src/login.py", "src/signin.py")
    assert [one.state for one in states(here, saved)] == ["changed", "moved", "unknown"]

    here.observations.mark_reviewed(saved.id)

    assert [one[:3] for one in places(here, saved)] == [(AUTH, 10, 20), ("src/signin.py", 5, 9), ("src", None, None)]
    assert [one.state for one in states(here, saved)] == ["fresh", "fresh", "unknown"]


def test_a_review_drops_a_file_that_is_gone(here: Engram, root: Path) -> None:
    saved = about(here, AUTH, "src/login.py")
    (root / AUTH).unlink()
    here.observations.mark_reviewed(saved.id)
    assert [one[0] for one in places(here, saved)] == ["src/login.py"]


def test_a_review_elsewhere_changes_nothing_it_cannot_see(open_memory: Opener, here: Engram, tmp_path: Path) -> None:
    saved = about(here, f"{AUTH}:10-20")
    before = kept(here, saved)
    (tmp_path / "plain").mkdir()
    open_memory(tmp_path / "plain").observations.mark_reviewed(saved.id)
    assert [(one.path, one.digest, one.git_commit) for one in kept(here, saved)] == [
        (one.path, one.digest, one.git_commit) for one in before
    ]


def test_a_save_that_fails_leaves_no_anchor(here: Engram, monkeypatch: pytest.MonkeyPatch, data_dir: Path) -> None:
    monkeypatch.setattr(table, "replace", lambda *_: (_ for _ in ()).throw(RuntimeError("in the middle")))
    with pytest.raises(RuntimeError, match="in the middle"):
        about(here, AUTH)
    with closing(sqlite3.connect(data_dir / "engram.db")) as database:
        assert database.execute("select count(*) from observations").fetchone() == (0,)


def test_a_repeated_operation_answers_the_same_notes_and_other_files_are_another_request(here: Engram) -> None:
    draft = Draft("Once", "text", operation_id="op-1", files=("src/nothing.py",))
    first = here.save(draft)
    assert here.save(draft).warnings == first.warnings
    with pytest.raises(Exception, match="operation_id was used before"):
        here.save(Draft("Once", "text", operation_id="op-1", files=(AUTH,)))


def test_a_hard_delete_takes_the_anchors_along(here: Engram) -> None:
    saved = about(here, AUTH)
    here.observations.delete(saved.id, hard=True)
    assert here.store.value("select count(*) from anchors") == 0
