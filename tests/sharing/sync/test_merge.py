"""The merge of rows and the hybrid clock: commutative, associative, idempotent."""

from __future__ import annotations

from functools import reduce
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py.base.clock import ZERO, Stamp, consequence, is_ahead, just_after, new_device_id, next_stamp, parse_stamp
from engram_py.memory.observations.topics import topic_holder
from engram_py.sharing.sync.mutation import Mutation, Names, rank, version_digest, version_key, version_owner, wins

_CLOCKS = st.sampled_from(["a", "b", "c"])
_STATES = st.tuples(_CLOCKS, st.fixed_dictionaries({"title": st.sampled_from(["x", "y", "z"])}))
State = tuple[str, dict[str, str]]


def join(one: State, other: State) -> State:
    return other if wins(other[0], other[1], one[0], one[1]) else one


@given(st.lists(_STATES, min_size=1, max_size=4))
def test_states_join_to_the_same_in_any_order_and_any_number_of_times(states: list[State]) -> None:
    joined = {str(reduce(join, order)) for order in permutations(states)}
    twice = reduce(join, [*states, *states])

    assert joined == {str(twice)}


def test_the_later_state_wins_and_an_equal_one_changes_nothing() -> None:
    assert wins("b", {"title": "old"}, "a", {"title": "new"})
    assert not wins("a", {"title": "new"}, "b", {"title": "old"})
    assert not wins("a", {"title": "same"}, "a", {"title": "same"})


_NAMES = st.sampled_from("pqrst")
_ALIASES = st.dictionaries(_NAMES, st.tuples(_NAMES, _CLOCKS), max_size=5)


@given(_ALIASES, st.randoms())
def test_every_name_ends_in_one_project(aliases: dict[str, tuple[str, str]], order: object) -> None:
    rows = [(alias, project, clock) for alias, (project, clock) in aliases.items()]
    expected = Names(rows)
    order.shuffle(rows)  # type: ignore[attr-defined]
    names = Names(rows)

    for name in "pqrst":
        end = names.canonical(name)
        assert names.canonical(end) == end
        assert end == expected.canonical(name)
    assert set(names.moved) <= set(aliases)


def test_of_two_merges_the_first_counts_and_of_two_texts_of_a_topic_the_last() -> None:
    names = Names([("one", "two", "a"), ("two", "one", "b")])

    assert (names.canonical("one"), names.canonical("two")) == ("two", "two")
    early = {"sync_id": "obs-1", "updated_at": "2026-03-01", "clock": "b", "unchecked": None, "arrival": None}
    late = {"sync_id": "obs-2", "updated_at": "2026-03-02", "clock": "a", "unchecked": None, "arrival": None}

    assert topic_holder([late, early]) == topic_holder([early, late]) == late


def test_a_version_is_named_by_its_moment_and_its_text() -> None:
    digest = version_digest("2026-03-01", "Use WAL", "because")

    assert version_owner(version_key("obs-1", digest)) == ("obs-1", digest)
    assert digest != version_digest("2026-03-01", "Use WALb", "ecause")
    assert version_owner("nonsense")[0] == ""


def test_what_follows_from_a_change_comes_right_after_it_and_before_any_other() -> None:
    stamp = next_stamp("", now_milliseconds=1_000, device="ab" * 8)
    follows = consequence(stamp, "one outcome")
    further = consequence(follows, "one outcome")

    assert stamp < follows < further < next_stamp(stamp, now_milliseconds=1_000, device="00" * 8)
    assert parse_stamp(further).milliseconds == 1_000
    assert follows != consequence(stamp, "another outcome")
    assert len(parse_stamp(further).device) == len(parse_stamp(follows).device)
    for _ in range(40):
        assert further < (further := consequence(further, "again"))


def test_a_clock_that_is_a_day_ahead_is_followed_and_one_of_next_year_is_not() -> None:
    day = 24 * 60 * 60 * 1_000
    ahead = next_stamp("", now_milliseconds=day, device="ab")
    far = next_stamp("", now_milliseconds=366 * day, device="ab")

    assert not is_ahead(ahead, now_milliseconds=0)
    assert is_ahead(far, now_milliseconds=0)
    assert just_after(far, device="cd") > far


def test_a_final_deletion_ranks_above_every_change_and_a_withdrawal_does_not() -> None:
    early, late = "000000000001-0000-aa", "000000000002-0000-aa"
    gone = Mutation("observation", "obs-1", "delete", "p", {"hard_delete": True}, early)
    taken_back = Mutation("observation", "obs-1", "delete", "p", {"engram_py": {"withdrawn": True}}, early)
    hidden = Mutation("observation", "obs-1", "delete", "p", {"deleted": True}, early)
    session = Mutation("session", "s", "delete", "p", {"hard_delete": True}, early)
    unknown = Mutation("hologram", "h", "delete", "p", {"engram_py": {}}, early)
    changed = Mutation("observation", "obs-1", "upsert", "p", {}, late)

    assert rank(gone) > rank(changed)
    assert all(rank(one) < rank(changed) for one in (taken_back, hidden, session, unknown))


# Year 10889 is where 12 hex digits of milliseconds end; Python's own times end at 9999.
walls = st.integers(min_value=-(2**40), max_value=253_402_300_799_999)
devices = st.text(alphabet="0123456789abcdef", min_size=16, max_size=16)
stamps = st.builds(
    Stamp, st.integers(min_value=0, max_value=2**48 - 1), st.integers(min_value=0, max_value=0xFFFF), devices
)


@given(st.lists(st.tuples(walls, devices), min_size=1))
def test_each_stamp_is_later_than_the_one_before_whatever_the_wall_clock_does(events: list[tuple[int, str]]) -> None:
    last = ""
    for wall, device in events:
        stamp = next_stamp(last, now_milliseconds=wall, device=device)
        assert stamp > last
        assert parse_stamp(stamp) > parse_stamp(last or ZERO)
        assert parse_stamp(stamp).milliseconds >= wall
        assert parse_stamp(stamp).device == device
        last = stamp


@given(stamps, stamps)
def test_text_order_is_clock_order(one: Stamp, other: Stamp) -> None:
    assert (str(one) < str(other)) == (one < other)


@given(stamps)
def test_a_stamp_is_read_back_as_it_was_written(stamp: Stamp) -> None:
    assert parse_stamp(str(stamp)) == stamp


@pytest.mark.parametrize(
    ("last", "wall", "expected"),
    [
        pytest.param("000000000005-0007-aa", 6, "000000000006-0000-bb", id="moves"),
        pytest.param("000000000005-0007-aa", 5, "000000000005-0008-bb", id="stands"),
        pytest.param("000000000005-0007-aa", -1, "000000000005-0008-bb", id="set-back"),
        pytest.param("000000000005-ffff-aa", 5, "000000000006-0000-bb", id="counter-full"),
    ],
)
def test_a_clock_that_stands_or_was_set_back_counts_on(last: str, wall: int, expected: str) -> None:
    assert next_stamp(last, now_milliseconds=wall, device="bb") == expected
    assert next_stamp("", now_milliseconds=0, device="aa") > ZERO


@pytest.mark.parametrize(
    "text", ["", "x", "5-0-a", "000000000005-0000", "000000000005-0000-AA", "000000000005-0000-aa\n", "-" * 20]
)
def test_what_is_no_stamp_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a clock stamp"):
        parse_stamp(text)


def test_devices_are_hex_and_differ() -> None:
    made = {new_device_id() for _ in range(100)}
    assert len(made) == 100
    assert all(parse_stamp(str(Stamp(1, 1, device))).device == device for device in made)
