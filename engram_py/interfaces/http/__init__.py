"""The HTTP server: Engram's routes, and the MCP endpoint."""
