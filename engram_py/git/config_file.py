"""A small reader for git's configuration files, and the remote URL they name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from engram_py.dataclass import dataclass
from engram_py.files import read_bounded

MAX_CONFIG = 1 << 20
_MAX_INCLUDES = 5

_HEADER = re.compile(r'\[\s*([A-Za-z0-9.-]+)\s*(?:"((?:[^"\\]|\\.)*)"\s*)?\]')
_KEY = re.compile(r"([A-Za-z][A-Za-z0-9-]*)\s*(=?)\s*")
_PIECE = re.compile(r'\\(.?)|(")|([#;])|(\s+)|([^\\"#;\s]+)')
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a configuration: ``section.subsection.key = value``; section and key in lower case."""

    section: str
    subsection: str | None
    key: str
    value: str


def parse_config(text: str) -> Iterator[Entry]:
    """The entries of a configuration, in order; lines that git would refuse are passed over."""
    lines = iter(text.removeprefix("\ufeff").split("\n"))
    section, subsection = "", None
    for line in lines:
        rest = line.strip()
        if header := _HEADER.match(rest):
            section, subsection = _section(header[1], header[2])
            rest = rest[header.end() :].strip()
        key = _KEY.match(rest)
        if key and section:
            value = _value(rest[key.end() :], lines) if key[2] else "true"
            yield Entry(section, subsection, key[1].lower(), value)


def load_config(path: Path) -> list[Entry]:
    """The entries of the file at ``path`` and of what it includes.

    Conditional includes stay as entries: git's conditions are GitPython's business.

    Raises:
        OSError: ``path`` itself cannot be read; an include that cannot be is passed over, as git does.
    """
    entries: list[Entry] = []
    _load(path, entries, depth=0)
    return entries


def has_conditions(entries: list[Entry]) -> bool:
    """Whether what the configuration says depends on where it is read from."""
    return any(entry.section == "includeif" for entry in entries)


def is_set(entries: list[Entry], section: str, key: str) -> bool:
    """Whether the last entry of that name, which is the one that counts, says yes."""
    values = [one.value for one in entries if (one.section, one.subsection, one.key) == (section, None, key)]
    return bool(values) and values[-1].lower() not in ("", "0", "false", "no", "off")


def remote_url(entries: list[Entry]) -> str | None:
    """Where ``origin`` is fetched from, else the alphabetically first remote, after ``insteadOf``."""
    remotes: dict[str, list[str]] = {}
    for entry in entries:
        if entry.section == "remote" and entry.key == "url" and entry.subsection is not None:
            urls = remotes.setdefault(entry.subsection, [])
            if entry.value:
                urls.append(entry.value)
            else:  # an empty value forgets the ones before it
                urls.clear()
    named = {name: urls[0] for name, urls in remotes.items() if urls}
    if not named:
        return None
    return _rewritten(named.get("origin") or named[min(named)], entries)


def _rewritten(url: str, entries: list[Entry]) -> str:
    rules = [
        (entry.value, entry.subsection or "")
        for entry in entries
        if entry.section == "url" and entry.key == "insteadof" and entry.value and url.startswith(entry.value)
    ]
    if not rules:
        return url
    prefix, base = max(rules, key=lambda rule: len(rule[0]))
    return base + url[len(prefix) :]


def _load(path: Path, entries: list[Entry], *, depth: int) -> None:
    text = read_bounded(path, MAX_CONFIG).decode("utf-8", errors="replace")
    for entry in parse_config(text):
        entries.append(entry)
        if entry.section == "include" and entry.key == "path" and depth < _MAX_INCLUDES:
            try:
                _load(path.parent / Path(entry.value).expanduser(), entries, depth=depth + 1)
            except (OSError, RuntimeError):
                continue


def _section(name: str, quoted: str | None) -> tuple[str, str | None]:
    if quoted is not None:
        return name.lower(), re.sub(r"\\(.)", r"\1", quoted)
    # `[remote.origin]` is the old spelling, and case does not matter in it.
    section, dot, subsection = name.lower().partition(".")
    return section, subsection if dot else None


def _value(rest: str, lines: Iterator[str]) -> str:
    if not any(char in rest for char in '\\"#;'):
        return rest.strip()
    out: list[str] = []
    solid, quoted, going = 0, False, True
    while going:
        going = False
        for escape, quote, comment, blank, plain in _PIECE.findall(rest):
            if comment and not quoted:
                break
            if quote:
                quoted = not quoted
            out.append(blank or plain or comment or _ESCAPES.get(escape, escape))
            if not blank or quoted:
                solid = len(out)
        else:
            # A backslash at the end of the line continues the value on the next.
            trailing = len(rest) - len(rest.rstrip("\\"))
            following = next(lines, None) if trailing % 2 else None
            if following is not None:
                rest, going = following.rstrip("\r"), True
    return "".join(out[:solid])
