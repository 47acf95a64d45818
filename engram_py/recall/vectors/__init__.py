"""Vectors: how near observations are to a question in meaning, computed after the writes.

``vectors.Vectors`` is asked by searches; ``embedders`` and ``endpoint`` are embedders behind one ``protocol``,
``model`` loads the one that is set; ``index`` searches, ``upkeep`` computes what is pending.
"""
