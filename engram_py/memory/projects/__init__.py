"""Projects: from a directory to the project it belongs to.

``Projects`` resolves the project of a call and lists projects; ``locate`` finds the project of a directory;
``Identities`` maps repositories, names and aliases to projects; ``Merging`` merges and renames them. ``settings_file``
reads and writes ``.engram.json``.
"""
