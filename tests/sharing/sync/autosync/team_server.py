"""A sync server of the test: it keeps the contract, and breaks it in whatever way it is told to."""

from __future__ import annotations

import gzip
import json
import socket
import ssl
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from engram_py.sharing.sync.mutation import clock_of, fingerprint

TOKEN = "engram_" + "t" * 43

# Answers a request in the server's place; returns nothing. False: the server answers as it would have.
Trick = Callable[["Request"], bool | None]
Key = tuple[str, str, str]


@dataclass
class Row:
    seq: int
    entry: dict[str, Any]


@dataclass
class TeamServer:
    """``log`` is what a client sent, each row once, by (project, entity, key)."""

    address: str = ""
    log: dict[Key, Row] = field(default_factory=dict)
    seq: int = 0
    tokens: set[str] = field(default_factory=lambda: {TOKEN})
    grants: dict[str, str] = field(default_factory=dict)
    paused: set[str] = field(default_factory=set)
    hidden: set[str] = field(default_factory=set)  # granted, and not listed before something is there
    every: str = ""  # what the token may do in any project; empty: the server does not say
    pauses: dict[str, str] = field(default_factory=dict)  # the reason of a pause, by project, as the listing tells it
    instance: str = "first"
    most_bytes: int = 8 * 2**20
    reject: dict[str, str] = field(default_factory=dict)  # entity key → reason code
    asked: list[tuple[str, str]] = field(default_factory=list)
    bodies: list[Any] = field(default_factory=list)
    seen_tokens: set[str] = field(default_factory=set)
    tricks: list[tuple[str, Trick]] = field(default_factory=list)
    always: dict[str, Trick] = field(default_factory=dict)  # the same for every request whose path contains the key
    lock: threading.RLock = field(default_factory=threading.RLock)

    def play(self, part: str, *tricks: Trick) -> None:
        """The next requests whose path contains ``part`` meet with these, one each."""
        self.tricks += [(part, trick) for trick in tricks]

    def counts(self) -> Counter[str]:
        return Counter(path for _, path in self.asked)

    def keys(self, project: str = "widgets", entity: str = "observation") -> list[str]:
        return sorted(key for name, kind, key in self.log if (name, kind) == (project, entity))

    def add(self, entry: dict[str, Any]) -> int:
        with self.lock:
            self.seq += 1
            key = (entry["project"], entry["entity"], entry["entity_key"])
            self.log[key] = Row(self.seq, entry)
            return self.seq

    def replaced(self) -> None:
        """Another, empty database, as after a restore of nothing."""
        self.log.clear()
        self.seq, self.instance = 0, f"after {self.instance}"

    def latest(self, project: str) -> int:
        return max((row.seq for (name, _, _), row in self.log.items() if name == project), default=0)

    # --- the routes -------------------------------------------------------------------------------------

    def push(self, request: Request) -> None:
        body = request.json
        if len(request.plain) > self.most_bytes:
            request.refuse(413, "push_too_large", f"the push has more than {self.most_bytes:,} bytes")
            return
        entries = body["entries"]
        self.bodies.append(entries)
        accepted, seqs, unchanged, rejected = [], [], [], []
        previous = {one["project"]: self.latest(one["project"]) for one in entries}
        refused = [self.refusal(one) for one in entries]
        if entries and all(code == "policy_forbidden" for code in refused):
            request.refuse(403, "policy_forbidden", "this account may not write to it")
            return
        if entries and all(code == "sync-paused" for code in refused):
            request.refuse(409, "sync-paused", "it is paused")
            return
        for index, (one, code) in enumerate(zip(entries, refused, strict=True)):
            key = (one["project"], one["entity"], one["entity_key"])
            if code:
                reason = {"index": index, "entity": key[1], "entity_key": key[2], "reason_code": code}
                rejected.append({**reason, "reason": f"{code}, says the server", "repairable": True})
            elif key in self.log and _age(self.log[key].entry) >= _age(one):
                unchanged.append(index)
            else:
                accepted.append(index)
                seqs.append(self.add(one))
        told = {"accepted_seqs": seqs, "accepted": accepted, "unchanged": unchanged, "rejected": rejected}
        request.answer({**told, "project": "", "latest_seq": self.seq, "previous": previous})

    def refusal(self, entry: dict[str, Any]) -> str:
        if self.grants.get(entry["project"], self.every) != "write":
            return "policy_forbidden"
        if entry["project"] in self.paused:
            return "sync-paused"
        return self.reject.get(entry["entity_key"], "")

    def pull(self, request: Request) -> None:
        since, limit = int(request.query["since_seq"][0]), int(request.query["limit"][0])
        asked = [name for name in request.query.get("project", []) if name in self._granted()]
        if not asked:
            request.refuse(403, "policy_forbidden", "this account may not read it")
            return
        rows = sorted(
            (row for (name, _, _), row in self.log.items() if name in asked and row.seq > since),
            key=lambda row: row.seq,
        )
        page, more = rows[:limit], len(rows) > limit
        latest = page[-1].seq if more else max((self.latest(name) for name in asked), default=0)
        told = [{**row.entry, "seq": row.seq} for row in page]
        request.answer({"mutations": told, "has_more": more, "latest_seq": latest})

    def projects(self, request: Request) -> None:
        listed = [
            {"name": name, "access": access, "paused": name in self.paused, "latest_seq": self.latest(name)}
            | ({"paused_reason": self.pauses[name]} if name in self.pauses else {})
            for name, access in self._granted().items()
            if name not in self.hidden or self.latest(name)
        ]
        every = {"every": self.every} if self.every else {}
        request.answer({"projects": listed, "instance": self.instance, **every})

    def _granted(self) -> dict[str, str]:
        everywhere = {name: self.every for name, _, _ in self.log} if self.every else {}
        return everywhere | self.grants

    def whoami(self, request: Request) -> None:
        request.answer({"principal": "ada", "role": "member", "token_expires_at": None, "instance": self.instance})


class Request(BaseHTTPRequestHandler):
    """One request, and the ways to answer it."""

    server: Any
    protocol_version = "HTTP/1.1"
    query: dict[str, list[str]]
    plain: bytes = b""
    json: Any = None

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def log_message(self, format: str, *args: object) -> None:
        pass

    @property
    def team(self) -> TeamServer:
        team: TeamServer = self.server.team
        return team

    def answer(self, value: Any, status: int = 200, **headers: str) -> None:
        self.raw(json.dumps(value).encode(), status, **{"Content-Type": "application/json", **headers})

    def refuse(self, status: int, code: str, message: str, **headers: str) -> None:
        self.answer({"error": {"code": code, "message": message, "hint": ""}}, status, **headers)

    def raw(self, body: bytes, status: int = 200, **headers: str) -> None:
        given = {name.replace("_", "-").lower() for name in headers}
        if "content-encoding" not in given and "gzip" in self.headers.get("Accept-Encoding", "") and len(body) > 500:
            body, headers["Content-Encoding"] = gzip.compress(body), "gzip"
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if "content-length" not in given:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _serve(self) -> None:
        parts = urlsplit(self.path)
        self.query = parse_qs(parts.query)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        team = self.team
        with team.lock:
            team.asked.append((self.command, parts.path))
            token = self.headers.get("Authorization", "").removeprefix("Bearer ")
            team.seen_tokens.add(token)
            self.plain = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
            self.json = json.loads(self.plain) if self.plain else None
            trick = next((one for one in team.tricks if one[0] in parts.path), None)
            if trick is not None:
                team.tricks.remove(trick)
            else:
                trick = next((one for one in team.always.items() if one[0] in parts.path), None)
        if trick is not None and trick[1](self) is not False:
            return
        with team.lock:
            if token not in team.tokens:
                self.refuse(401, "auth_required", "a token this server does not know")
                return
            routes = {
                "/sync/mutations/push": team.push,
                "/sync/mutations/pull": team.pull,
                "/sync/projects": team.projects,
                "/whoami": team.whoami,
            }
            routes[parts.path](self)


class _Threads(ThreadingHTTPServer):
    daemon_threads = True
    team: TeamServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # a client that hangs up is one of the things tried here


@contextmanager
def team_server(tls: Path | None = None, **fields: Any) -> Iterator[TeamServer]:
    server = _Threads(("127.0.0.1", 0), Request)
    if tls is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tls)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    server.team = TeamServer(f"http{'s' if tls else ''}://127.0.0.1:{server.server_port}", **fields)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server.team
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _age(entry: dict[str, Any]) -> tuple[str, str]:
    return clock_of(entry["payload"], entry["occurred_at"]), fingerprint(entry["payload"])
