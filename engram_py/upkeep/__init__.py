"""Upkeep: the doctor, backups, and rebuilding what is derived."""
