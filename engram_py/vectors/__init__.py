"""Vectors: how near observations are to a question in meaning, computed after the writes.

``vectors.Vectors`` is asked by searches; ``static``, ``sentence`` and ``endpoint`` are embedders behind one
``protocol``; ``index`` searches, ``upkeep`` and ``worker`` compute what is pending.
"""
