"""Observations: what a session learned, kept under an id.

``Observations`` saves (``save``), changes, deletes and restores (``edit``), and reads by id (``observations``);
``recall.bulk`` works on many at once. ``Facts`` and ``Notes`` keep sentences about entities and days; ``Browsing``
lists whole rows; ``topics`` says which row holds an evolving answer; ``Usage`` counts how often a row was shown.
``values`` and ``listing`` are what goes in and out, ``validation`` checks and redacts a draft, and the SQL is in
``table``.
"""
