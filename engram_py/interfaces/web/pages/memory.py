"""The pages of one memory: what it says, what it was, and every change of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import wraps
from typing import Any

from engram_py.base.errors import EmptyFieldError, EngramError, TextTooLongError
from engram_py.interfaces.http.errors import HttpError
from engram_py.interfaces.screen_values import session_names
from engram_py.interfaces.web.rendering import diff, files_of, history, not_here, where_it_was_saved
from engram_py.interfaces.web.visit import (
    HOME,
    Goto,
    PageFunction,
    Shown,
    Taken,
    Visit,
    observation_number,
    page,
)
from engram_py.interfaces.wording.phrases import whence
from engram_py.memory.observations.arguments import (
    change_back,
    change_from,
    edited_texts,
    kept_observation,
    live_observation,
)
from engram_py.memory.observations.errors import ChangedMeanwhileError, ObservationNotFoundError
from engram_py.memory.observations.values import (
    CONTENT_LIMIT_BYTES,
    DEFAULT_TYPE,
    EDITED,
    SCOPES,
    TYPES,
    Change,
    Draft,
    Observation,
    Version,
)
from engram_py.memory.projects.table import latest_names
from engram_py.memory.sessions.citations import sessions_given

_PATH = "/ui/memory/{id}"
_SESSIONS = 20
_VERSIONS = 10
_NEW = ("title", "content", "project", "type", "scope", "topic_key")
_REASON = "merged on the page"


def seen(row: Observation) -> str:
    """Return the mark of how an observation reads now: a form made from another one is out of date."""
    text = json.dumps([getattr(row, name) for name in EDITED])
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


def as_shown(change: Callable[[Visit, Observation], Goto]) -> PageFunction:
    """Give ``change`` the observation, if it still reads as on the page that asks; else show the page that says so."""

    @wraps(change)
    def run(visit: Visit) -> Shown | Goto:
        row = live_observation(visit.app.store, visit.observation_id)
        if visit.form.get("seen") == seen(row):
            return change(visit, row)
        values = {"error": ChangedMeanwhileError(row.id), "back": f"/ui/memory/{row.id}"}
        return Shown("refused.html", values, status=409)

    return run


@page("GET", _PATH)
def memory_page(visit: Visit) -> Shown:
    """One observation whole; of a deleted one, that it is, and how it comes back."""
    [row] = visit.app.browsing.whole([visit.observation_id]) or [None]
    if row is None:
        raise ObservationNotFoundError(visit.observation_id)
    if row.deleted_at:
        return Shown("deleted.html", {"row": row, "seen": seen(row)}, status=410)
    app = where_it_was_saved(visit.app, row)
    detail = app.observations.get(row.id, history=True)
    given = sessions_given(app.store, row.id, limit=_SESSIONS)
    older = list(detail.versions[: None if visit.asked("versions") else _VERSIONS])
    now = Version(detail.version_total + 1, row.title, row.content, row.updated_at)
    return Shown(
        "memory.html",
        done_to(visit, row)
        | {
            "row": row,
            "detail": detail,
            "seen": seen(row),
            "steps": history(now, older),
            "more_versions": detail.version_total - len(older),
            "most_versions": _VERSIONS,
            "files": files_of(app, detail),
            "not_here": not_here(app, row),
            "sessions": given,
            "names": session_names(app, [app.sessions.get(one.id) for one in given]),
            "from_where": whence(row.unchecked, row.author),
        },
    )


def _sent(visit: Visit, row: Observation) -> dict[str, str]:
    """Return the fields of the edit form. A browser sends CR LF always: where only line ends differ, the text is as
    it was."""
    given = {name: visit.form.get(name, "") for name in EDITED}
    plain = given["content"].replace("\r\n", "\n")
    content = row.content if plain == row.content.replace("\r\n", "\n") else plain
    return {name: text.strip() for name, text in given.items()} | {"content": content}


@page("GET", _PATH + "/edit")
def edit_page(visit: Visit) -> Shown:
    row = live_observation(visit.app.store, visit.observation_id)
    return _form(row, edited_texts(row))


def _form(row: Observation, typed: dict[str, str], *, error: EngramError | None = None) -> Shown:
    """Return the edit form. After a refusal it holds the typed text beside the one that stands now."""
    stale = isinstance(error, ChangedMeanwhileError)
    values = {
        "row": row,
        "typed": typed,
        "seen": seen(row),
        "error": error,
        "stale": stale,
        "difference": diff(row.content, typed["content"]) if stale else (),
        "types": TYPES,
        "scopes": SCOPES,
        "others": [name for name in EDITED if name not in ("title", "content", "type", "scope")],
    }
    return Shown("edit.html", values, status=200 if error is None else 409 if stale else 400)


@page("POST", _PATH + "/edit")
def edit(visit: Visit) -> Shown | Goto:
    """Keep what was typed, unless somebody changed the observation since the form was made."""
    row = live_observation(visit.app.store, visit.observation_id)
    typed = _sent(visit, row)
    try:
        if visit.form.get("seen") != seen(row):
            raise ChangedMeanwhileError(row.id)
        size = len(typed["content"].encode())
        if size > CONTENT_LIMIT_BYTES:  # elsewhere it would be cut, which nobody who typed it expects
            raise TextTooLongError("content", size, CONTENT_LIMIT_BYTES)
        change = change_from(row, typed)
        if change is None:
            return back_to(visit, row.id, "unchanged")
        done = visit.app.observations.update(row.id, change, base=row, by="person")
    except EngramError as exc:
        return _form(live_observation(visit.app.store, row.id), typed, error=exc)
    undo, now = change_back(row, done.changed), live_observation(visit.app.store, row.id)
    more = {"undo": visit.undo.keep(Taken(row.id, undo, seen(now)))} if undo else {}
    return back_to(visit, row.id, "edited", **more, **({"redacted": "1"} if done.redacted else {}))


@page("GET", "/ui/new")
def new_page(visit: Visit) -> Shown:
    """Return the form of a memory that is not saved yet."""
    latest = latest_names(visit.app.store)
    return _new({"project": visit.project or next(iter(latest), ""), "type": DEFAULT_TYPE})


def _new(typed: dict[str, str], *, error: EngramError | None = None) -> Shown:
    values = {"typed": {name: typed.get(name, "") for name in _NEW}, "error": error, "types": TYPES, "scopes": SCOPES}
    return Shown("new.html", values, status=200 if error is None else 400)


@page("POST", "/ui/new")
def create(visit: Visit) -> Shown | Goto:
    """Save what was typed as the user's own."""
    typed = {name: visit.form.get(name, "").strip() for name in _NEW}
    content = typed["content"].replace("\r\n", "\n")
    try:
        if (size := len(content.encode())) > CONTENT_LIMIT_BYTES:
            raise TextTooLongError("content", size, CONTENT_LIMIT_BYTES)
        if not typed["project"]:
            raise EmptyFieldError("project")
        kind, scope, key = (typed[name] or None for name in ("type", "scope", "topic_key"))
        draft = Draft(typed["title"], content, kind or DEFAULT_TYPE, scope, key, origin="user")
        saved = visit.app.observations.save(draft, project=typed["project"])
    except EngramError as exc:
        return _new(typed, error=exc)
    done = {"added": "saved", "updated": "edited"}.get(saved.outcome, "unchanged")
    return Goto(f"/ui/memory/{saved.id}", {"done": done} | ({"redacted": "1"} if saved.redacted else {}))


@page("POST", _PATH + "/undo")
def undo(visit: Visit) -> Shown | Goto:
    """Take a change of this page back, unless somebody changed the observation since."""
    name = visit.form.get("undo", "")
    taken = visit.undo.find(name)
    if taken is None or taken.observation_id != visit.observation_id:
        raise HttpError(
            "this change cannot be undone any more",
            hint=f"`engram history {visit.observation_id}` has the earlier texts",
            code="change_expired",
            status=404,
        )
    row = live_observation(visit.app.store, taken.observation_id)
    if not isinstance(taken.change, Change):
        taken.change(visit.app)
        visit.undo.forget(name)
        return back_to(visit, row.id, taken.done)
    if seen(row) != taken.seen:
        before = {name: text for name in EDITED if (text := getattr(taken.change, name)) is not None}
        return _form(row, edited_texts(row) | before, error=ChangedMeanwhileError(row.id))
    visit.app.observations.update(row.id, taken.change, base=row, by="person")
    visit.undo.forget(name)
    return back_to(visit, row.id, "undone")


@page("POST", _PATH + "/revert")
@as_shown
def revert(visit: Visit, row: Observation) -> Goto:
    version = visit.form.get("version", "")
    number = int(version) if version.isascii() and version.isdecimal() and len(version) < 10 else 0
    done = visit.app.observations.revert(row.id, number)
    now = live_observation(visit.app.store, row.id)
    if not done.changed:
        return back_to(visit, row.id, "unchanged")
    taken = Taken(row.id, Change(title=row.title, content=row.content), seen(now))
    return back_to(visit, row.id, "edited", undo=visit.undo.keep(taken))


@page("POST", _PATH + "/pin")
def pin(visit: Visit) -> Goto:
    pinned = visit.form.get("to") == "on"
    visit.app.observations.pin(visit.observation_id, pinned=pinned)
    return back_to(visit, visit.observation_id, "pinned" if pinned else "unpinned")


@page("POST", _PATH + "/archive")
def archive(visit: Visit) -> Goto:
    archived = visit.form.get("to") == "on"
    visit.app.observations.update(visit.observation_id, Change(archived=archived))
    return back_to(visit, visit.observation_id, "archived" if archived else "unarchived")


@page("POST", _PATH + "/reviewed")
def reviewed(visit: Visit) -> Goto:
    visit.app.observations.mark_reviewed(visit.observation_id)
    return back_to(visit, visit.observation_id, "reviewed")


@page("POST", _PATH + "/guard")
@as_shown
def guard(visit: Visit, row: Observation) -> Goto:
    """Let the guard speak that the text offers, as it was shown, or never offer it again."""
    wanted = visit.form.get("to") == "on"
    (visit.app.guards.accept if wanted else visit.app.guards.decline)(row.id)
    return back_to(visit, row.id, "guarded" if wanted else "declined")


@page("POST", _PATH + "/accept")
@as_shown
def accept(visit: Visit, row: Observation) -> Goto:
    """Stand for what was derived, imported or sent, as it was shown."""
    accepted = visit.app.observations.accept(row.id)
    back = Taken(row.id, lambda app: app.observations.unaccept(accepted), seen(row), "unaccepted")
    return back_to(visit, row.id, "accepted", undo=visit.undo.keep(back))


@page("POST", _PATH + "/mine")
@as_shown
def mine(visit: Visit, row: Observation) -> Goto:
    """Take the edit of the memory's file as the user's own, as ``engram sync --mine`` does for all of them."""
    visit.app.git_sync.sync(mine=lambda edits: {visit.form.get("file", "")})
    return back_to(visit, row.id, "accepted")


@page("POST", _PATH + "/delete")
@as_shown
def delete(visit: Visit, row: Observation) -> Goto:
    """Hide the observation that was shown; one that reads differently now is shown first."""
    visit.app.observations.delete(row.id)
    return back_to(visit, row.id, "deleted")


@page("POST", _PATH + "/destroy")
def destroy(visit: Visit) -> Goto:
    """Destroy the hidden observation that was shown, for good."""
    row = kept_observation(visit.app.store, visit.observation_id)
    if not row.deleted_at or visit.form.get("seen") != seen(row):
        raise ChangedMeanwhileError(row.id)
    visit.app.observations.delete(row.id, hard=True)
    return Goto(HOME)


@page("POST", _PATH + "/undelete")
def undelete(visit: Visit) -> Goto:
    visit.app.observations.undelete(visit.observation_id)
    return back_to(visit, visit.observation_id, "undeleted")


@page("POST", _PATH + "/merge")
@as_shown
def merge(visit: Visit, row: Observation) -> Goto:
    """Let another memory replace this one: searches find that one, and both texts stay."""
    other = observation_number(visit.form.get("into", ""))
    before = visit.app.relations.between(row.id, other)
    judged = visit.app.relations.compare(other, row.id, "supersedes", confidence=1.0, reasoning=_REASON)
    was = before.relation if before is not None and before.judgment_status == "judged" else "not_conflict"
    turned = before is not None and before.source_id != judged.source_id
    ends = (row.id, other) if turned else (other, row.id)
    why = "the merge was taken back"
    back = Taken(
        row.id, lambda app: app.relations.compare(*ends, was, confidence=1.0, reasoning=why), seen(row), "unmerged"
    )
    return back_to(visit, row.id, "merged", undo=visit.undo.keep(back))


@page("POST", _PATH + "/move")
@as_shown
def move(visit: Visit, row: Observation) -> Goto:
    """Give the memory to another project."""
    if not visit.app.observations.move(row.id, visit.form.get("to", "")).changed:
        return back_to(visit, row.id, "unchanged")
    now = live_observation(visit.app.store, row.id)
    back = Taken(row.id, lambda app: app.observations.move(row.id, row.project), seen(now), "unmoved")
    return back_to(visit, row.id, "moved", undo=visit.undo.keep(back))


def back_to(visit: Visit, observation_id: int, done: str, **more: str) -> Goto:
    """Return the page that follows a change: the memory, or to Review where its form stands there."""
    said = {"done": done} | more
    if visit.form.get("back") != "review":
        return Goto(f"/ui/memory/{observation_id}", said)
    return Goto("/ui/review", {"id": str(observation_id)} | said | place(visit))


def place(visit: Visit) -> dict[str, str]:
    """Return the part of Review that a form stood in."""
    return {name: text for name in ("project", "kind") if (text := visit.form.get(name, ""))}


def done_to(visit: Visit, row: Observation | None) -> dict[str, Any]:
    """Return what the change that led to a page did, as its template takes it."""
    undo = visit.asked("undo")
    return {
        "changed": row,
        "done": visit.asked("done"),
        "undo": undo if visit.undo.find(undo) else "",
        "redacted": visit.asked("redacted") == "1",
    }
