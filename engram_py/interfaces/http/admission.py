"""Who asks, and what they may reach: one decision for the routes, the page and the MCP endpoint.

An owner shows the secret of the data directory, or came through a unix socket that is theirs alone. A visitor is a
browser that the one-time link let in. A program shows nothing: it is taken where the kernel says that its connection is
this user's (or the user opened the server), for what Engram's own plugins ask, and never for what is personal. Whoever
else connects is a stranger.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from contextvars import ContextVar
from enum import Enum
from typing import Any
from urllib.parse import urlsplit

from engram_py.app import Engram
from engram_py.base.dataclass import asdict, dataclass
from engram_py.base.errors import InvalidTopicKeyError
from engram_py.base.text.normalize import normalize_topic_key
from engram_py.interfaces.http.errors import HttpError, UnauthorizedError
from engram_py.interfaces.http.routing import Route

MCP, PAGE, ENTRANCE, ASSETS = "/mcp", "/ui", "/ui/enter", "/ui/static"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
_READS = ("GET", "HEAD")


class Asker(Enum):
    """The sender of a request, by the secret that it showed."""

    STRANGER = "stranger"
    PROGRAM = "program"
    VISITOR = "visitor"
    OWNER = "owner"


# The link is a secret of its own, and the page's scripts and styles are the package's: they tell nothing of anybody.
_ANYBODY = frozenset({ENTRANCE, ASSETS})
_OF_PLUGINS = """
GET /health, GET /stats, GET /doctor, GET /project/current, GET /projects, GET /sync/status,
POST /sessions, GET /sessions/recent, GET /sessions/{id}, POST /sessions/{id}/end,
POST /runtime-sessions/end, POST /runtime-sessions/resolve,
POST /prompts, POST /prompts/capture-decision, GET /prompts/recent, GET /prompts/search,
POST /observations, POST /observations/passive, GET /observations, GET /observations/recent,
 GET /observations/save-result, GET /observations/{id}, PATCH /observations/{id}, PUT /observations/{id}/pin,
GET /search, POST /search, GET /timeline, GET /context, GET /context/compaction,
GET /review, POST /review/mark_reviewed, POST /topic-keys/suggest
"""
# What each may reach; None is everything. A route that is named nowhere is the owner's alone.
REACH: Mapping[Asker, frozenset[str] | None] = {
    Asker.STRANGER: _ANYBODY,
    Asker.PROGRAM: _ANYBODY | frozenset(one.strip() for one in _OF_PLUGINS.split(",")),
    Asker.VISITOR: _ANYBODY | {PAGE},
    Asker.OWNER: None,
}


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """What a request shows of whoever sent it. ``reached`` is what it asks for, as ``REACH`` names it.

    ``hosts`` are the names of this server, None where none decides. ``vouched`` says that somebody answers for a
    program that shows no secret: the kernel, or the user who opened the server.
    """

    method: str
    reached: str
    host: str
    hosts: frozenset[str] | None
    origins: tuple[str, ...] = ()
    fetch_site: str = ""
    media_type: str = ""
    secret: bool = False
    cookie: bool = False
    vouched: bool = False


def refusal(facts: RequestFacts) -> HttpError | None:
    """Return why a request is not answered, None for one that is."""
    if facts.hosts is not None and facts.host.lower() not in facts.hosts:
        # A page whose name was pointed at 127.0.0.1 sends that name here: its requests look like a program's.
        return HttpError(
            f"the Host {facts.host[:80]!r} is not this server's",
            hint="use 127.0.0.1, localhost or [::1] with the port",
            code="wrong_host",
            status=421,
        )
    # What a page loads as an image or a frame has no Origin. The link may be followed from anywhere: from a file, say.
    from_elsewhere = facts.fetch_site == "cross-site" and facts.reached != ENTRANCE
    if from_elsewhere or not all(map(_is_of_this_machine, facts.origins)):
        return HttpError(
            "a web page of another machine may not use this memory",
            hint="call it from a program, or from a page that this machine serves",
            code="foreign_origin",
            status=403,
        )
    reach = REACH[asker(facts)]
    return None if reach is None or facts.reached in reach else UnauthorizedError()


def asker(facts: RequestFacts) -> Asker:
    """Return who asks."""
    if facts.secret:
        return Asker.OWNER
    if facts.cookie and facts.reached.startswith(PAGE):
        return Asker.VISITOR
    # A browser runs as this user too: what a page of any origin sends is no program's.
    by_browser = bool(facts.origins or facts.fetch_site)
    as_json = facts.method in _READS or facts.media_type == "application/json"
    return Asker.PROGRAM if facts.vouched and as_json and not by_browser else Asker.STRANGER


def _is_of_this_machine(origin: str) -> bool:
    """Return whether a page of this origin came from this machine: ``http://localhost:5173``."""
    try:
        parts = urlsplit(origin)
        _ = parts.port
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and "@" not in parts.netloc and parts.hostname in LOOPBACK


# --- what is personal, and a program is not given ------------------------------------------------------------

_asker: ContextVar[Asker] = ContextVar("asker", default=Asker.STRANGER)


def remember_asker(asker: Asker) -> None:
    """Remember who asks, for the work of this request: each request is a task with a context of its own."""
    _asker.set(asker)


def is_given_personal() -> bool:
    """Return whether who asks is given what is personal, and the files of the vault."""
    return _asker.get() in (Asker.OWNER, Asker.VISITOR)


def is_personal(values: Mapping[str, Any]) -> bool:
    """Return whether an observation, or what is asked of one, is of the person: personal, or what they are."""
    scope, kind, topic = (str(values.get(name) or "").strip().lower() for name in ("scope", "type", "topic_key"))
    try:
        topic = normalize_topic_key(topic) if topic else ""
    except InvalidTopicKeyError:
        topic = ""
    return scope == "personal" or kind == "identity" or topic.startswith("identity/")


def check_asked(app: Engram, found: Route, given: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse a program what is personal: a value that says so, or the id of such an observation.

    Raises UnauthorizedError.
    """
    if is_given_personal():
        return
    names = ("id", "observation_id") if found.path.startswith(("/observations", "/review")) else ("observation_id",)
    ids = {int(part[name]) for part in given.values() for name in names if str(part.get(name, "")).isdecimal()}
    if any(map(is_personal, given.values())) or _personal_ids(app, ids):
        raise UnauthorizedError


def given_to_asker(app: Engram, answer: bytes, notes: list[str]) -> tuple[bytes, list[str]]:
    """Return an answer as who asks is given it; notes may name what a program is not given."""
    if is_given_personal():
        return answer, notes
    value = json.loads(answer)
    kept = _without_personal(value, _personal_ids(app, _named_in(value)))
    if kept == value:
        return answer, notes
    return json.dumps(kept, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"), []


def _personal_ids(app: Engram, ids: Collection[int]) -> frozenset[int]:
    rows = app.browsing.whole(sorted(ids)) if ids else ()
    return frozenset(row.id for row in rows if is_personal(asdict(row)))


def _named_in(value: Any) -> set[int]:
    """Return the ids of the observations that an answer names: what has an id and a title."""
    if isinstance(value, dict):
        own = {value["id"]} if isinstance(value.get("id"), int) and "title" in value else set()
        return own.union(*map(_named_in, value.values()))
    return set().union(*map(_named_in, value)) if isinstance(value, list) else set()


def _without_personal(value: Any, hidden: Collection[int]) -> Any:
    def shown(one: Any) -> bool:
        return not (isinstance(one, dict) and (is_personal(one) or ("title" in one and one.get("id") in hidden)))

    if isinstance(value, dict):
        return {name: _without_personal(one, hidden) for name, one in value.items() if shown(one)}
    return [_without_personal(one, hidden) for one in value if shown(one)] if isinstance(value, list) else value
