"""The joins: commutative, associative, idempotent, and what names come to mean."""

from __future__ import annotations

from functools import reduce
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from engram_py.clock import consequence, is_ahead, just_after, next_stamp, parse_stamp
from engram_py.observations.topics import topic_holder
from engram_py.sync.merge import Names, version_digest, version_key, version_owner, wins
from engram_py.sync.mutation import Mutation, rank

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


def test_of_two_projects_merged_into_each_other_the_merge_made_first_counts() -> None:
    names = Names([("one", "two", "a"), ("two", "one", "b")])

    assert (names.canonical("one"), names.canonical("two")) == ("two", "two")


def test_the_text_written_last_holds_the_topic() -> None:
    early = {"sync_id": "obs-1", "updated_at": "2026-03-01", "clock": "b", "unchecked": None}
    late = {"sync_id": "obs-2", "updated_at": "2026-03-02", "clock": "a", "unchecked": None}

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
