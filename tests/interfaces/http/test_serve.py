"""``engram serve`` as a process: where it listens, who may reach it, and how it ends."""

from __future__ import annotations

import contextlib
import http.client
import os
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from engram_py.base.errors import ServeError
from engram_py.interfaces.http.errors import AddressInUseError, AddressUnusableError
from engram_py.interfaces.http.server import listen, refuse_open_address
from tests import forked
from tests.flooding import LINUX, check_flood, scarce
from tests.interfaces.http.asking import Reply, Running, serving, serving_many
from tests.support import raising

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="signals and unix sockets are POSIX")


@pytest.fixture
def socket_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a path short enough for a socket in it."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="eg", dir="/tmp") as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server for tests that only send it something."""
    with serving_many(tmp_path_factory.mktemp("shared")) as server:
        yield server


def refused(folder: Path, *arguments: str, **environment: str) -> str:
    """What a server that must not start says."""
    code, stdout, stderr = forked.run(["serve", *arguments], stdin=b"", cwd=folder, environ=environment)
    said = stderr.decode()
    assert (code, stdout) == (1, b"")
    assert said.startswith("engram: ")
    assert "hint: " in said
    return said.removeprefix("engram: ").partition(":")[0]


@pytest.mark.skipif(sys.platform == "darwin", reason="127.0.0.2 is not set up there")
def test_another_address_of_this_machine_is_answered_by_its_name(folder: Path) -> None:
    with (
        serving(folder, "--host", "127.0.0.2", "0") as server,
        contextlib.closing(http.client.HTTPConnection("127.0.0.2", server.port, timeout=60)) as connection,
    ):
        connection.request("GET", "/health")
        assert connection.getresponse().status == 200


def ask_socket(path: Path, target: str) -> bytes:
    with socket.socket(socket.AF_UNIX) as asked:
        asked.settimeout(60)
        asked.connect(str(path))
        asked.sendall(f"GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        answer = b""
        while piece := asked.recv(65_536):
            answer += piece
        return answer


def rows(data_dir: Path) -> set[int]:
    connection = sqlite3.connect(data_dir / "engram.db")
    try:
        return {row[0] for row in connection.execute("select id from observations")}
    finally:
        connection.close()


def test_it_serves_this_machine_says_where_and_ends_when_told(folder: Path, data_dir: Path) -> None:
    with serving(folder) as server:
        assert server.ask("GET", "/health").value["status"] == "ok"
        assert (
            server.ask("POST", "/observations", {"title": "Chose uv", "content": "Fast."}).value["project"] == "widgets"
        )
        assert server.end() == (0, "")
    assert rows(data_dir) == {1}
    assert [path.name for path in data_dir.iterdir() if path.name.startswith("engram.db")] == ["engram.db"]


@POSIX
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_nothing_acknowledged_is_lost_when_a_signal_comes(folder: Path, data_dir: Path, number: signal.Signals) -> None:
    with serving(folder) as server:
        acknowledged: list[int] = []
        some = threading.Event()

        def save(name: str) -> None:
            for count in range(10_000):
                try:
                    reply = server.ask(
                        "POST", "/observations", {"title": f"{name} {count}", "content": f"{name}-{count}."}
                    )
                except OSError:
                    return
                assert reply.status == 201
                acknowledged.append(reply.value["id"])
                if len(acknowledged) > 20:
                    some.set()

        threads = [threading.Thread(target=save, args=(name,)) for name in ("Ada", "Bob", "Cid")]
        for thread in threads:
            thread.start()
        assert some.wait(60)
        server.process.send_signal(number)
        for thread in threads:
            thread.join(60)
        assert server.end() == (0, "")
    assert len(acknowledged) > 20
    assert set(acknowledged) <= rows(data_dir)


@POSIX
def test_a_request_that_waits_for_another_process_does_not_keep_the_server_alive(folder: Path, data_dir: Path) -> None:
    with serving(folder) as server:
        server.ask("POST", "/observations", {"title": "Chose uv", "content": "Fast."})
        other = sqlite3.connect(data_dir / "engram.db", isolation_level=None)
        other.execute("begin immediate")
        try:
            sent = threading.Event()

            answers: list[bytes] = []

            def save() -> None:
                body = b'{"title": "Chose ruff", "content": "Fast too."}'
                head = f"POST /observations HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
                head += f"Authorization: {server.secret['authorization']}\r\n"
                with socket.create_connection(("127.0.0.1", server.port)) as asked:
                    asked.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
                    sent.set()
                    with contextlib.suppress(OSError):
                        answers.append(asked.recv(100))

            thread = threading.Thread(target=save)
            thread.start()
            assert sent.wait(60)
            # It asks for the lock for half a minute; the server is gone before.
            code, _ = server.end()
            assert code == 0
            thread.join(60)
            assert all(b" 201 " not in answer for answer in answers)
        finally:
            other.execute("rollback")
            other.close()
    assert rows(data_dir) == {1}


def test_a_port_that_is_taken_is_refused_and_the_memory_left_alone(folder: Path, data_dir: Path) -> None:
    with serving(folder) as server:
        assert refused(folder, str(server.port)) == "address_in_use"
        assert server.ask("GET", "/health").status == 200


def test_other_machines_are_served_only_with_a_token(folder: Path) -> None:
    assert refused(folder, "0", "--host", "0.0.0.0") == "token_required"
    for host in ("::", "", "example.org", "127.0.0.1.example.org"):
        with raising(ServeError, "token_required"):
            refuse_open_address(host, token="")
    for host in ("127.0.0.1", "127.8.8.8", "::1", "Localhost"):
        refuse_open_address(host, token="")
    with serving(folder, "0", "--host", "0.0.0.0", ENGRAM_HTTP_TOKEN="swordfish") as server:
        bearer = {"authorization": "Bearer swordfish"}
        assert server.ask_as({}, "GET", "/stats").code == "unauthorized"
        assert server.ask_as(bearer, "GET", "/stats", headers={"Host": "engram.local"}).status == 200
        assert server.ask("GET", "/health", headers={"Host": "engram.local"}).status == 200
        assert "swordfish" not in server.said + "".join(server.end()[1])


AS_ANOTHER = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0 or shutil.which("curl") is None, reason="needs root, to be another"
)
SAVE = ["-X", "POST", "-H", "Content-Type: application/json", "-d", '{"title": "Tea", "content": "Second shelf."}']


def status_for(server: Running, user: int, path: str, *words: str) -> str:
    """What an account that shows no secret is answered."""
    command = ["curl", "-s", "-o", os.devnull, "-w", "%{http_code}", *words, f"http://127.0.0.1:{server.port}{path}"]
    done = subprocess.run(command, user=user, group=user, extra_groups=[], cwd="/", capture_output=True, check=True)
    return done.stdout.decode()


@AS_ANOTHER
def test_another_account_of_this_machine_is_given_nothing_and_this_ones_plugins_what_they_ask(folder: Path) -> None:
    with serving(folder) as server:
        another = [status_for(server, 65534, path) for path in ("/health", "/context", "/mcp", "/ui/", "/search?q=tea")]
        assert [*another, status_for(server, 65534, "/observations", *SAVE)] == ["401"] * 6
        assert status_for(server, 0, "/observations", *SAVE) == "201"
        assert [status_for(server, 0, path) for path in ("/health", "/context", "/export", "/mcp", "/ui/")] == [
            *["200"] * 2,
            *["401"] * 3,
        ]
        assert server.end() == (0, "")


@AS_ANOTHER
def test_a_server_that_was_opened_says_so_and_answers_other_accounts_as_it_does_plugins(folder: Path) -> None:
    with serving(folder, ENGRAM_HTTP_OPEN="1") as server:
        assert status_for(server, 65534, "/observations", *SAVE) == "201"
        asked = ("/context", "/export", "/identity", "/memory/file", "/mcp")
        assert [status_for(server, 65534, path) for path in asked] == ["200", *["401"] * 4]
        assert status_for(server, 65534, "/observations/1?hard=true", "-X", "DELETE") == "401"
        assert status_for(server, 65534, "/context", "-H", "Origin: http://localhost:5173") == "401"
        assert "every account of this machine" in server.said


def test_the_token_is_printed_for_whoever_writes_a_script(folder: Path) -> None:
    with serving(folder) as server:
        command = [sys.executable, "-m", "engram_py", "serve", "--token"]
        token = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.strip()
        assert server.ask_as({"authorization": f"Bearer {token}"}, "GET", "/export?all_projects=1").status == 200


@pytest.mark.parametrize("host", ["192.0.2.7", "no such host", "a\0b", "\ud800", "x" * 300])
def test_a_host_that_is_none_of_this_machines_is_refused(host: str) -> None:
    with pytest.raises(AddressUnusableError), listen(host, 0, None):
        pass


def test_the_port_and_the_project_come_from_the_environment(folder: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with serving(folder, "--project", "gadgets", ENGRAM_PORT=str(port)) as server:
        assert server.port == port
        assert server.ask("GET", "/project/current").value["project"] == "gadgets"


@POSIX
def test_a_socket_is_its_owners_alone_and_gone_afterwards(folder: Path, socket_folder: Path) -> None:
    path = socket_folder / "engram.sock"
    with serving(folder, "--socket", str(path)) as server:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert b'"status":"ok"' in ask_socket(path, "/health")
        assert refused(folder, "--socket", str(path)) == "address_in_use"
        assert refused(folder, ENGRAM_SOCKET=str(path)) == "address_in_use"
        assert b'"status":"ok"' in ask_socket(path, "/health")
        assert server.end() == (0, "")
    assert not path.exists()


@POSIX
def test_a_socket_that_a_killed_server_left_is_replaced(folder: Path, socket_folder: Path) -> None:
    path = socket_folder / "engram.sock"
    with serving(folder, "--socket", str(path)) as server:
        server.process.kill()
        server.process.wait()
    assert stat.S_ISSOCK(path.lstat().st_mode)
    with serving(folder, "--socket", str(path)):
        assert b'"status":"ok"' in ask_socket(path, "/health")


@POSIX
def test_what_is_no_socket_of_ours_is_never_replaced(socket_folder: Path) -> None:
    file, link = socket_folder / "notes.txt", socket_folder / "link"
    file.write_text("precious")
    link.symlink_to(file)
    with socket.socket(socket.AF_UNIX) as foreign:
        foreign.bind(str(socket_folder / "foreign"))
        foreign.listen()
        with pytest.raises(AddressInUseError), listen("", 0, socket_folder / "foreign"):
            pass
    unusable = [file, link, socket_folder, socket_folder / "no" / "folder", socket_folder / ("x" * 150)]
    for path in [*unusable, socket_folder / "a\0b"]:
        with pytest.raises(AddressUnusableError), listen("", 0, path):
            pass
    assert file.read_text() == "precious"


def test_a_database_that_cannot_be_opened_ends_the_start_with_the_reason(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    assert refused(folder, "0", ENGRAM_DATA_DIR=str(file)) == "data_dir_unusable"
    assert refused(folder, "0", "--tools", "everything") == "unknown_tool"


def raw(server: Running, sent: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as asked:
        asked.sendall(sent)
        answer = b""
        while piece := asked.recv(65_536):
            answer += piece
        return answer


def test_a_body_without_a_length_is_read(shared: Running) -> None:
    head = f"POST /observations HTTP/1.1\r\nHost: 127.0.0.1:{shared.port}\r\nConnection: close\r\n".encode()
    head += f"Authorization: {shared.secret['authorization']}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    body = b'{"title": "Chose uv", "content": "Fast."}'
    chunk = f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n"
    assert raw(shared, head + chunk).startswith(b"HTTP/1.1 201")


def test_head_answers_as_get_without_a_body(shared: Running) -> None:
    head = raw(
        shared,
        f"HEAD /health HTTP/1.1\r\nHost: 127.0.0.1:{shared.port}\r\nConnection: close\r\n"
        f"Authorization: {shared.secret['authorization']}\r\n\r\n".encode(),
    )
    get = shared.ask("GET", "/health")
    assert head.startswith(b"HTTP/1.1 200")
    assert head.endswith(b"\r\n\r\n")
    assert f"content-length: {len(get.body)}\r\n".encode() in head


NO_HTTP = {
    "bytes": b"\x00\x01\x02\r\n\r\n",
    "http-0.9": b"GET /health\r\n\r\n",
    "no-host": b"GET /health HTTP/1.1\r\n\r\n",
    "absolute": b"GET http://evil/ HTTP/1.1\r\nHost: evil\r\n\r\n",
    "two-hosts": b"GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "long-line": b"GET /" + b"x" * 200_000 + b" HTTP/1.1\r\n\r\n",
    "negative-length": b"POST /observations HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
}


@pytest.mark.parametrize("sent", NO_HTTP.values(), ids=NO_HTTP.keys())
def test_what_is_no_http_is_refused_and_the_server_lives_on(shared: Running, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", shared.port), timeout=60) as asked:
        answer = b""
        with contextlib.suppress(OSError):  # it may have closed the connection already, with some of this unread
            asked.sendall(sent)
            asked.shutdown(socket.SHUT_WR)
            answer = asked.recv(65_536)
    assert answer[:10] in (b"HTTP/1.1 4", b""), answer
    assert shared.ask("GET", "/health").status == 200


def test_two_servers_and_a_command_share_one_memory(folder: Path) -> None:
    with serving(folder) as one, serving(folder) as other:
        for number in range(20):
            for server in (one, other):
                body = {"title": f"{server.port} {number}", "content": f"Body {server.port}-{number}."}
                assert server.ask("POST", "/observations", body).status == 201
        found: list[Reply] = [server.ask("GET", "/stats") for server in (one, other)]
        assert [reply.value["total_observations"] for reply in found] == [40, 40]
        assert one.ask("GET", "/health").value == other.ask("GET", "/health").value


@LINUX
def test_a_flood_of_connections_leaves_the_server_its_descriptors_and_the_log_a_line(
    folder: Path, tmp_path: Path
) -> None:
    with scarce(tmp_path / "log", ["serve", "0"], dict(os.environ), folder) as server:
        check_flood(server, "/health")
