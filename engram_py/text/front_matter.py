"""The front matter of a Markdown document."""

from __future__ import annotations

import re

_PAIR = re.compile(r"([A-Za-z_][\w-]{0,60}):\s*(.*)$")
_ITEM = re.compile(r"\s*-\s+(.*)$")


def front_matter(text: str) -> tuple[dict[str, str], str]:
    """Return the ``name: value`` pairs before a document, and the document behind them. Only simple values are read."""
    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or lines[0].strip() != "---":
        return {}, text
    try:
        end = next(number for number, line in enumerate(lines[1:200], 1) if line.strip() in ("---", "..."))
    except StopIteration:
        return {}, text
    values: dict[str, str] = {}
    name = ""
    for line in lines[1:end]:
        if pair := _PAIR.match(line):
            name = pair[1].lower()
            values[name] = pair[2].strip().strip("\"'[]").replace('"', "")
        elif name and (item := _ITEM.match(line)):
            values[name] = ", ".join(filter(None, (values[name], item[1].strip("\"'"))))
    return values, "\n".join(lines[end + 1 :])
