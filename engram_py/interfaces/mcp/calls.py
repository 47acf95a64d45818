"""Runs a tool call: opens the memory on the first one, parses, calls, renders, and words every failure."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mcp.types import CallToolResult, TextContent

from engram_py.errors import EngramError
from engram_py.interfaces import render
from engram_py.interfaces.mcp.tooling import Tool

if TYPE_CHECKING:
    from engram_py.app import Engram

logger = logging.getLogger(__name__)


class Memory:
    """The memory of a server process: opened by the first call that needs it, and tried again after a failure."""

    def __init__(self, open_memory: Callable[[str], Engram]) -> None:
        self._open = open_memory
        self._lock = threading.Lock()
        self._app: Engram | None = None

    def get(self, agent: str = "") -> Engram:
        """The open memory. Raises EngramError when it cannot be opened now."""
        with self._lock:
            if self._app is None:
                self._app = self._open(agent)
            return self._app

    def close(self) -> None:
        """End this process's own sessions and close the file, unless a call still holds it."""
        if self._app is None or not self._lock.acquire(timeout=0.2):
            return
        try:
            self._app.close()
        except EngramError as exc:
            logger.warning("closing the memory: %s", exc.message)
        finally:
            self._lock.release()


def run_tool(tool: Tool, arguments: dict[str, Any], memory: Memory, agent: str) -> CallToolResult:
    """The answer to a call. A refusal carries code, message and hint; a bug only says that it happened."""
    wants_json = arguments.get("response_format") == "json"
    try:
        values, answer, notes = tool.parse(arguments)
        app = memory.get(agent)
        value = tool.function(app, **values)
        if answer == "json":
            return _result(_json_answer(value, notes))
        body = render.text(value, now=app.journal.moment(), full=answer == "full")
        return _result(render.with_notes(body, notes))
    except EngramError as exc:
        text = json.dumps(exc.details(), ensure_ascii=False) if wants_json else render.error_text(exc)
        return _result(text, error=True)
    except Exception:
        logger.exception("%s failed", tool.name)
        text = f"internal_error: {tool.name} failed\nhint: the server's log says why; `engram doctor` checks the memory"
        return _result(text, error=True)


def _json_answer(value: object, notes: list[str]) -> str:
    values = render.to_json(value)
    if notes:
        values["warnings"] = [*values.get("warnings", ()), *notes]
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"))


def _result(text: str, *, error: bool = False) -> CallToolResult:
    # Half a surrogate pair in what somebody sent must not come back and break the stream.
    clean = text.encode("utf-8", "replace").decode()
    return CallToolResult(content=[TextContent(type="text", text=clean)], is_error=error)
