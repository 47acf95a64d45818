"""Documents: texts the user owns (files, commit messages), indexed where they lie and quoted, never rewritten.

``app.documents`` has every operation: update, add, remove, search, open. A collection is a named source of documents
of a project: its ``git`` history (``history``), its ``docs``, and the folders somebody added
(``files``); ``passages`` cuts a text.
"""
