"""The vault: the memory as a folder of Markdown that a person reads, edits and commits.

SQLite stays the one truth. ``vault.Vault`` writes the folder and takes back what was edited there; ``rendering`` and
``parsing`` are the two directions of one text, ``layout`` says which row has its home in which file.
"""
