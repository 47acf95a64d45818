"""The baseline: the smallest server one would write with the same SDK. Run as a script."""

from __future__ import annotations

from mcp.server import MCPServer

# Quiet, because a line of log for each call would be charged to the baseline and flatter us.
server = MCPServer("one-tool", log_level="ERROR")


@server.tool()
def ping() -> str:
    """Answer."""
    return "pong"


if __name__ == "__main__":
    server.run("stdio")
