"""Putting engram into coding agents and taking it out again: their configuration files, edited in place."""
