"""Turn a memory's text into HTML, and name the stylesheets and scripts that a browser loads with it.

A text is escaped, or Markdown without HTML, images and links that run anything. The page that opens first
holds no Markdown, so its parser is loaded when it is needed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from engram_py.dataclass import dataclass
from engram_py.interfaces.wording.phrases import age

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

STATIC = "/ui/static"
_MEDIA_TYPES = {".css": "text/css", ".js": "text/javascript"}
_VERSION_LETTERS = 12
_HERE = Path(__file__).parent
_LINKS = {"http", "https", "mailto"}
_TAGS = {
    "a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "s",
    "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
_REL = "noopener noreferrer nofollow"
_ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}}
# The address in `git@github.com:acme/shop.git` is no person's.
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+(?!:\S)(?![\w.-]*[\w-]:\S)")
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
    return _sanitised(_renderer().renderInline(visible(_EMAIL.sub("[e-mail]", text))))


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


def without(name: str, query: str, project: str, kind: str, scope: str, any_word: bool) -> str:
    """Return the address of a search that has one filter less."""
    fields = {"q": query, "project": project, "type": kind, "scope": scope, "match": "any" if any_word else ""}
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
        "verbatim": verbatim,
        "verbatim_value": escape,
        "combine": dict.__or__,
    }
    made.globals |= {"ago": ago, "shell": quote, "with_project": with_project, "without": without, "asset": asset}
    return made
