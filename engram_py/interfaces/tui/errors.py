"""What keeps ``engram tui`` from drawing."""

from __future__ import annotations

from engram_py.errors import TerminalError


class NoTerminalError(TerminalError):
    code = "no_terminal"

    def __init__(self, why: str) -> None:
        super().__init__(
            f"engram tui needs a terminal that it can draw on: {why}",
            hint="`engram list`, `engram search` and `engram sessions` print anywhere",
        )


class TextualMissingError(TerminalError):
    code = "textual_missing"

    def __init__(self) -> None:
        super().__init__("the package textual is not installed", hint="pip install 'engram-py[tui]'")
