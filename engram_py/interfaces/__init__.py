"""The doors: each parses, calls one service, and renders."""
