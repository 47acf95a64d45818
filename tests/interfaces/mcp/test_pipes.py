"""The server's ends of the pipes: lines in any pieces, and answers to a client that is slow to read."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.interfaces.mcp.agent import INITIALIZE, INITIALIZED, as_line, close, rows, start_server, tool_call
from tests.template import ready

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="descriptors of POSIX")

SMILE = "\N{SMILING FACE WITH SUNGLASSES}"


@pytest.fixture(autouse=True)
def made(data_dir: Path) -> None:
    """Calls that are not done two seconds after the last line are not waited for; migrating takes as long."""
    ready(data_dir)


PING = {"jsonrpc": "2.0", "id": "ping", "method": "ping"}


@pytest.mark.parametrize(
    ("pieces", "answers"),
    [
        (["@\n@\n"], 2),
        (["@"[:1], "\n", "@", "\n"], 2),
        (["@\n\n", "\n  \n@\n"], 2),
        (["@\n@"], 2),  # the last without its end
        (["@\r\n@\r@\n"], 3),
        ([], 0),
    ],
)
def test_lines_arrive_in_any_pieces(folder: Path, pieces: list[str], answers: int) -> None:
    server = start_server(folder)
    assert server.stdin is not None
    ping = json.dumps(PING | {"id": SMILE}, ensure_ascii=False)
    for piece in pieces:
        whole = piece.replace("@", ping).encode()
        for part in (whole[: len(whole) // 2], whole[len(whole) // 2 :]):
            server.stdin.write(part)
            server.stdin.flush()
    output, log = server.communicate(timeout=60)

    assert [json.loads(line)["id"] for line in output.decode().splitlines()] == [SMILE] * answers
    assert (server.returncode, log) == (0, b"")


def test_a_line_of_many_megabytes_costs_no_more_than_its_length(folder: Path) -> None:
    long = json.dumps(PING | {"params": {"text": "x" * (32 << 20)}})
    done = subprocess.run(
        [sys.executable, "-m", "engram_py", "mcp"],
        input=as_line(long) + as_line(PING), capture_output=True, cwd=folder, timeout=60, check=True,
    )  # fmt: skip
    assert len(done.stdout.splitlines()) == 2


@pytest.mark.parametrize("method", ["tools/call", "tools/list"])
def test_a_client_may_write_all_its_requests_before_it_reads_an_answer(folder: Path, method: str) -> None:
    server = start_server(folder)
    calls: list[dict[str, Any]] = [
        tool_call(number, "mem_search", query=f"word{number} " * 40)
        if method == "tools/call"
        else {"jsonrpc": "2.0", "id": number, "method": method, "params": {"_meta": {"pad": "x" * 400}}}
        for number in range(1_000)
    ]
    assert server.stdin is not None
    assert server.stdout is not None
    messages: list[dict[str, Any]] = [INITIALIZE, INITIALIZED, *calls]
    for message in messages:  # more than both pipes hold
        server.stdin.write(as_line(message))
    server.stdin.flush()

    answered = [json.loads(server.stdout.readline())["id"] for _ in range(1_001)]
    assert close(server) == ""
    assert sorted(one for one in answered if one != "start") == list(range(1_000))


def test_a_server_that_nobody_reads_ends_and_keeps_what_was_saved(folder: Path, data_dir: Path) -> None:
    saves = [tool_call(number, "mem_save", title=f"T{number}", content="Kept.") for number in range(20)]
    messages: list[dict[str, Any]] = [INITIALIZE, INITIALIZED, *saves]
    with start_server(folder) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdout.close()
        for message in messages:
            server.stdin.write(as_line(message))
        server.stdin.flush()

        assert server.wait(timeout=30) == 0  # stdin is open still
    assert rows(data_dir)["observations"] == 20


@pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&-"])
def test_a_server_without_a_client_ends_without_a_word(folder: Path, closed: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" -m engram_py mcp {closed}', sys.executable],
        cwd=folder, stdin=subprocess.PIPE, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


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
from engram_py.interfaces.mcp import stdio

real = stdio.answer
def noisy(*given, **options):
    print("printed by a library", flush=True)
    os.write(1, b"written by a library\\n")
    subprocess.run(["cat"], check=True)  # reads what is left of stdin, if it is given it
    return real(*given, **options)
stdio.answer = noisy
from engram_py.interfaces.cli.main import run
sys.argv = ["engram", "mcp"]
run()
"""


def test_what_a_library_prints_or_a_child_reads_is_not_the_clients(folder: Path) -> None:
    call = tool_call(1, "mem_current_project")
    sent = b"".join(as_line(one) for one in (INITIALIZE, INITIALIZED, call, PING))

    done = subprocess.run(
        [sys.executable, "-c", PRINTS], input=sent, capture_output=True, cwd=folder, timeout=60, check=True
    )

    assert {json.loads(line)["id"] for line in done.stdout.splitlines()} == {"start", 1, "ping"}
    assert b"printed by a library" in done.stderr
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


# More than this process may have, a process of its own opens, and then becomes the server.
_INHERITED = """
import os, resource, sys
limit, most = 1_200, resource.getrlimit(resource.RLIMIT_NOFILE)[1]
if most != resource.RLIM_INFINITY and most < limit:
    sys.exit("no room")
resource.setrlimit(resource.RLIMIT_NOFILE, (limit, most))
for _ in range(1_100):
    os.set_inheritable(os.open(os.devnull, os.O_RDONLY), True)
os.execv(sys.executable, [sys.executable, "-m", "engram_py", "mcp"])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no descriptors are inherited there")
def test_a_server_with_a_thousand_inherited_descriptors_answers(folder: Path) -> None:
    started = [sys.executable, "-c", _INHERITED]
    done = subprocess.run(started, input=as_line(INITIALIZE), capture_output=True, cwd=folder, timeout=60, check=False)
    if done.stderr == b"no room\n":
        pytest.skip("this machine allows a process fewer than 1,200 open files")
    assert json.loads(done.stdout)["id"] == "start", done.stderr
