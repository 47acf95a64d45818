"""Turn a memory's text into HTML, and name the stylesheets and scripts that a browser loads with it.

A text is escaped, or Markdown without HTML, images and links that run anything. The page that opens first
holds no Markdown, so its parser is loaded when it is needed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from difflib import SequenceMatcher
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlencode, urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from engram_py.app import Engram
from engram_py.base.dataclass import dataclass
from engram_py.base.files import is_folder
from engram_py.base.lazy import regex
from engram_py.interfaces.screen_values import called
from engram_py.interfaces.wording.phrases import age, anchor, place, plural
from engram_py.interfaces.wording.reasons import spelled
from engram_py.memory.observations.values import AnchorState, Detail, Observation, Version
from engram_py.memory.sessions import table as session_table

if TYPE_CHECKING:
    from markdown_it import MarkdownIt


STATIC = "/ui/static"
_MEDIA_TYPES = {".css": "text/css", ".js": "text/javascript"}
_VERSION_LETTERS = 12
_HERE = Path(__file__).parent
_LINKS = {"http", "https", "mailto"}
# How much of a text is looked at for its first line, and how much of that is shown.
_LOOKED_AT, _LINE = 1_000, 160
_BLOCK = regex(r"^\s*(?:[-*+]\s+|>\s*)?(?:\*\*What\*\*:\s*)?")
_HEADING = regex(r"^\s*#+\s|^(?:Goal|Done|Summary|What)\W*$")
# The mark of a heading, which a search's passage may hold in the middle of a line.
_MARK = regex(r"(?<![^\s…])#{1,6}\s+")
_TAGS = {
    "a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "s",
    "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
_REL = "noopener noreferrer nofollow"
_ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}}
# The address in `git@github.com:acme/shop.git` is no person's.
_EMAIL = regex(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+(?!:\S)(?![\w.-]*[\w-]:\S)")
# What turns the direction of the text after it, and could make a line read as another than the agent gets.
_TURNING = {
    "\u202a": "LRE", "\u202b": "RLE", "\u202c": "PDF", "\u202d": "LRO", "\u202e": "RLO",
    "\u2066": "LRI", "\u2067": "RLI", "\u2068": "FSI", "\u2069": "PDI",
}  # fmt: skip
_SHOWN = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n\r"}
_SHOWN |= {0x7F: "\u2421"} | {ord(char): f"⟦{name}⟧" for char, name in _TURNING.items()}


def visible(value: Any) -> Any:
    """Return a text with its control characters shown; everything else as it is."""
    return value.translate(_SHOWN) if isinstance(value, str) and not isinstance(value, Markup) else value


def verbatim(text: str) -> Markup:
    """Return a text for a field that is sent back: escaped, and otherwise exactly as it is.

    A browser drops one newline at the beginning of a field, so there is one more.
    """
    return Markup("\n") + escape(text)


def markdown(text: str) -> Markup:
    """Return the Markdown of a memory as HTML that holds no HTML of the memory's own."""
    return _sanitised(_renderer().render(visible(text)))


def preview(text: str) -> Markup:
    """Return a part of a memory as HTML in a line, with e-mail addresses left out: others may see this screen."""
    return _sanitised(_renderer().renderInline(visible(_EMAIL.sub("[e-mail]", _MARK.sub("", text)))))


def first_line(row: Any) -> str:
    """Return the first line of a memory's text that its name does not say, without the marks of Markdown's blocks."""
    name = called(row)
    lines = (_BLOCK.sub("", line).strip() for line in row.content[:_LOOKED_AT].splitlines())
    found = next((line for line in lines if line and line not in name and _HEADING.match(line) is None), "")
    return found if len(found) <= _LINE else f"{found[:_LINE]}…"


def _sanitised(html: str) -> Markup:
    """The parser is told to make nothing else; this holds if it makes a mistake."""
    import nh3

    clean = nh3.clean(html, tags=_TAGS, attributes=_ATTRIBUTES, url_schemes=_LINKS, link_rel=_REL)
    return Markup(clean)  # noqa: S704 - sanitised in the line above


@cache
def _renderer() -> MarkdownIt:
    from markdown_it import MarkdownIt

    # A line end stays one: agents write "**What**: …" and "**Why**: …" on lines of their own.
    made = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])
    made.disable("image")  # one would be fetched from wherever the memory says
    made.validateLink = _is_link  # type: ignore[method-assign, assignment]
    made.add_render_rule("link_open", _link_open)
    return made


def _is_link(address: str) -> bool:
    try:
        parts = urlsplit(address.strip())
    except ValueError:
        return False
    return parts.scheme.lower() in _LINKS and (bool(parts.netloc) or parts.scheme.lower() == "mailto")


def _link_open(renderer: Any, tokens: Any, place: int, options: Any, env: Any) -> str:
    """Show where a link goes when the pointer is on it."""
    token = tokens[place]
    token.attrSet("title", str(token.attrGet("href")))
    return str(renderer.renderToken(tokens, place, options, env))


def ago(moment: str, now: datetime) -> str:
    """Return how long ago a moment was, as a person says it: ``5d ago``."""
    said = age(moment, now)
    return "just now" if said == "now" else said if said == "?" else f"{said} ago"


def with_project(path: str, project: str) -> str:
    return f"{path}?{urlencode({'project': project})}" if project else path


def without(name: str, query: str, project: str, kind: str, scope: str, all_words: bool) -> str:
    """Return the address of a search that has one filter less."""
    fields = {"q": query, "project": project, "type": kind, "scope": scope, "match": "all" if all_words else ""}
    return urlencode({one: value for one, value in fields.items() if value and one != name})


@dataclass(frozen=True, slots=True)
class Asset:
    body: bytes
    media_type: str
    version: str


@cache
def assets() -> Mapping[str, Asset]:
    """Return every file of the folder by its name. Nothing else can be asked for."""
    found: dict[str, Asset] = {}
    for path in sorted((_HERE / "static").iterdir()):
        if path.suffix in _MEDIA_TYPES:
            body = path.read_bytes()
            version = hashlib.sha256(body).hexdigest()[:_VERSION_LETTERS]
            found[path.name] = Asset(body, _MEDIA_TYPES[path.suffix], version)
    return found


def asset(name: str) -> str:
    """Return the address of a file. It holds a hash of the content, so a new version has another address."""
    return f"{STATIC}/{name}?v={assets()[name].version}"


@cache
def templates() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "markdown": markdown,
        "preview": preview,
        "spelled": partial(spelled, door="cli"),
        "verbatim": verbatim,
        "verbatim_value": escape,
        "combine": dict.__or__,
        "plural": plural,
    }
    made.globals |= {
        "named": called,
        "first_line": first_line,
        "ago": ago,
        "shell": quote,
        "with_project": with_project,
        "without": without,
        "asset": asset,
    }
    return made


# --- what changed in a memory ---------------------------------------------------------------------------------

# Comparing takes up to the product of both, and a text may be fifty thousand lines of one letter.
MOST_LINES = 600
_AROUND = 2
_FILE_LINES = 400

Kind = Literal["same", "gone", "new", "skipped"]


@dataclass(frozen=True, slots=True)
class DiffLine:
    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class HistoryStep:
    """A text that an observation had, with what the one after it changed."""

    version: int
    created_at: str
    title: str
    next_title: str
    lines: tuple[DiffLine, ...]


def diff(old: str, new: str, *, span: tuple[int, int] | None = None) -> tuple[DiffLine, ...]:
    """Return the lines that differ, with two around them; of very long changes the old text whole, then the new one.

    ``span`` keeps the changes of these lines of the old text alone, from the first to the last, counted from 1.
    """
    before, after = _lines(old), _lines(new)
    head = _alike(before, after)
    tail = _alike(before[head:][::-1], after[head:][::-1])
    start, spared = max(0, head - _AROUND), max(0, tail - _AROUND)
    before, after = before[start : len(before) - spared], after[start : len(after) - spared]
    if len(before) > MOST_LINES or len(after) > MOST_LINES:
        return tuple([DiffLine("gone", line) for line in before] + [DiffLine("new", line) for line in after])
    found: list[DiffLine] = []
    for group in SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(_AROUND):
        if span is not None and not any(_touches(code, span, start) for code in group):
            continue
        if found:
            found.append(DiffLine("skipped", "…"))
        for kind, first, end, new_first, new_end in group:
            if kind == "equal":
                found += [DiffLine("same", line) for line in before[first:end]]
            else:
                found += [DiffLine("gone", line) for line in before[first:end]]
                found += [DiffLine("new", line) for line in after[new_first:new_end]]
    return tuple(found)


def _lines(text: str) -> list[str]:
    """Return the lines as an editor counts them."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    return plain.removesuffix("\n").split("\n") if plain else []


def _alike(one: list[str], other: list[str]) -> int:
    """Return how many lines both begin with."""
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def _touches(code: tuple[str, int, int, int, int], span: tuple[int, int], start: int) -> bool:
    """Return whether a change is within the span or cuts it; ``start`` lines were left out before it."""
    kind, first, end = code[0], code[1] + start, code[2] + start
    return kind != "equal" and first < span[1] and end > span[0] - 1


def history(now: Version, older: list[Version]) -> list[HistoryStep]:
    """Return each older text, newest first, with its difference from the text that replaced it."""
    return [
        HistoryStep(old.version, old.created_at, old.title, new.title, diff(old.content, new.content))
        for new, old in pairwise([now, *older])
    ]


@dataclass(frozen=True, slots=True)
class File:
    """A file with its state, in words too, how it changed since, and the reason if that cannot be shown."""

    state: AnchorState
    said: str
    changed: Sequence[DiffLine]
    why: str


def files_of(app: Engram, detail: Detail) -> list[File]:
    texts = {one.state: one for one in app.anchors.texts(detail.observation, detail.anchors)}
    found = []
    for state in detail.anchors:
        one = texts.get(state)
        changed = diff(one.before, one.after, span=one.span) if one is not None and not one.why else ()
        said = f"{place(state.path, state.start, state.end)} unchanged" if state.state == "fresh" else anchor(state)
        found.append(File(state, said, changed[:_FILE_LINES], one.why if one is not None else ""))
    return found


def not_here(app: Engram, row: Observation) -> str:
    """Return why the files of the observation cannot be looked at on this machine; empty where they may be."""
    session = session_table.by_id(app.store, row.session_id)
    if session is None or session_table.arrived(app.store, row.session_id):
        return "It was saved on another machine."
    gone = session.directory and not is_folder(Path(session.directory))
    return f"The folder that it was saved in is not on this disk: {session.directory}" if gone else ""


def where_it_was_saved(app: Engram, row: Observation) -> Engram:
    """The memory as it stands in the folder of the session that saved the observation, where it is one of this
    machine's: its files are looked at there."""
    session = session_table.by_id(app.store, row.session_id)
    if session is None or not session.directory or session_table.arrived(app.store, row.session_id):
        return app
    folder = Path(session.directory)
    return app.for_caller(folder) if folder.is_absolute() and is_folder(folder) else app
