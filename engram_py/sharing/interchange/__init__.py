"""Interchange: the memory as a file, and the memories of other programs.

``transfer.Transfer`` exports and imports Engram's JSON; ``importers.Importers`` imports from other programs through
``sources``, which brings each into the form of an export. ``import_rows`` hands its rows to the replica.
"""
