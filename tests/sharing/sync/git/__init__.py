"""Sync through a git repository."""
