"""What citations do to a rank."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from engram_py.ledger.citations import citation_factor

COUNTS = st.integers(min_value=0, max_value=10**6)


def test_the_more_sessions_cite_it_the_higher_it_rises() -> None:
    assert all(one < two for one, two in pairwise(citation_factor(9, cited) for cited in range(6)))


def test_a_few_silent_sessions_say_nothing_and_many_make_it_sink() -> None:
    assert citation_factor(0, 0) == citation_factor(4, 0) == 1.0
    assert citation_factor(5, 0) < 1.0
    assert citation_factor(50, 0) < citation_factor(10, 0)


def test_one_citation_ends_the_sinking() -> None:
    assert citation_factor(1_000, 1) > 1.0


@given(COUNTS, COUNTS)
def test_it_settles_near_ties_and_no_more(injected: int, cited: int) -> None:
    assert 0.94 <= citation_factor(injected, cited) <= 1.06
