"""Sessions, their summaries and next steps, and checkpoints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py import Draft, Engram
from engram_py.base.capture.passive import GOAL_CHARS, MOST_STEPS, gist, goal, open_steps
from engram_py.base.errors import (
    ConflictError,
    EmptyFieldError,
    InvalidInputError,
    InvalidTextError,
    NotFoundError,
    TextTooLongError,
)
from engram_py.base.reasons import reason
from engram_py.base.settings import Settings
from engram_py.memory.observations.values import Change
from engram_py.memory.projects.values import InvalidProjectError
from engram_py.memory.sessions.checkpoints import KEPT, LIMIT_BYTES
from engram_py.memory.sessions.values import (
    SessionNotFoundError,
)
from engram_py.recall.layers import Layered
from tests.support import FakeClock, Opener, draft, names, raising, rows_of, whole

PASSWORD = "correct-" + "horse9-" + "Battery"


def test_a_save_creates_the_session_it_names_and_reopens_one_that_ended(app: Engram) -> None:
    saved = app.save(draft("One."), session_id="s-1")
    session = app.sessions.get("s-1")
    assert (saved.session_id, session.project, session.ended_at) == ("s-1", "widgets", None)
    app.sessions.start("s-1")
    app.sessions.end("s-1", summary="Done.")
    app.save(draft("One."), session_id="s-1")
    session = app.sessions.get("s-1")
    assert (session.ended_at, session.summary) == (None, "Done.")


def test_a_command_line_saves_into_the_projects_own_session(app: Engram) -> None:
    for blank in (None, "", "  "):
        assert app.save(draft("One."), session_id=blank).session_id == "manual-save-widgets"
    assert app.save(draft("One."), project="gadgets").session_id == "manual-save-gadgets"


def test_a_server_has_a_session_of_its_own_for_each_project_and_ends_them_when_it_ends(
    app: Engram, open_memory: Opener, clock: FakeClock
) -> None:
    server, other = open_memory(mode="process"), open_memory(mode="process")
    here = server.save(draft("One."))
    there = server.save(draft("Two."), project="gadgets")
    elsewhere = other.save(draft("Three."))

    assert here.session_id == server.save(draft("Four.")).session_id
    assert len({here.session_id, there.session_id, elsewhere.session_id}) == 3
    assert here.session_id.startswith("mcp-")

    clock.advance(hours=1)
    server.close()
    ends = {line.id: line.ended_at for line in app.sessions.recent(all_projects=True)}
    assert ends[here.session_id] == ends[there.session_id] == "2026-03-01T11:00:00.000Z"
    assert ends[elsewhere.session_id] is None


def test_a_server_that_saved_nothing_leaves_no_session(app: Engram, open_memory: Opener) -> None:
    server = open_memory(mode="process")
    server.search("anything")
    server.close()
    assert rows_of(app, "sessions") == 0


def test_later_saves_belong_to_the_session_that_was_started(app: Engram, open_memory: Opener) -> None:
    server = open_memory(mode="process")
    assert server.sessions.start("claude-1").event == "created"
    assert server.save(draft("One.")).session_id == "claude-1"

    server.sessions.end("claude-1")
    assert server.save(draft("Two.")).session_id.startswith("mcp-")
    server.sessions.start("claude-2")
    server.close()
    assert app.sessions.get("claude-1").ended_at is not None
    assert app.sessions.get("claude-2").ended_at is None  # an agent ends its own


def test_starting_again_continues_and_starting_after_the_end_reopens(app: Engram) -> None:
    assert app.sessions.start("s-1").event == "created"
    assert app.sessions.start("s-1").event == "continued"
    app.sessions.end("s-1")
    assert app.sessions.start("s-1").event == "reopened"
    assert app.sessions.get("s-1").ended_at is None


def test_a_session_started_elsewhere_decides_the_project_until_it_ends(app: Engram, tmp_path: Path) -> None:
    (tmp_path / "gadgets").mkdir()
    app.sessions.start("s-1", directory=str(tmp_path / "gadgets"))
    inside = app.save(draft("One."))
    app.sessions.end("s-1")
    after = app.save(draft("Two."))
    assert (inside.project, inside.project_source, inside.session_id) == ("gadgets", "session", "s-1")
    assert (after.project, after.project_source) == ("widgets", "dir_basename")


def test_ending_another_session_does_not_leave_the_one_that_was_started_last(app: Engram) -> None:
    app.sessions.start("s-1", project="gadgets")
    app.sessions.start("s-2", project="gizmos")
    app.sessions.end("s-1")
    saved = app.save(draft("One."))
    assert (saved.project, saved.session_id) == ("gizmos", "s-2")


def test_an_end_keeps_the_summary_redacted_and_bounded_and_the_date(app: Engram, clock: FakeClock) -> None:
    app.sessions.start("s-1")
    clock.advance(hours=2)
    ended = app.sessions.end("s-1", summary=f" Rotated password={PASSWORD}. ").session
    assert ended.ended_at == "2026-03-01T12:00:00.000Z"
    assert ended.summary is not None
    assert ended.summary.startswith("Rotated")
    assert PASSWORD not in ended.summary
    assert app.sessions.end("s-1", summary="  ").session.summary == ended.summary
    app.sessions.start("s-2")
    assert len(app.sessions.end("s-2", summary="x" * 100_000).session.summary or "") == 50_000


def test_an_unknown_session_cannot_be_ended_or_read(app: Engram) -> None:
    with pytest.raises(SessionNotFoundError):
        app.sessions.end("nobody")
    with pytest.raises(SessionNotFoundError):
        app.sessions.get("nobody")


@pytest.mark.parametrize(
    ("session_id", "refusal"),
    [
        pytest.param(" ", EmptyFieldError, id="blank"),
        pytest.param("x" * 201, TextTooLongError, id="long"),
        pytest.param("a\0b", InvalidTextError, id="nul"),
        pytest.param("a\ud800", InvalidTextError, id="surrogate"),
    ],
)
def test_an_id_that_cannot_be_kept_is_refused(app: Engram, session_id: str, refusal: type[Exception]) -> None:
    for call in (app.sessions.start, app.sessions.end, app.sessions.get, app.sessions.delete):
        with pytest.raises(refusal):
            call(session_id)
    assert rows_of(app, "sessions") == 0


@pytest.mark.parametrize("hidden", [False, True])
def test_a_session_that_holds_observations_is_not_deleted(app: Engram, hidden: bool) -> None:
    saved = app.save(draft("One."), session_id="s-1")
    if hidden:
        app.observations.delete(saved.id)
    with raising(ConflictError, "session_in_use", match="still has 1 observation$"):
        app.sessions.delete("s-1")


def test_a_deleted_session_takes_its_prompts_and_leaves_tombstones(app: Engram) -> None:
    app.prompts.save("Please fix the login.", session_id="s-1")
    app.sessions.delete("s-1")
    buried = {row["entity"] for row in app.store.rows("select entity from tombstones")}
    assert buried == {"session", "prompt"}
    assert (rows_of(app, "sessions"), rows_of(app, "user_prompts")) == (0, 0)
    with pytest.raises(SessionNotFoundError):
        app.sessions.delete("s-1")


def test_sessions_are_listed_by_their_last_activity_with_their_counts(app: Engram, clock: FakeClock) -> None:
    for name in ("s-1", "s-2", "s-3"):
        app.sessions.start(name)
        clock.advance(hours=1)
    app.save(draft("One."), session_id="s-1")
    doomed = app.save(draft("Two."), session_id="s-1")
    app.observations.delete(doomed.id)
    app.save(draft("Three."), project="gadgets", session_id="s-4")

    lines = app.sessions.recent()
    assert [(line.id, line.observations) for line in lines] == [("s-1", 1), ("s-3", 0), ("s-2", 0)]
    assert {line.id for line in app.sessions.recent(all_projects=True)} == {"s-1", "s-2", "s-3", "s-4"}
    assert [line.id for line in app.sessions.recent(limit=-1)] == ["s-1"]


def test_pages_of_sessions_of_one_moment_are_the_list_without_a_gap_or_a_repetition(app: Engram) -> None:
    names = [f"s-{number * 7919 % 151:03}" for number in range(151)]
    for name in names:
        app.sessions.start(name)
    for name in names[::3]:
        app.save(draft(f"About {name}."), session_id=name)

    whole_list = [line.id for line in app.sessions.recent(limit=200)]
    assert sorted(whole_list) == sorted(names)
    paged = [line.id for start in range(0, 151, 10) for line in app.sessions.page(limit=10, offset=start)]
    assert paged == whole_list
    sliced = [line.id for start in range(0, 151, 10) for line in app.sessions.recent(limit=10, offset=start)]
    assert sliced == whole_list
    everywhere = [line.id for start in range(0, 151, 10) for line in app.sessions.recent(
        all_projects=True, limit=10, offset=start
    )]  # fmt: skip
    assert everywhere == whole_list


def test_a_summary_is_one_observation_per_session_and_stands_beside_it(app: Engram) -> None:
    app.sessions.start("s-1")
    first = app.episodes.summarize("Built the login.")
    second = app.episodes.summarize("Built the login and the logout.")

    kept = whole(app, first.id)
    assert (first.outcome, second.outcome, second.id) == ("added", "updated", first.id)
    assert (kept.type, kept.topic_key, kept.title) == ("session_summary", "session/s-1", "Session summary: widgets")
    assert app.sessions.get("s-1").summary == "Built the login and the logout."
    assert second.candidates == ()
    assert second.suggested_topic_key is None


def test_a_summary_says_how_its_project_was_found(app: Engram) -> None:
    assert app.episodes.summarize("Built the login.").project_source == "dir_basename"
    explicit = app.episodes.summarize("Built the login.", project="orbit")
    assert (explicit.project_source, explicit.warnings) == (
        "explicit",
        (reason("created_project", project="orbit", similar=()),),
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("Run", "run", id="case"),
        pytest.param("a b", "a-b", id="blank"),
        pytest.param("x" * 150 + "1", "x" * 150 + "2", id="long"),
        pytest.param("a/b/", "a/b", id="slash"),
    ],
)
def test_summaries_of_sessions_with_like_ids_stay_apart(app: Engram, one: str, other: str) -> None:
    first = app.episodes.summarize("Built the login.", session_id=one)
    second = app.episodes.summarize("Built the logout.", session_id=other)
    assert second.outcome == "added"
    assert whole(app, first.id).content == "Built the login."
    assert app.episodes.summarize("More.", session_id=one).id == first.id


def test_a_corrected_summary_is_corrected_beside_its_session_too(app: Engram) -> None:
    saved = app.episodes.summarize("Built the login.", session_id="s-1")
    app.observations.update(saved.id, Change(find="login", replace="logout"))
    assert app.sessions.get("s-1").summary == "Built the logout."


def test_a_closing_word_does_not_replace_the_summary_that_was_written(app: Engram) -> None:
    app.sessions.start("s1")
    app.episodes.summarize("## Goal\nFix the login test.\n## Next Steps\n- Remove the retry", session_id="s1")

    ended = app.sessions.end("s1", summary="done")

    assert ended.session.summary is not None
    assert ended.session.summary.startswith("## Goal")
    assert ended.session.summary.endswith("done")


def test_starting_a_session_ends_the_one_the_process_had_opened_by_itself(data_dir: Path, folder: Path) -> None:
    with Engram(settings=Settings(data_dir), directory=folder, session_mode="process") as app:
        own = app.save(Draft("a b", "c")).session_id
        app.sessions.start("mine")
        assert app.sessions.get(own).ended_at is not None
        assert app.sessions.get("mine").ended_at is None


def test_no_identifier_keeps_a_secret_that_was_passed_as_one(app: Engram, data_dir: Path) -> None:
    secret = "gh" + "p_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6"
    one, other = app.save(draft("One.", title="Use RS256 keys")), app.save(draft("Two.", title="Use HS256 keys"))
    judgment = other.candidates[0].judgment_id

    app.relations.judge(judgment, "supersedes", session_id=f"run-{secret}")
    app.sessions.start(f"s-{secret}")
    with pytest.raises(InvalidProjectError):
        app.save(draft("Three."), project=secret)

    assert one.id != other.id
    app.store.rows("pragma wal_checkpoint(truncate)")
    assert secret.encode() not in (data_dir / "engram.db").read_bytes().lower() + (data_dir / "engram.db").read_bytes()


SUMMARY = """\
## Goal
Build the CSV parser

## Accomplished
- tokenizer
- 2026-03-02 release of 2 servers

## Next Steps
- [x] tokenizer
- [ ] quoted   newlines
1. write the docs

## Relevant Files
- src/csv.py
"""


def test_a_summary_is_read_for_its_open_steps_its_goal_and_its_gist() -> None:
    assert open_steps(SUMMARY) == ("quoted newlines", "write the docs")
    assert len(open_steps("## Next\n" + "- do\n" * 50)) == MOST_STEPS
    assert (
        gist("## Goal\nSentry quota.\n## Accomplished\nSampling 2 %.")
        == "Goal: Sentry quota; Accomplished: Sampling 2 %."
    )
    said = "Goal: Build the CSV parser; Accomplished: tokenizer, 2026-03-02 release of 2 servers; "
    assert gist(SUMMARY) == said + "Relevant files: src/csv.py"


@pytest.mark.parametrize(
    ("summary", "said"),
    [
        pytest.param(SUMMARY, "Build the CSV parser", id="heading"),
        pytest.param("Done.\n**Goal**: build the  parser\nmore", "build the parser", id="in-its-line"),
        pytest.param("Done.\nGoal: build the parser\nmore", "build the parser", id="without-marks"),
        pytest.param("## Ziel\n- [ ] Der Parser", "[ ] Der Parser", id="another-language"),
        pytest.param("\n- Built the login.\nAnd the logout.", "Built the login.", id="no-goal"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_the_goal_is_what_the_session_was_for_or_else_the_first_line(summary: str, said: str) -> None:
    assert goal(summary) == said


@pytest.mark.parametrize("summary", ["the parser " * 20, "x" * 200])
def test_a_long_goal_is_cut(summary: str) -> None:
    assert goal(summary).rstrip("…").removesuffix("parser") != goal(summary)
    assert GOAL_CHARS - 10 < len(goal(summary)) <= GOAL_CHARS + 1


@pytest.mark.parametrize(
    ("summary", "steps"),
    [
        pytest.param("**Next Steps**: ship it", ("ship it",), id="bold-in-a-line"),
        pytest.param("**Next Steps:**\n* ship it", ("ship it",), id="bold-heading"),
        pytest.param("TODO: ship it", ("ship it",), id="plain"),
        pytest.param("# Nächste Schritte\n- ausliefern", ("ausliefern",), id="german"),
        pytest.param("## 下一步\n- 发布", ("发布",), id="chinese"),
        pytest.param("## Next Steps\n- ✅ done\n- ~~dropped~~\n- [X] done", (), id="all-done"),
        pytest.param("## Next Steps\n\n## Goal\nnothing", (), id="none"),
        pytest.param("We discussed next steps.", (), id="only-mentioned"),
        pytest.param("", (), id="empty"),
    ],
)
def test_next_steps_are_found_under_any_usual_heading(summary: str, steps: tuple[str, ...]) -> None:
    assert open_steps(summary) == steps


@given(st.text(max_size=500))
def test_any_text_is_a_summary(text: str) -> None:
    assert "\n" not in gist(text)
    assert all("\n" not in step for step in open_steps(text))


STATE = b'{"step": 3,\r\n  "notes": "caf\xc3\xa9  ",\t"open": ["zebra"]}\n\n'


def loaded(app: Engram, session: str | None = None) -> bytes:
    return app.checkpoints.load(session_id=session).data


def test_row_41_the_newer_of_a_session_comes_back_byte_for_byte(app: Engram) -> None:
    app.checkpoints.save(b'{"step": 2}', session_id="s1")
    app.checkpoints.save(STATE, session_id="s1")
    assert loaded(app, "s1") == STATE
    with raising(NotFoundError, "checkpoint_not_found", match="session s2"):
        app.checkpoints.load(session_id="s2")


@pytest.mark.parametrize("data", [b"\x00", b"\xff\xfe\x00state", b"\n", "ünï\0".encode(), b"x" * LIMIT_BYTES])
def test_bytes_that_are_no_text_come_back_as_well(app: Engram, data: bytes) -> None:
    app.checkpoints.save(data, session_id="s1")
    assert loaded(app, "s1") == data


def test_row_42_no_search_and_no_context_finds_one(app: Engram) -> None:
    app.checkpoints.save(STATE, session_id="s1")
    assert app.search("zebra").results == ()
    assert app.searches.prompts("zebra") == ()
    everything = app.search_in("all", "zebra")
    assert isinstance(everything, Layered)
    assert not any(found.results for found in everything.layers.values())
    assert not app.transcripts.turns("s1")
    assert not any(section.items for section in app.contexts.assemble(query="zebra", mode="cascade").sections)
    mutations = app.store.rows("select * from sync_mutations")
    assert "zebra" not in json.dumps([[str(value) for value in row] for row in mutations])


def test_without_a_session_the_latest_of_the_project_is_loaded(app: Engram, open_memory: Opener) -> None:
    app.checkpoints.save(b"first", session_id="s1")
    app.checkpoints.save(b"second", session_id="s2")
    other = open_memory(project="gadgets")
    other.checkpoints.save(b"theirs")
    assert (loaded(app), loaded(app, "s1"), loaded(other)) == (b"second", b"first", b"theirs")
    with raising(NotFoundError, "checkpoint_not_found", match="gizmos"):
        open_memory(project="gizmos").checkpoints.load()


def test_the_same_again_is_kept_once_and_no_more_than_ten_of_a_session(app: Engram, clock: FakeClock) -> None:
    for _ in range(2):
        app.checkpoints.save(STATE, session_id="s1")
    assert rows_of(app, "checkpoints") == 1
    for number in range(KEPT + 3):
        app.checkpoints.save(f"{number}".encode(), session_id="s1")
    app.checkpoints.save(b"other", session_id="s2")
    assert rows_of(app, "checkpoints") == KEPT + 1
    assert [line.session_id for line in app.checkpoints.listed().items] == ["s2", *["s1"] * KEPT]
    assert loaded(app, "s1") == f"{KEPT + 2}".encode()


def test_what_is_empty_or_too_large_is_refused(app: Engram) -> None:
    with pytest.raises(EmptyFieldError):
        app.checkpoints.save(b"")
    with raising(InvalidInputError, "checkpoint_too_large", match="1,048,576"):
        app.checkpoints.save(b"x" * (LIMIT_BYTES + 1))
    assert rows_of(app, "checkpoints") == 0


@pytest.mark.parametrize("tail", [b"", b"\xff\x00"])
def test_a_secret_never_reaches_the_file_and_the_answer_says_so(app: Engram, tail: bytes) -> None:
    token = b"ghp_" + b"a1B2" * 9
    saved = app.checkpoints.save(b'{"token": "' + token + b'", "step": 3}' + tail)
    assert saved.redacted == 1
    assert names(saved.warnings) == ["not_stored"]
    assert token not in loaded(app)
    assert loaded(app).endswith(b'"step": 3}' + tail)
    assert token not in app.store.path.read_bytes()


def test_json_that_would_be_none_without_its_secret_is_refused(app: Engram) -> None:
    with raising(InvalidInputError, "checkpoint_secret"):
        app.checkpoints.save(b'{"note": "<private>the rest", "step": 3}')


def test_a_checkpoint_goes_with_what_is_cleared(app: Engram) -> None:
    for what in ("project", "everything"):
        app.checkpoints.save(STATE, session_id="s1")
        app.clearing.clear(what, project="widgets" if what == "project" else None)
        assert rows_of(app, "checkpoints") == 0
    app.checkpoints.save(STATE, session_id="s1")
    app.sessions.delete("s1")
    assert rows_of(app, "checkpoints") == 0


def test_a_session_that_moves_to_another_project_takes_its_checkpoints(app: Engram) -> None:
    app.checkpoints.save(STATE, session_id="s1")
    app.merging.merge(["widgets"], "gadgets")
    assert app.checkpoints.load(project="gadgets").data == STATE
