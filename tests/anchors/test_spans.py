"""Recognising a piece of text again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engram_py.anchors.values import Mark
from engram_py.anchors.worktree import Lines, digest_of, distinctive, find_span, mark_span, normal_lines, place_of

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


@given(TEXTS, st.data())
def test_a_span_is_found_where_it_was_marked(lines: list[bytes], data: st.DataObject) -> None:
    start = data.draw(st.integers(1, len(lines)))
    end = data.draw(st.integers(start, len(lines)))
    mark = mark_span(lines, start, end)
    assert place_of(lines, mark, start, end - start + 1) == start


@given(TEXTS, TEXTS, st.data())
def test_a_span_below_an_insertion_of_other_text_is_found_there(
    lines: list[bytes], above: list[bytes], data: st.DataObject
) -> None:
    start = data.draw(st.integers(1, len(lines)))
    end = data.draw(st.integers(start, len(lines)))
    mark = mark_span(lines, start, end)
    other = [b"# new: " + line for line in above]
    assert place_of([*other, *lines], mark, start, end - start + 1) == start + len(other)


@given(TEXTS, TEXTS, st.data())
def test_what_is_found_is_the_text_that_was_marked(
    before: list[bytes], after: list[bytes], data: st.DataObject
) -> None:
    start = data.draw(st.integers(1, len(before)))
    end = data.draw(st.integers(start, len(before)))
    place = place_of(after, mark_span(before, start, end), start, end - start + 1)
    if place is not None:
        assert after[place - 1 : place + end - start] == before[start - 1 : end]


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
