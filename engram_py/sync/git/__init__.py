"""Sync through a folder of chunks that lives in a git repository."""
