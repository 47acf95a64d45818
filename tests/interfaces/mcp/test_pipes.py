"""The server's ends of the pipes: lines in any pieces, and answers to a client that is slow to read."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import anyio
import pytest

from engram_py.interfaces.mcp.pipes import Answers, Lines
from tests.interfaces.mcp.agent import INITIALIZE, INITIALIZED, as_line, close, rows, start_server, tool_call

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there the SDK reads and writes")

SMILE = "\N{SMILING FACE WITH SUNGLASSES}"


@pytest.fixture(params=["pipe", "socket"])
def ends(request: pytest.FixtureRequest) -> Iterator[tuple[int, int]]:
    """Where to read, and where to write: Node gives its children sockets for pipes."""
    if request.param == "pipe":
        pair = os.pipe()
        yield pair
        for fd in pair:
            os.close(fd)
        return
    left, right = socket.socketpair()
    with left, right:
        yield left.fileno(), right.fileno()


async def read_all(fd: int) -> list[str]:
    return [line async for line in Lines(fd)]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("pieces", "lines"),
    [
        ([b"one\ntwo\n"], ["one", "two"]),
        ([b"o", b"n", b"e\nt", b"wo", b"\n"], ["one", "two"]),
        ([b"one\n\n", b"\ntwo\n"], ["one", "", "", "two"]),
        ([b"one\ntwo"], ["one", "two"]),  # the last without its end
        ([], []),
        ([SMILE.encode()[:2], SMILE.encode()[2:] + b"\n"], [SMILE]),
        ([b"a\xffb\n"], ["a\N{REPLACEMENT CHARACTER}b"]),
        ([b"one\r\ntwo\rthree\n"], ["one", "two", "three"]),
    ],
)
async def test_lines_arrive_in_any_pieces(pieces: list[bytes], lines: list[str]) -> None:
    left, right = socket.socketpair()
    found: list[str] = []

    async def reads() -> None:
        found.extend(await read_all(left.fileno()))

    with left, right, anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(reads)
            for piece in pieces:
                right.send(piece)
                await anyio.sleep(0.01)
            right.shutdown(socket.SHUT_WR)
    assert found == lines


@pytest.mark.anyio
async def test_a_line_of_many_megabytes_costs_no_more_than_its_length(ends: tuple[int, int]) -> None:
    reads, writes = ends
    text = "x" * (32 << 20)
    writer = threading.Thread(target=lambda: os.write(writes, text.encode() + b"\nshort\n"))
    with anyio.fail_after(60):
        writer.start()
        lines = Lines(reads)
        assert await anext(lines) == text
        assert await anext(lines) == "short"
    writer.join()


@pytest.mark.anyio
async def test_an_answer_waits_for_its_reader_and_the_loop_does_not(ends: tuple[int, int]) -> None:
    reads, writes = ends
    text = "".join(f"{number}," for number in range(400_000))
    ticks = 0
    parts: list[bytes] = []

    async def answers() -> None:
        with closing(Answers(writes)) as one:
            await one.write(text)

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(answers)
            for _ in range(20):  # nobody reads yet: the pipe is full
                await anyio.sleep(0.005)
                ticks += 1
            while sum(map(len, parts)) < len(text):
                await anyio.wait_readable(reads)
                parts.append(os.read(reads, 1 << 20))
    assert ticks == 20
    assert b"".join(parts).decode() == text


@pytest.mark.anyio
async def test_an_answer_that_nobody_can_read_is_dropped() -> None:
    reads, writes = os.pipe()
    left, right = socket.socketpair()
    os.close(reads)
    left.close()
    with anyio.fail_after(60), right:
        for fd in (writes, right.fileno()):
            answers = Answers(fd)
            await answers.write("an answer")
            await answers.write("x" * (1 << 20))
            answers.close()
    os.close(writes)


@pytest.mark.anyio
async def test_a_pipe_that_was_emptied_by_somebody_else_is_waited_for(ends: tuple[int, int]) -> None:
    reads, writes = ends
    lines = Lines(reads)
    found: list[str] = []

    async def read_one() -> None:
        found.append(await anext(lines))

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read_one)
            await anyio.sleep(0.01)
            lines._read()  # nothing is there
            os.write(writes, b"one\n")
    assert found == ["one"]


def test_a_client_may_write_all_its_requests_before_it_reads_an_answer(folder: Path) -> None:
    server = start_server(folder)
    calls = [tool_call(number, "mem_search", query=f"word{number} " * 40) for number in range(1_000)]
    assert server.stdin is not None
    assert server.stdout is not None
    messages: list[dict[str, Any]] = [INITIALIZE, INITIALIZED, *calls]
    for message in messages:  # more than both pipes hold
        server.stdin.write(as_line(message))
    server.stdin.flush()

    answered = [json.loads(server.stdout.readline())["id"] for _ in range(1_001)]
    assert close(server) == ""
    assert sorted(one for one in answered if one != "start") == list(range(1_000))


def through_files(folder: Path, sent: bytes) -> bytes:
    (folder / "in").write_bytes(sent)
    with (folder / "in").open("rb") as stdin, (folder / "out").open("wb") as stdout:
        subprocess.run([sys.executable, "-m", "engram_py", "mcp"], stdin=stdin, stdout=stdout, cwd=folder, check=True)
    return (folder / "out").read_bytes()


def through_sockets(folder: Path, sent: bytes) -> bytes:
    ours, theirs = socket.socketpair()
    with closing(ours):
        with theirs:
            server = subprocess.Popen(
                [sys.executable, "-m", "engram_py", "mcp"], stdin=theirs.fileno(), stdout=theirs.fileno(), cwd=folder
            )
        ours.sendall(sent)
        ours.shutdown(socket.SHUT_WR)
        parts = list(iter(lambda: ours.recv(1 << 16), b""))
    assert server.wait(timeout=60) == 0
    return b"".join(parts)


@pytest.mark.parametrize("through", [through_files, through_sockets])
def test_stdin_and_stdout_may_be_files_or_sockets(folder: Path, through: Callable[[Path, bytes], bytes]) -> None:
    save = tool_call(1, "mem_save", title="Chose uv", content=f"It resolves in a second {SMILE}.")
    sent = b"".join(as_line(one) for one in (INITIALIZE, INITIALIZED, save, tool_call(2, "mem_search", query="uv")))

    answers: dict[Any, Any] = {one["id"]: one for one in map(json.loads, through(folder, sent).splitlines())}

    assert answers[1]["result"]["content"][0]["text"].startswith("Saved [#1]")
    assert set(answers) == {"start", 1, 2}


PRINTS = """
import os, subprocess, sys
from engram_py.interfaces.mcp import resources as offers
from engram_py.interfaces.mcp import stdio

real = stdio.stdio_server
def noisy(*ends):
    print("printed by a library")
    os.write(1, b"written by a library\\n")
    subprocess.run(["cat"], check=True)  # reads what is left of stdin, if it is given it
    return real(*ends)
stdio.stdio_server = noisy
from engram_py.interfaces.cli.main import run
sys.argv = ["engram", "mcp"]
run()
"""


def test_what_a_library_prints_or_a_child_reads_is_not_the_clients(folder: Path) -> None:
    sent = as_line(INITIALIZE) + as_line(INITIALIZED)

    done = subprocess.run(
        [sys.executable, "-c", PRINTS], input=sent, capture_output=True, cwd=folder, timeout=60, check=True
    )

    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == ["start"]
    assert b"written by a library" in done.stderr


def socket_pair() -> tuple[int, int]:
    one, other = socket.socketpair()
    return one.detach(), other.detach()


@pytest.mark.parametrize("pair", [os.pipe, socket_pair])
def test_what_was_written_before_the_client_died_is_still_saved(
    folder: Path, data_dir: Path, pair: Callable[[], tuple[int, int]]
) -> None:
    saves = [tool_call(number, "mem_save", title=f"Fact {number}", content=f"Body {number}.") for number in range(4)]
    (stdin, requests), (answers, stdout) = pair(), pair()
    server = subprocess.Popen([sys.executable, "-m", "engram_py", "mcp"], stdin=stdin, stdout=stdout, cwd=folder)
    for fd in (stdin, stdout):
        os.close(fd)

    messages: list[dict[str, Any]] = [INITIALIZE, INITIALIZED, *saves]
    os.write(requests, b"".join(map(as_line, messages)))
    for fd in (answers, requests):
        os.close(fd)

    assert server.wait(timeout=60) == 0
    assert rows(data_dir)["observations"] == 4


def test_a_server_with_a_thousand_inherited_descriptors_answers(folder: Path) -> None:
    with (folder / "file").open("wb") as file, ExitStack() as held:
        many = [os.dup(file.fileno()) for _ in range(1_100)]
        for fd in many:
            held.callback(os.close, fd)
        done = subprocess.run(
            [sys.executable, "-m", "engram_py", "mcp"],
            input=as_line(INITIALIZE), capture_output=True, cwd=folder, timeout=60, check=True, pass_fds=many,
        )  # fmt: skip
    assert json.loads(done.stdout)["id"] == "start"
