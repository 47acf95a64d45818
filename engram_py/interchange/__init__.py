"""Interchange: the memory as a file, and the memories of other programs.

``transfer.Transfer`` exports and imports Engram's JSON; ``importers.Importers`` imports from other programs through
``sources/``, which bring each into the form of an export. ``columns`` makes our columns of rows from elsewhere.
"""
