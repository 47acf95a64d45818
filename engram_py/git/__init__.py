"""Git: what is asked of a repository.

HEAD, the common directory, the index and configuration are read from git's files, because a hook has 80 ms for all it
does: importing pygit2 takes 70 ms, GitPython 80, dulwich 107 (Python 3.11); to read these files takes 1.5. ``program``
asks git for the rest, within a time limit; ``fallback`` asks GitPython where only git's own rules tell (conditional
includes, the reftable format).
"""
