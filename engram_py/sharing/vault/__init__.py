"""The vault: the memory as a folder of Markdown that a person reads, edits and commits.

SQLite stays the one truth. ``vault.Vault`` writes the folder and takes back what was edited there (``applying``);
``markdown`` has the two directions of one text, ``folder`` the files and which row has its home in which.
"""
