"""Git: what is asked of a repository.

``repository`` reads HEAD, the common directory and the remote from git's files, because a hook needs them at once.
All else (``answers``, ``work``) is asked of the git program through ``program``, within a time limit. GitPython makes
the demo's repository and reads none of the user's: an ``include`` of a pipe in a repository's configuration holds it
for good, it runs that repository's fsmonitor, refuses an index of version 4, and takes 0.15 s to import.
"""
