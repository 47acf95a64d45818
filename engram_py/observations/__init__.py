"""Observations: what a session learned, kept under an id.

``observations.Observations`` saves (``save``), reads (``read``) and changes (``edit``) them; ``relations``
and ``conflicts`` hold verdicts on pairs, ``topic_keys`` names evolving answers, ``usage`` counts how often a
row was shown. ``values`` are what goes in and out, ``table`` is the SQL.
"""
