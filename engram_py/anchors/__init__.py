"""Anchors: the files an observation is about, and whether they changed since.

``anchors.Anchors`` records them at a save and compares them at recall. ``extract`` finds paths in a text,
``record`` hashes them, ``states`` and ``settle`` tell fresh from changed, ``moves`` follows renames,
``visibility`` tells which branch an observation belongs to.
"""
