"""Redact, check and cut the fields of a draft before it is stored. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engram_py.base.capture.redact import redact, redact_head
from engram_py.base.dataclass import asdict, dataclass, replace
from engram_py.base.errors import EmptyFieldError, InvalidArgumentError, TextTooLongError
from engram_py.base.lazy import regex
from engram_py.base.reasons import Reason, Told, reason
from engram_py.base.text.normalize import check_text, content_hash, dashed, normalize_topic_key, truncate_utf8
from engram_py.base.text.words import derived_terms
from engram_py.memory.observations.arguments import clean_scope
from engram_py.memory.observations.values import (
    CONTENT_LIMIT_BYTES,
    DEFAULT_TYPE,
    TITLE_LIMIT_CHARS,
    Change,
    Draft,
    Scope,
    TruncatedContent,
)

TYPE_LIMIT_CHARS = 64
NAME_LIMIT_CHARS = 200
MAX_ALIASES = 32
_MADE_TITLE_CHARS = 100

# Redaction reads at most this much of a content, of which 50,000 bytes are kept: a gigabyte pasted by mistake
# must not hold the server up.
READ_LIMIT_CHARS = 1_000_000


@dataclass(frozen=True, slots=True)
class Prepared:
    """A draft fit to be stored: nothing secret, nothing over-long, every field valid."""

    title: str
    content: str
    type: str
    scope: Scope | None
    topic_key: str | None
    aliases: str
    tool_name: str | None
    content_hash: str
    redacted: int
    truncation: TruncatedContent | None
    warnings: tuple[Told, ...]
    about: str | None = None

    @property
    def terms(self) -> str:
        return derived_terms(self.title, self.topic_key or "", self.aliases, self.content)

    @property
    def columns(self) -> dict[str, str | None]:
        """The columns of the row that come from the text."""
        names = ("type", "title", "content", "topic_key", "aliases", "terms", "tool_name", "content_hash")
        return {name: getattr(self, name) for name in names}


def prepare(draft: Draft) -> Prepared:
    """Redact, validate and bound a draft.

    Raises:
        EmptyFieldError: nothing is left of the title or the content.
        TextTooLongError: the title is over 1,000 characters, or another name over its limit.
        InvalidTextError: a NUL byte or a lone surrogate.
        InvalidTopicKeyError, InvalidArgumentError: a topic key without letters, a scope that does not exist.
    """
    if len(draft.title) > TITLE_LIMIT_CHARS:
        raise TextTooLongError("title", len(draft.title), TITLE_LIMIT_CHARS)
    content, truncation, hidden_content = clean_content(draft.content)
    aliases, hidden_aliases = _clean_aliases(draft.aliases)
    lines = clean_lines(draft if draft.type.strip() else replace(draft, type=DEFAULT_TYPE))
    kept: dict[str, Any] = dict.fromkeys(_LINES) | {name: line for name, (line, _) in lines.items()}
    tool_name = (draft.tool_name or "").strip()
    redacted = hidden_content + hidden_aliases + sum(hidden for _, hidden in lines.values())
    paths = tuple(reason("path_of_machine", path=path) for path in absolute_paths(content)[:1])
    return Prepared(
        **kept,
        content=content,
        aliases=aliases,
        tool_name=clean_line("tool_name", tool_name, limit=NAME_LIMIT_CHARS)[0] if tool_name else None,
        content_hash=content_hash(content),
        redacted=redacted,
        truncation=truncation,
        warnings=(*intake_notes(redacted, truncation), *paths),
        about=slug_of(draft.about) if draft.about is not None else None,
    )


def clean_lines(given: Draft | Change) -> dict[str, tuple[Any, int]]:
    """Return the given lines of an observation as they are kept, each with the number of secrets in it."""
    texts = {name: getattr(given, name) for name in _LINES}
    # A blank scope is none given, a blank topic key takes the key away.
    return {n: _LINES[n](text) for n, text in texts.items() if text is not None and (n != "scope" or text.strip())}


def title_of(text: str) -> str:
    """Return a title for a text that has none: its first 100 characters."""
    line = " ".join(text.split())
    return line if len(line) <= _MADE_TITLE_CHARS else line[: _MADE_TITLE_CHARS - 1].rstrip() + "…"


def clean_line(field: str, text: str, *, limit: int) -> tuple[str, int]:
    """Return a required single line, redacted and trimmed, and the number of secrets. Line breaks become blanks."""
    check_text(field, text)
    hidden = redact(text[: 4 * limit])
    line = " ".join(hidden.text.split())
    if not line:
        raise EmptyFieldError(field)
    if len(text) > 4 * limit or len(line) > limit:
        raise TextTooLongError(field, len(text), limit)
    return line, hidden.count


def clean_content(text: str, *, field: str = "content") -> tuple[str, TruncatedContent | None, int]:
    """Return a required text, redacted and cut to 50,000 bytes, with what was cut and the number of secrets."""
    check_text(field, text)
    original = len(text.encode())
    hidden = redact_head(text, READ_LIMIT_CHARS)
    body = hidden.text.strip()
    if not body:
        raise EmptyFieldError(field)
    kept = truncate_utf8(body, CONTENT_LIMIT_BYTES)
    if not kept.truncated:
        return body, None, hidden.count
    return kept.text, TruncatedContent(original, kept.stored_bytes, CONTENT_LIMIT_BYTES), hidden.count


def clean_topic_key(topic_key: str | None) -> tuple[str | None, int]:
    """Return a topic key in its canonical form, None for a blank one, and the number of secrets."""
    if topic_key is None or not topic_key.strip():
        return None, 0
    check_text("topic_key", topic_key)
    hidden = redact(topic_key[:NAME_LIMIT_CHARS])
    return normalize_topic_key(hidden.text), hidden.count


def _clean_type(kind: str) -> tuple[str, int]:
    line, hidden = clean_line("type", kind, limit=TYPE_LIMIT_CHARS)
    return line.lower(), hidden


# The fields of one line that callers give: how each is cleaned.
_LINES: dict[str, Callable[[str], tuple[str | None, int]]] = {
    "title": lambda title: clean_line("title", title, limit=TITLE_LIMIT_CHARS),
    "type": _clean_type,
    "scope": lambda scope: (clean_scope(scope), 0),
    "topic_key": clean_topic_key,
}


def slug_of(name: str) -> str:
    """Return the slug of an entity: its name in lower case, with dashes. Raises InvalidInputError."""
    line, _ = clean_line("entity", name, limit=NAME_LIMIT_CHARS)
    slug = dashed(line)
    if not slug:
        raise InvalidArgumentError("entity", name, expected="a name with letters or digits")
    return slug


def _clean_aliases(aliases: tuple[str, ...]) -> tuple[str, int]:
    hidden = 0
    cleaned: list[str] = []
    for alias in aliases[:MAX_ALIASES]:
        if alias.strip():
            line, count = clean_line("aliases", alias, limit=NAME_LIMIT_CHARS)
            cleaned.append(line.replace(";", ","))
            hidden += count
    return "; ".join(cleaned), hidden


def clean_branch(branch: str | None) -> str | None:
    """Return the name of a branch, None when a secret is in it: such a row is known by its commit alone."""
    return None if branch and redact(branch).count else branch


def intake_notes(redacted: int, truncation: TruncatedContent | None) -> tuple[Reason, ...]:
    """Return the notes on what of a text was redacted or cut."""
    found = (reason("not_stored", count=redacted),) if redacted else ()
    return (*found, cut_note(truncation)) if truncation else found


def cut_note(truncation: TruncatedContent) -> Reason:
    return reason("cut", **asdict(truncation))


_END = r"\s\"'`<>|:;,()\[\]{}*"
_POSIX = rf"/(?:home|Users)/(?!Shared\b)[^/${_END}]+(?:/[^{_END}]*)?|/root/[^{_END}]+"
_WINDOWS = rf"[A-Za-z]:(?:\\{{1,2}}|/)Users(?:\\{{1,2}}|/)[^%${_END}]+"
_ABSOLUTE = regex(rf"(?:(?<![\w./~:}}-])|(?<=file://))(?:{_POSIX})|(?<!\w){_WINDOWS}")


def absolute_paths(text: str) -> list[str]:
    """Return the paths below somebody's home directory that ``text`` names: they mean nothing on other machines."""
    if "/home/" not in text and "/root/" not in text and "Users" not in text:
        return []
    found = (match[0].rstrip(".!?\\/") for match in _ABSOLUTE.finditer(text))
    return list(dict.fromkeys(found))
