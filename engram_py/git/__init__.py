"""Git: what is asked of a repository.

``repository`` reads HEAD, the common directory and the remote from git's files, because a hook needs them at once.
All else (``answers``, ``work``) is asked of the git program through ``program``, within a time limit: it reads every
repository there is, and answers in 2 ms while a library is still being imported.
"""
