"""The log of hooks, and what the doctor makes of it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.sessions.spool_files import put
from engram_py.times import to_text
from engram_py.upkeep import hook_log
from engram_py.upkeep.hook_log import append, expect, lately
from tests.memory import START, FakeClock
from tests.sessions.test_spool import record


@pytest.fixture
def place(data_dir: Path) -> Path:
    data_dir.mkdir(exist_ok=True)
    return data_dir


def fail(place: Path, reason: str = "timeout", *, days: float = 0) -> None:
    append(place, now=START - timedelta(days=days), agent="codex", event="stop", reason=reason, stage="opening")


def test_the_failures_of_the_last_days_are_read_in_order(place: Path) -> None:
    for reason, days in (("old", 8), ("timeout", 6), ("store_busy", 0)):
        fail(place, reason, days=days)
    assert [failure.reason for failure in lately(place, START)] == ["timeout", "store_busy"]


def test_what_is_no_failure_is_left_out(place: Path) -> None:
    fail(place, "transcript_missing")
    fail(place, "ambiguous_project")
    assert lately(place, START) == []


def test_the_log_does_not_grow_without_end(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook_log, "MOST_BYTES", 2_000)
    for number in range(200):
        fail(place, f"reason {number}")

    assert (place / "hooks.log").stat().st_size < 2_400
    assert lately(place, START)[-1].reason == "reason 199"
    assert [path.name for path in place.iterdir()] == ["hooks.log"]


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b"null", b'{"at": 7}', b"\xff\x00", b"[" * 50_000])
def test_a_line_that_is_no_record_is_passed_over(place: Path, line: bytes) -> None:
    (place / "hooks.log").write_bytes(line + b"\n")
    fail(place)
    assert len(lately(place, START)) == 1


def test_a_log_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "hooks.log").mkdir()
    fail(tmp_path)
    fail(tmp_path / "missing")
    assert lately(tmp_path, START) == []


def test_a_log_that_points_elsewhere_is_not_followed(place: Path, tmp_path: Path) -> None:
    (tmp_path / "other").write_text("mine")
    (place / "hooks.log").symlink_to(tmp_path / "other")
    fail(place)
    assert (tmp_path / "other").read_text() == "mine"


def test_the_doctor_is_content_while_no_hook_fails_and_says_what_waits(app: Engram, place: Path) -> None:
    [check] = app.doctor.examine(check="hooks").checks
    assert (check.result, check.message) == ("ok", "no hook failed in seven days")
    put(place, record())
    [check] = app.doctor.examine(check="hooks").checks
    assert (check.result, check.message) == ("ok", "1 prompt(s) wait to be stored")


def test_the_doctor_says_which_hooks_failed_and_what_to_do(app: Engram, place: Path) -> None:
    for reason in ("timeout", "store_busy", "timeout", "KeyError"):
        fail(place, reason)

    [check] = app.doctor.examine(check="hooks").checks

    assert check.result == "warning"
    assert check.message.startswith("4 hook(s) failed in seven days: timeout (2), store_busy (1), KeyError (1); last")
    busy, other, where = (check.safe_next_step or "").splitlines()
    assert busy.startswith("timeout: ")
    assert "write_lock" in busy
    assert other.startswith("store_busy: ")
    assert str(place / "hooks.log") in where


@pytest.mark.parametrize("reason", ["input_is_not_json", "empty_input", "transcript_refused", "cwd_missing"])
def test_what_setup_does_not_cure_is_not_sent_there(app: Engram, place: Path, reason: str) -> None:
    fail(place, reason)
    [check] = app.doctor.examine(check="hooks").checks
    advice, _ = (check.safe_next_step or "").splitlines()
    assert advice.startswith(f"{reason}: ")
    assert "setup" not in advice


def test_no_detail_takes_the_place_of_the_time(place: Path) -> None:
    append(place, now=START, agent="codex", event="stop", reason="ZeroDivisionError", at="handlers.py:120")
    assert [failure.reason for failure in lately(place, START)] == ["ZeroDivisionError"]


@pytest.fixture
def written(place: Path) -> Path:
    """Setup wrote the hooks of Codex."""
    (place / "setup").mkdir()
    expect(place, "codex", START)
    return place


def test_hooks_that_never_ran_since_setup_wrote_them_are_said(app: Engram, written: Path, clock: FakeClock) -> None:
    [check] = app.doctor.examine(check="hooks").checks
    assert (check.result, "no hook of codex ran since setup" in check.message) == ("ok", True)
    assert "/hooks" in (check.safe_next_step or "")
    clock.advance(days=2)
    assert app.doctor.examine(check="hooks").checks[0].result == "warning"
    expect(written, "codex", None)
    assert app.doctor.examine(check="hooks").checks[0].message == "no hook failed in seven days"


@pytest.mark.parametrize("hosts", [(), ("1:2",)], ids=["a-server-alone", "a-hook"])
def test_a_session_of_the_agent_tells_whether_its_hooks_ran(app: Engram, written: Path, hosts: tuple[str, ...]) -> None:
    with app.store.transaction():
        app.store.insert("sessions", session_row("codex"))
    if hosts:
        app.sessions.keep_hosts("s9", hosts)
    [check] = app.doctor.examine(check="hooks").checks
    assert check.result == ("ok" if hosts else "warning")


def session_row(agent: str) -> dict[str, str]:
    now = to_text(START + timedelta(seconds=1))
    names = {"id": "s9", "project": "widgets", "directory": "", "agent": agent}
    return names | {"started_at": now, "updated_at": now, "clock": ""}
