"""Observations: what a session learned, kept under an id.

``Observations`` saves (``save``), changes (``edit``), deletes and restores (``delete``), works on many at once
(``bulk``) and reads by id (``observations``). ``Facts`` and ``Notes`` keep sentences about entities and days;
``Browsing`` lists whole rows; ``topics`` says which row holds an evolving answer; ``Usage`` counts how often a row was
shown. ``values`` and ``listing`` are what goes in and out, ``validation`` checks and redacts a draft,
and the SQL is in ``*table``.
"""
