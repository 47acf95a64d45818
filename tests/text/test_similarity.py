"""Texts compared by their words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py.text.words import alike, jaccard, shingles


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param("Deployment failed twice", "deployments failed TWICE!", True, id="endings-and-case"),
        pytest.param("rate limit of ten", "entirely about parsing", False, id="nothing-shared"),
        pytest.param("设备连接失败", "设备连接失败了", True, id="a-script-without-spaces"),
        pytest.param("设备连接失败", "数据库迁移", False, id="another-matter-in-the-same-script"),
        pytest.param("", "", True, id="nothing-and-nothing"),
        pytest.param("", "words", False, id="nothing-and-something"),
    ],
)
def test_texts_are_compared_by_their_words(one: str, other: str, same: bool) -> None:
    assert (jaccard(shingles(one), shingles(other)) >= 0.7) is same


def test_a_long_text_is_compared_by_its_beginning() -> None:
    assert shingles("word " * 100 + "x" * 1_000_000) == {"word"}


WORDS = st.frozensets(st.sampled_from("abcdefgh"))


@given(WORDS, WORDS, st.sampled_from([0.5, 0.85, 1.0]))
def test_texts_are_alike_that_share_so_much_whatever_their_sizes(
    one: frozenset[str], other: frozenset[str], share: float
) -> None:
    assert alike(one, other, share) is (jaccard(one, other) >= share)
