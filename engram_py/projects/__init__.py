"""Projects: from a directory to the project it belongs to, and what can be done with projects.

``locate`` finds the project of a directory, ``projects.Projects`` the project of a call, ``identities`` the
repository behind a name, ``merge`` joins two. ``settings_file`` reads ``.engram.json``.
"""
