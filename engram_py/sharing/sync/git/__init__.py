"""Sync through ``.engram/``, a folder of chunks in a git repository.

Ask ``service.GitSync`` (``app.git_sync``) to sync, to report the status, to trust devices and to install git hooks.
``places`` finds the repository and its project, ``exporter`` writes chunks, ``importer`` reads them, ``folder`` is
the files.
"""
