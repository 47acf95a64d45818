"""Anchors: the files an observation is about, and whether they changed since.

``anchors.Anchors`` records them at a save and compares them at recall. ``record`` finds paths in a text and hashes
the files, ``states`` tells fresh from changed, ``worktree`` reads files, ``trace`` asks git's history,
``moved_files`` follows renames, ``visibility`` tells which branch an observation belongs to.
"""
