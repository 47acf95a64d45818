"""How a memory's text becomes HTML: escaped, or Markdown without HTML, images and links that run anything."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from shlex import quote
from typing import Any
from urllib.parse import urlencode, urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from engram_py.interfaces.web.assets import asset
from engram_py.interfaces.wording.phrases import age

_HERE = Path(__file__).parent
_LINKS = ("http", "https", "mailto")
# What turns the direction of the text after it, and could make a line read as another than the agent gets.
_TURNING = {
    "\u202a": "LRE", "\u202b": "RLE", "\u202c": "PDF", "\u202d": "LRO", "\u202e": "RLO",
    "\u2066": "LRI", "\u2067": "RLI", "\u2068": "FSI", "\u2069": "PDI",
}  # fmt: skip
_SHOWN = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n\r"}
_SHOWN |= {0x7F: "\u2421"} | {ord(char): f"⟦{name}⟧" for char, name in _TURNING.items()}


def visible(value: Any) -> Any:
    """A text with its control characters shown; everything else as it is."""
    return value.translate(_SHOWN) if isinstance(value, str) and not isinstance(value, Markup) else value


def verbatim(text: str) -> Markup:
    """A text for a field that is sent back: escaped, and otherwise exactly as it is.

    A browser drops one newline at the beginning of a field, so there is one more.
    """
    return Markup("\n") + escape(text)


def markdown(text: str) -> Markup:
    """The Markdown of a memory as HTML that holds no HTML of the memory's own."""
    return Markup(_renderer().render(visible(text)))  # noqa: S704 - html is off, and links are checked


@cache
def _renderer() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
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
    """A link says where it goes, and tells that place nothing of this one."""
    token = tokens[place]
    token.attrSet("title", str(token.attrGet("href")))
    token.attrSet("rel", "noopener noreferrer nofollow")
    return str(renderer.renderToken(tokens, place, options, env))


def with_project(path: str, project: str) -> str:
    return f"{path}?{urlencode({'project': project})}" if project else path


def without(name: str, query: str, project: str, kind: str, scope: str, any_word: bool) -> str:
    """The address of a search that has one filter less."""
    fields = {"q": query, "project": project, "type": kind, "scope": scope, "match": "any" if any_word else ""}
    return urlencode({one: value for one, value in fields.items() if value and one != name})


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
    made.filters |= {"markdown": markdown, "verbatim": verbatim, "verbatim_value": escape, "combine": dict.__or__}
    made.globals |= {"age": age, "shell": quote, "with_project": with_project, "without": without, "asset": asset}
    return made
