"""What the server offers besides tools: each memory as a resource, and two prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from engram_py.errors import InvalidArgumentError, NotFoundError

if TYPE_CHECKING:
    from engram_py.app import Engram

OBSERVATION = "engram://observation/"
CONTEXT = "engram://context/"
MIME = "text/markdown"
LISTED = 20
MOST_DIGITS = 19

Json = dict[str, Any]

TEMPLATES: list[Json] = [
    {
        "name": "observation", "title": "A memory", "uriTemplate": OBSERVATION + "{id}", "mimeType": MIME,
        "description": "One observation, whole.",
    },
    {
        "name": "context", "title": "A project's context", "uriTemplate": CONTEXT + "{project}", "mimeType": MIME,
        "description": "What a new session of a project should know.",
    },
]  # fmt: skip

PROMPTS: list[Json] = [
    {
        "name": "recall", "title": "Recall", "description": "Start from what earlier sessions know.",
        "arguments": [
            {"name": "topic", "description": "What to recall; default: what is recent.", "required": False}
        ],
    },
    {"name": "wrap-up", "title": "Wrap up", "description": "Leave the next session what it needs."},
]  # fmt: skip

_WRAP_UP = """\
Before this session ends, look back over it and save what a later session would miss:
1. For each decision, bug fix with its cause, discovery, convention or preference not saved yet, call mem_save.
2. Call mem_session_summary with the sections Goal, Instructions, Discoveries, Accomplished, Next Steps, Relevant Files.
3. Then tell the user in two or three sentences what was kept."""


def list_resources(app: Engram) -> list[Json]:
    """Return the current project's context and its newest observations."""
    place = app.projects.for_read()
    listed = [
        {"uri": CONTEXT + quote(name, safe=""), "name": f"context of {name}", "mimeType": MIME}
        for name in place.reads or ()
    ]
    with app.usage.paused():  # a list to browse
        context = app.contexts.assemble()
    for row in (*context.pinned, *context.recent)[:LISTED]:
        uri = f"{OBSERVATION}{row.id}"
        listed.append({"uri": uri, "name": row.title, "description": row.type, "mimeType": MIME})
    return listed


def read_resource(app: Engram, uri: str) -> Json:
    """Return the text of a resource. Raises NotFoundError, InvalidArgumentError."""
    from engram_py.interfaces.wording import render

    now = app.journal.moment()
    if uri.startswith(OBSERVATION):
        number = uri.removeprefix(OBSERVATION)
        if len(number) > MOST_DIGITS or not (number.isascii() and number.isdecimal()):
            raise InvalidArgumentError("uri", uri, expected=f"{OBSERVATION}ID")
        body = render.text(app.observations.get(int(number)), now=now)
    elif uri.startswith(CONTEXT):
        body = render.text(app.contexts.assemble(unquote(uri.removeprefix(CONTEXT))), now=now)
    else:
        raise UnknownResourceError(uri)
    return {"uri": uri, "mimeType": MIME, "text": body}


def get_prompt(app: Engram, name: str, arguments: dict[str, str]) -> Json:
    """Return the message of a prompt. Raises InvalidArgumentError for one that does not exist."""
    from engram_py.interfaces.wording import render
    from engram_py.interfaces.wording.context import fenced

    if name == "wrap-up":
        return _prompt(_WRAP_UP)
    if name != "recall":
        raise InvalidArgumentError("name", name, expected="recall or wrap-up")
    now = app.journal.moment()
    topic = arguments.get("topic", "").strip()
    context = app.contexts.assemble(compact=bool(topic))
    found = render.text(app.searches.search(topic), now=now) if topic else ""
    about = f"about {topic!r} " if topic else ""
    head = f"Here is what earlier sessions kept {about}for this project. Use what fits, check it against the code."
    body = [fenced(found, project=context.project)] if found else []
    return _prompt("\n\n".join([head, *body, render.text(context, now=now)]))


def _prompt(text: str) -> Json:
    return {"role": "user", "content": {"type": "text", "text": text}}


class UnknownResourceError(NotFoundError):
    code = "unknown_resource"

    def __init__(self, uri: str) -> None:
        super().__init__(f"no resource {uri[:200]!r}", hint=f"{OBSERVATION}ID and {CONTEXT}PROJECT exist")
