"""Interchange: the memory as a file, and the memories of other programs.

``exporting`` and ``importing`` speak Engram's JSON; ``importers`` and ``sources/`` read what other programs
kept.
"""
