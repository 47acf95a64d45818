"""A repository is given a name once, and everybody who asks reads the same."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from engram_py.projects.locate import BINDING_FILE, Binding, load_binding, write_binding
from engram_py.projects.values import InvalidProjectError

GOOD = {"version": 1, "id": "0" * 32, "project": "widgets"}


def test_a_binding_is_kept_in_engrams_format_for_its_owner_alone(tmp_path: Path) -> None:
    binding = write_binding(tmp_path, "Widgets")

    path = tmp_path / BINDING_FILE
    assert binding is not None
    assert (binding, None) == load_binding(tmp_path)
    assert binding == Binding(binding.id, "widgets")
    assert re.fullmatch("[0-9a-f]{32}", binding.id)
    assert json.loads(path.read_text()) == {"version": 1, "id": binding.id, "project": "widgets"}
    assert path.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [BINDING_FILE]


def test_a_bound_repository_is_not_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = write_binding(tmp_path, "widgets")
    monkeypatch.setattr("engram_py.projects.locate._publish", None)
    assert write_binding(tmp_path, "gadgets") == first


def test_a_binding_that_is_being_written_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / BINDING_FILE
    path.touch()
    monkeypatch.setattr("time.sleep", lambda seconds: path.write_text(json.dumps(GOOD)))
    assert write_binding(tmp_path, "gadgets") == Binding("0" * 32, "widgets")
    assert load_binding(tmp_path) == (Binding("0" * 32, "widgets"), None)


def test_without_hard_links_the_first_still_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", refuse)
    first = write_binding(tmp_path, "widgets")
    assert first is not None
    assert write_binding(tmp_path, "gadgets") == first
    assert [path.name for path in tmp_path.iterdir()] == [BINDING_FILE]


WRONG: list[dict[str, object]] = [{"version": 2}, {"id": "short"}, {"project": "../evil"}, {"project": 7}]
BROKEN = ["", "{", "[]", "[" * 4000, "x" * 5000, *(json.dumps(GOOD | wrong) for wrong in WRONG)]


@pytest.mark.parametrize("content", BROKEN)
def test_a_damaged_binding_counts_as_none_warns_and_is_left_as_it_is(tmp_path: Path, content: str) -> None:
    path = tmp_path / BINDING_FILE
    path.write_text(content)

    binding, warning = load_binding(tmp_path)
    assert binding is None
    assert warning is not None
    assert BINDING_FILE in warning
    assert write_binding(tmp_path, "widgets") is None
    assert path.read_text() == content


def test_a_directory_that_cannot_be_written_is_not_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert write_binding(tmp_path / "missing", "widgets") is None
    (tmp_path / "file").write_text("")
    assert write_binding(tmp_path / "file", "widgets") is None

    real_open = os.open

    def read_only(path: str, flags: int, *args: int) -> int:
        if flags & os.O_CREAT:
            raise PermissionError(13, "Permission denied")
        return real_open(path, flags, *args)

    monkeypatch.setattr(os, "open", read_only)
    assert write_binding(tmp_path, "widgets") is None


def test_a_name_that_is_none_is_not_bound(tmp_path: Path) -> None:
    with pytest.raises(InvalidProjectError):
        write_binding(tmp_path, "a/b")


def _bind(folder: str, name: str, barrier: Barrier, results: multiprocessing.Queue[tuple[str, str] | None]) -> None:
    barrier.wait()
    binding = write_binding(Path(folder), name)
    results.put((binding.id, binding.project) if binding else None)


def _bind_without_links(
    folder: str, name: str, barrier: Barrier, results: multiprocessing.Queue[tuple[str, str] | None]
) -> None:
    def refuse(*args: object) -> None:
        raise PermissionError

    os.link = refuse  # type: ignore[assignment]
    _bind(folder, name, barrier, results)


@pytest.mark.parametrize("worker", [_bind, _bind_without_links])
def test_of_several_processes_the_first_wins_and_all_read_the_same(tmp_path: Path, worker: object) -> None:
    context = multiprocessing.get_context("spawn")
    count = 6
    barrier, results = context.Barrier(count), context.Queue()
    processes = [
        context.Process(target=worker, args=(str(tmp_path), f"project-{n}", barrier, results))  # type: ignore[arg-type]
        for n in range(count)
    ]
    for process in processes:
        process.start()
    answers = {results.get(timeout=60) for _ in range(count)}
    for process in processes:
        process.join()

    binding, _ = load_binding(tmp_path)
    assert binding is not None
    assert answers == {(binding.id, binding.project)}
    assert [path.name for path in tmp_path.iterdir()] == [BINDING_FILE]
