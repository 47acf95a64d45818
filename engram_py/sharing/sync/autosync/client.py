"""A server as an exchange sees it: bounded requests, its answers as checked models, and what goes with them.

The token goes to that server's address only. What answers may be another program, or a proxy.
"""

from __future__ import annotations

import gzip
import json
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar
from urllib.parse import urlsplit

import httpx
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, StrictInt, ValidationError

from engram_py.base.database.mutation_queue import Journal
from engram_py.base.database.store import Row, Store
from engram_py.base.dataclass import dataclass, field
from engram_py.base.settings import is_loopback
from engram_py.sharing.sync.autosync import table
from engram_py.sharing.sync.autosync.table import TARGET, CloudSynced
from engram_py.sharing.sync.errors import CloudFailedError
from engram_py.sharing.sync.mutation import Mutation

if TYPE_CHECKING:
    from engram_py.sharing.sync.replica.replica import Replica

CONNECT_SECONDS, READ_SECONDS = 5.0, 30.0
# A server that drips bytes never exceeds the read timeout, so the whole request is limited too.
WHOLE_SECONDS = 120.0
MOST_BYTES = 32 * 2**20
_MOST_SAID_BYTES = 64 * 1024
_COMPRESSED_FROM = 1_000
_LONGEST_PAUSE = 3_600.0

Asked = list[tuple[str, str | int | float | bool | None]]

_broken = partial(CloudFailedError, "transport_failed")


class CloudClient:
    """An HTTP connection to one server with one token. Every method raises CloudFailedError."""

    def __init__(self, server: str, token: str, *, whole_seconds: float = WHOLE_SECONDS) -> None:
        self.server = server
        self._whole = whole_seconds
        read = min(READ_SECONDS, whole_seconds)
        # Requests to this machine do not go through a proxy.
        near = is_loopback(urlsplit(server).hostname or "")
        self._http = httpx.Client(
            timeout=httpx.Timeout(read, connect=min(CONNECT_SECONDS, whole_seconds)),
            follow_redirects=False,
            trust_env=not near,
            verify=server.startswith("https:"),  # without TLS there is nothing to load certificates for
            headers={
                "Authorization": f"Bearer {token}",
                "User-Agent": "engram_py",
                "Accept": "application/json",
                "Accept-Encoding": "gzip",
            },
        )

    def close(self) -> None:
        self._http.close()

    def whoami(self) -> TokenAccount:
        return _parsed(TokenAccount, self._ask("GET", "/whoami")[0])

    def listing(self) -> ServerListing:
        """Return the projects that the token may see."""
        try:
            value = self._ask("GET", "/sync/projects")[0]
        except CloudFailedError as failure:
            if failure.kind == "no_such_route":  # Engram's server does not tell
                return ServerListing()
            raise
        projects = _parsed(_Projects, value).projects
        return _parsed(ServerListing, value | {"grants": {one.name: one for one in projects}})

    def push(self, entries: Sequence[dict[str, Any]], *, device: str) -> PushReply:
        """Return what became of each entry; an answer that does not say so exactly once is refused."""
        value = self._ask("POST", "/sync/mutations/push", body={"entries": list(entries), "device": device})[0]
        each = list(range(len(entries)))
        seqs = value.get("accepted_seqs") if isinstance(value, dict) and "accepted" not in value else None
        if isinstance(seqs, list) and len(seqs) == len(each):  # Engram's server: all or nothing
            value = {**value, "accepted": each}
        answer = _parsed(PushReply, value)
        if sorted([*answer.accepted, *answer.unchanged, *(one.index for one in answer.rejected)]) != each:
            raise _invalid_answer("it does not answer each entry exactly once")
        return answer

    def pull(self, *, since: int, projects: Sequence[str], limit: int) -> LogPage:
        asked: Asked = [("since_seq", since), ("limit", limit), *(("project", name) for name in projects)]
        value, size = self._ask("GET", "/sync/mutations/pull", asked=asked)
        found = _parsed(LogPage, value).model_copy(update={"size": size})
        positions = [since, *(position for position, _ in found.entries)]
        if any(later <= earlier for earlier, later in pairwise(positions)):
            raise _invalid_answer("its entries are not in order")
        if found.more and not found.entries:
            raise _invalid_answer("it says that there is more, and gives nothing")
        return found

    # --- one request ------------------------------------------------------------------------------------

    def _ask(
        self, method: str, path: str, *, asked: Asked | None = None, body: dict[str, Any] | None = None
    ) -> tuple[Any, int]:
        headers, content = {}, b""
        if body is not None:
            headers["Content-Type"] = "application/json"
            content = json.dumps(body, separators=(",", ":")).encode()
            if len(content) >= _COMPRESSED_FROM:
                headers["Content-Encoding"] = "gzip"
                content = gzip.compress(content, 5)
        deadline = time.monotonic() + self._whole
        sent = content if body is not None else None
        try:
            with self._http.stream(method, self.server + path, params=asked, content=sent, headers=headers) as response:
                if response.status_code != httpx.codes.OK:
                    said = _read(response, deadline, most=_MOST_SAID_BYTES, cut=True)
                    raise _refusal(response, said, self.server)
                answer = _read(response, deadline, most=MOST_BYTES)
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, ssl.SSLError, OSError) as exc:
            raise _unreachable(exc, self.server) from exc
        return _json(answer, response), len(answer)


def _read(response: httpx.Response, deadline: float, *, most: int, cut: bool = False) -> bytes:
    """Return the decompressed body; with ``cut`` its first ``most`` bytes, else CloudFailedError when it is longer."""
    coding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if coding not in ("identity", "gzip", ""):
        raise _broken(f"the server answers in an encoding that was not asked for: {coding[:20]!r}")
    unpack = zlib.decompressobj(31) if coding == "gzip" else None
    parts: list[bytes] = []
    size = 0
    for raw in response.iter_raw():
        if time.monotonic() > deadline:
            raise _broken("the answer did not come to an end in time")
        try:
            part = raw if unpack is None else unpack.decompress(raw, most - size + 1)
        except zlib.error as exc:
            raise _broken("the answer is not whole: its compression is broken") from exc
        size += len(part)
        if size > most:
            if cut:
                return b"".join([*parts, part])[:most]
            raise _broken(f"the answer is longer than {most:,} bytes", kind="answer_too_long")
        parts.append(part)
    if unpack is not None and not unpack.eof and not cut:
        raise _broken("the answer broke off")
    return b"".join(parts)


def _json(answer: bytes, response: httpx.Response) -> Any:
    try:
        return json.loads(answer)
    except (ValueError, RecursionError) as exc:
        kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if not answer.strip():
            raise _broken("the server answered with nothing") from exc
        if kind == "text/html" or answer.lstrip()[:1] == b"<":
            message = "the answer is a web page: a proxy or a sign-in page stands before the server"
            raise _broken(message) from exc
        raise _broken("the answer is not JSON, or broke off") from exc


def _unreachable(exc: Exception, server: str) -> CloudFailedError:
    if isinstance(exc, httpx.TimeoutException):
        what = "does not take the connection in time" if isinstance(exc, httpx.ConnectTimeout) else "does not answer"
        return _broken(f"{server} {what}")
    said = one_line(str(exc))
    if "CERTIFICATE_VERIFY_FAILED" in said:
        return _broken(f"the certificate of {server} is not one that this machine trusts: {said}")
    if isinstance(exc, httpx.ConnectError):
        return _broken(f"{server} cannot be reached: {said}")
    if isinstance(exc, httpx.ProxyError):
        return _broken(f"the proxy on the way to {server} refuses: {said}")
    return _broken(f"the exchange with {server} broke off: {said or type(exc).__name__}")


def _refusal(response: httpx.Response, body: bytes, server: str) -> CloudFailedError:
    """Return the failure for a status other than 200."""
    status = response.status_code
    said = _refusal_message(body)
    tail = f": {said}" if said else ""
    if 300 <= status < 400:
        place = one_line(response.headers.get("Location", ""))
        message = f"{server} sends us elsewhere ({place or 'nowhere'}); the token is not sent there"
        return CloudFailedError("cloud_config_error", message)
    match status:
        case 401:
            return CloudFailedError("auth_required", f"the server does not take the token{tail}")
        case 403:
            return CloudFailedError("policy_forbidden", f"the server does not allow it{tail}")
        case 409:
            return CloudFailedError("paused", f"the server has paused it{tail}")
        case 400 | 422:
            message = f"the server does not understand the request{tail}"
            return CloudFailedError("server_unsupported", message, kind="bad_request")
        case 413:
            return CloudFailedError("too_large", f"the server takes no body of that size{tail}", kind="too_large")
        case 404 | 405 | 410 | 415 | 426 | 501:
            message = f"{server} has no such route, so it is no sync server, or an older one (status {status})"
            return CloudFailedError("server_unsupported", message, kind="no_such_route")
        case 429 | 503:
            message = f"the server asks to wait (status {status}){tail}"
            return _broken(message, retry_after=_retry_after(response))
    return _broken(f"the server failed (status {status}){tail}", kind="server_error")


def _refusal_message(body: bytes) -> str:
    """Return the message of a JSON refusal, '' for anything else."""
    try:
        error = json.loads(body).get("error")
    except (ValueError, RecursionError, AttributeError):
        return ""
    said = error.get("message") if isinstance(error, dict) else error
    return one_line(said) if isinstance(said, str) else ""


def _retry_after(response: httpx.Response) -> float | None:
    """Return the seconds of ``Retry-After``, None for a date or nonsense."""
    text = response.headers.get("Retry-After", "").strip()
    return min(float(text), _LONGEST_PAUSE) if text.isascii() and text.isdecimal() and len(text) < 10 else None


# --- its answers ------------------------------------------------------------------------------------------

UNKNOWN_SEQ = -1
_SHOWN = 200
_MOST_PROJECTS = 20_000


def one_line(text: object) -> str:
    """Return one short printable line, which cannot move a terminal's cursor; '' for what is no text."""
    line = " ".join(text.split()) if isinstance(text, str) else ""
    return "".join(char for char in line if char.isprintable())[:_SHOWN]


def _account_name(principal: object) -> object:
    return principal.get("display_name") or principal.get("name") if isinstance(principal, dict) else principal


Line = Annotated[str, BeforeValidator(one_line)]
# Below SQLite's largest integer, with room to count on.
Seq = Annotated[StrictInt, Field(ge=0, le=2**62)]
# A position in the log, and the entry that has it.
Entry = Annotated[
    tuple[Seq, dict[str, Any]],
    BeforeValidator(lambda entry: (entry.get("seq"), entry) if isinstance(entry, dict) else entry),
]


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class TokenAccount(_Answer):
    """The account that a token belongs to."""

    principal: Annotated[Line, BeforeValidator(_account_name), Field(min_length=1)]
    role: Line = ""
    token_expires_at: Annotated[str | None, BeforeValidator(lambda at: at if isinstance(at, str) else None)] = None


class Grant(_Answer):
    """A project as the server lists it for this token."""

    name: str
    access: Literal["read", "write"]
    paused: Annotated[bool, BeforeValidator(lambda value: value is True)] = False
    latest_seq: Seq = UNKNOWN_SEQ
    paused_reason: Line = ""


class ServerListing(_Answer):
    """The projects that the token may see, None when the server does not list them. ``instance`` names its database.

    ``every`` is what the token may do in any project, those that are not there yet included; empty when nothing.
    """

    grants: dict[str, Grant] | None = None
    instance: Line = ""
    every: Line = ""

    def may_write(self, name: str) -> bool:
        """Return whether it is sure that the token may."""
        grant = (self.grants or {}).get(name)
        return self.every == "write" or (grant is not None and grant.access == "write")


class _Projects(_Answer):
    projects: Annotated[list[Grant], Field(max_length=_MOST_PROJECTS)]


class RejectedEntry(_Answer):
    index: StrictInt
    reason_code: Line = ""
    reason: Line = ""
    repairable: Annotated[bool, BeforeValidator(lambda value: value is True)] = False


class PushReply(_Answer):
    """The answer to a push: indexes into the entries sent. ``accepted_seqs`` are the log positions of ``accepted``.

    ``previous`` is the end of each project's log before the push, if the server reports it.
    """

    accepted: list[StrictInt]
    unchanged: list[StrictInt] = []
    rejected: list[RejectedEntry] = []
    accepted_seqs: list[Seq] = []
    previous: dict[str, Seq] = {}


class LogPage(_Answer):
    """A page of the log. ``size`` is the number of bytes it came in."""

    entries: list[Entry] = Field(validation_alias="mutations")
    more: StrictBool = Field(validation_alias="has_more")
    latest_seq: Seq
    size: int = 0

    @property
    def upto(self) -> int:
        """The next cursor."""
        last = self.entries[-1][0] if self.entries else 0
        return last if self.more else max(self.latest_seq, last)


_Model = TypeVar("_Model", bound=_Answer)


def _parsed(model: type[_Model], value: Any) -> _Model:
    try:
        return model.model_validate(value)
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_input=False)[0]
        raise _invalid_answer(f"{'.'.join(map(str, first['loc']))[:_SHOWN]}: {first['msg']}") from exc


def _invalid_answer(flaw: str) -> CloudFailedError:
    return CloudFailedError("transport_failed", f"the server's answer is not one of a sync server: {flaw}")


# --- the context of one exchange --------------------------------------------------------------------------

# (what is done, how much of it, of how much)
Progress = Callable[[str, int, int], None]

# The longest turn of one direction before the other gets its own.
TURN_SECONDS = 30.0
_RENEW_SECONDS = 15.0
# The most unreadable rows that are recorded: a server can send them without end.
_MOST_ASIDE = 10_000


class Stopped(Exception):
    """The process ends, or lost the lease; what was not acknowledged is exchanged by the next one."""


@dataclass(slots=True)
class Channel:
    """The context of an exchange with one server, under the lease that ``renew`` extends while it is still held."""

    store: Store
    journal: Journal
    replica: Replica
    client: CloudClient
    renew: Callable[[], bool]
    stopped: threading.Event
    result: CloudSynced
    progress: Progress | None = None
    notices: list[str] = field(default_factory=list)
    _renewed: float = field(default_factory=time.monotonic)

    @property
    def server(self) -> str:
        return self.client.server

    def checkpoint(self) -> None:
        """Renew the lease when it is due; called before every request. Raises Stopped."""
        late = time.monotonic() - self._renewed > _RENEW_SECONDS
        if self.stopped.is_set() or (late and not self.renew()):
            raise Stopped
        if late:
            self._renewed = time.monotonic()

    @property
    def device(self) -> str:
        """The name of this device, made when it is first asked for."""
        with self.store.transaction():
            return self.journal.device()

    def projects(self) -> list[Row]:
        """Return the enrolled projects with their cursors."""
        return table.projects(self.store, self.server)

    def report(self, what: str, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress(what, done, total)

    def is_new_database(self, instance: str) -> bool:
        """Return whether the server has another database than at the last exchange, and remember the present one."""
        row = table.state(self.store, TARGET)
        known = row["instance"] if row is not None else ""
        if known != instance:
            with self.store.transaction():
                table.set_state(self.store, TARGET, instance=instance)
        return bool(known) and known != instance

    def aside(self, direction: str, mutation: Mutation, *, code: str, reason: str, repairable: bool) -> dict[str, Any]:
        """Return a row for ``sync_set_aside``."""
        return {
            "server": self.server,
            "direction": direction,
            "entity": mutation.entity,
            "entity_key": mutation.entity_key,
            "project": mutation.project,
            "remote_seq": mutation.seq if direction == "pull" else 0,
            "reason_code": code[:60],
            "reason": reason[:500],
            "repairable": int(repairable),
        }

    def commit(
        self,
        direction: str,
        projects: Iterable[str] = (),
        cursors: Mapping[str, int | str] | None = None,
        *,
        aside: Sequence[Mapping[str, Any]] = (),
        taken: Sequence[tuple[str, str]] = (),
    ) -> None:
        """Store the cursors of ``projects`` in one transaction with the rows that were set aside or accepted."""
        self.result.set_aside += len(aside)
        if aside and direction == "pull":
            aside = aside[: max(0, _MOST_ASIDE - table.count_set_aside(self.store, self.server, "pull"))]
        with self.store.transaction():
            table.set_projects(self.store, self.server, projects if cursors else (), **cursors or {})
            table.clear_set_aside(self.store, self.server, direction, taken)
            for row in aside:
                self.store.execute(table.ADD_SET_ASIDE, **row, now=self.journal.now())
