"""Sync through ``.engram/``, a folder in a git repository, in two formats: chunks, and a file for each memory.

Ask ``service.GitSync`` (``app.git_sync``) to sync, to report the status, to trust devices and to install git hooks.
``places`` finds the repository and its project, ``keys`` the key of an encrypted folder. ``chunks`` and
``memory_files`` have a class for each format, which reads, writes and reports its status.
"""
