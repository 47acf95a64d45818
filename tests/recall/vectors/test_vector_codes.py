"""Vectors as they are kept and looked through."""

from __future__ import annotations

from typing import Any

import pytest

from engram_py.recall.vectors.index import Baseline, Codes
from engram_py.recall.vectors.protocol import pack, unit, unpack

np: Any = pytest.importorskip("numpy", reason="vectors need numpy: the extra vectors")


def rows(count: int, dimension: int = 384, seed: int = 1) -> Any:
    return unit(np.random.default_rng(seed).standard_normal((count, dimension)))


def codes(vectors: Any, *, first: int = 1) -> Codes:
    found = Codes(vectors.shape[1], np.zeros(vectors.shape[1], np.float32))
    ids = range(first, first + len(vectors))
    found.put(ids, [pack(row[None]) for row in vectors], rows=[1_000 + key for key in ids])
    return found


def test_a_vector_keeps_its_direction_through_the_file_in_any_dimension_and_none_becomes_zero() -> None:
    kept, counts = unpack([pack(rows(3)), b"", pack(rows(2, seed=2))], 384)
    assert counts.tolist() == [3, 0, 2]
    cosines = (kept * np.concatenate([rows(3), rows(2, seed=2)])).sum(axis=1)
    assert cosines.min() > 0.9999
    assert len(pack(rows(1))) == 384
    vectors = rows(300, dimension=100)
    assert next(iter(codes(vectors).nearest(vectors[41], most=5).items())) == (42, 1_042)
    odd = np.array([[np.nan, 1.0], [np.inf, 0.0], [0.0, 0.0], [3.0, 4.0]])
    assert unit(odd).tolist() == [[0, 0], [0, 0], [0, 0], [pytest.approx(0.6), pytest.approx(0.8)]]
    assert unpack([], 384)[0].shape == (0, 384)
    assert pack(np.zeros((1, 4), np.float32)) == b"\0\0\0\0"


def test_the_nearest_by_bits_hold_the_nearest() -> None:
    # Texts differ in fewer ways than a model has dimensions; in noise of all dimensions nothing is near anything.
    basis = rows(60, seed=5)
    vectors = unit(rows(5_000, dimension=60) @ basis)
    index = codes(vectors)
    found = []
    for question in unit(vectors[:50] + 0.6 * unit(rows(50, dimension=60, seed=3) @ basis)):
        exact = 1 + np.argsort(-(vectors @ question))[:10]
        found.append(len(set(exact.tolist()) & set(index.nearest(question, most=1_000))) / 10)
    assert sum(found) / len(found) > 0.97


def test_only_what_may_be_seen_is_looked_through() -> None:
    vectors = rows(200)
    index = codes(vectors)
    among = np.array([10, 20, 30, 999])
    assert set(index.nearest(vectors[0], most=50, among=among)) == {10, 20, 30}
    assert index.count(among) == 3
    assert index.spread(most=2, among=among) == {10: 1_010, 30: 1_030}
    assert index.nearest(vectors[0], most=50, among=np.array([], np.int64)) == {}


def test_an_observation_that_is_computed_again_is_found_by_its_new_vectors_alone() -> None:
    vectors = rows(40)
    index = codes(vectors)
    index.put([7, 8], [pack(-vectors[6:7].repeat(3, axis=0)), b""], rows=[2_007, 2_008])
    assert list(index.nearest(vectors[6], most=50))[-1] == 7
    assert index.nearest(-vectors[6], most=3) == {7: 2_007}
    assert index.count() == 39
    assert 8 not in index.nearest(vectors[7], most=40)


def test_room_is_made_as_it_grows_and_the_dead_are_left_behind() -> None:
    index = codes(rows(10))
    for turn in range(30):
        index.put(
            range(1, 101), [pack(row[None]) for row in rows(100, seed=turn)], rows=range(100 * turn, 100 * turn + 100)
        )
    assert index.count() == 100
    assert sorted(index.spread(most=1_000)) == list(range(1, 101))
    assert len(index._ids) < 3_000  # of 3,000 passages that were put
    assert index.nearest(rows(100, seed=29)[3], most=1) == {4: 2_903}


def test_closeness_is_that_of_the_nearest_passage_seen_from_the_centre_of_what_is_usual() -> None:
    common = np.full((1, 64), 0.4, np.float32)
    vectors = unit(rows(300, dimension=64) + common)
    question = unit(rows(1, dimension=64, seed=7) + common)
    baseline = Baseline([pack(vector[None]) for vector in vectors] + [b""], 64)

    found = baseline.cosines(
        question, {1: pack(vectors[:1]), 2: pack(np.concatenate([vectors[1:2], question])), 3: b""}
    )

    assert found[2] > 0.99 > found[1]
    assert 3 not in found
    mean, deviation = baseline.closeness(question)
    assert baseline.size == 300
    assert abs(mean) < 0.25 < float((vectors @ question[0]).mean())
    assert 0.05 < deviation < 0.2


def test_more_texts_about_the_asked_thing_make_none_of_them_less_near() -> None:
    question, others = rows(1, dimension=64, seed=7), rows(60, dimension=64)
    about = unit(0.8 * question + 0.6 * rows(15, dimension=64, seed=9))

    def deviations(count: int) -> float:
        blobs = [pack(vector[None]) for vector in np.concatenate([others, about[:count]])]
        baseline = Baseline(blobs, 64)
        middle, deviation = baseline.closeness(question)
        return (baseline.cosines(question, {1: pack(about[:1])})[1] - middle) / deviation

    assert deviations(15) > 0.7 * deviations(1) > 2  # by mean and deviation of all it would be a third


def test_of_nothing_nothing_is_usual() -> None:
    baseline = Baseline([b""], 64)
    assert baseline.closeness(rows(1, dimension=64)) == (0.0, 0.0)
    assert baseline.cosines(rows(1, dimension=64), {1: b""}) == {}
