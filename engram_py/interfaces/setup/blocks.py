"""Our lines in a text that is somebody else's: between two marks, replaced in place, taken out whole."""

from __future__ import annotations

from engram_py.interfaces.setup.jsonc import UnreadableTextError

BEGIN = "<!-- engram:begin - `engram unsetup` removes this part -->"
END = "<!-- engram:end -->"


def with_block(text: str, body: str) -> str:
    """The text with our part, at its end if it had none.

    Raises UnreadableTextError: the marks are there, but not as one pair.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    block = f"{BEGIN}\n{body.strip()}\n{END}".replace("\n", newline)
    found = _span(text)
    if found is not None:
        return text[: found[0]] + block + text[found[1] :]
    if not text.strip():
        return block + newline
    gap = "" if text.endswith("\n") else newline
    return f"{text}{gap}{newline}{block}{newline}"


def without_block(text: str) -> str:
    """The text without our part and the empty line before it."""
    found = _span(text)
    if found is None:
        return text
    before, after = text[: found[0]], text[found[1] :]
    for newline in ("\r\n", "\n"):
        if after.startswith(newline):
            after = after.removeprefix(newline)
            before = before.removesuffix(newline) if before.endswith(newline * 2) else before
            break
    return before + after


def _span(text: str) -> tuple[int, int] | None:
    starts, ends = text.count(BEGIN), text.count(END)
    if not starts and not ends:
        return None
    start, end = text.find(BEGIN), text.find(END)
    if (starts, ends) != (1, 1) or end < start:
        raise UnreadableTextError(f"its marks {BEGIN} and {END} do not form one pair")
    return start, end + len(END)
