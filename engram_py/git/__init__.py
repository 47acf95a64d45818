"""Git: what is asked of a repository.

HEAD, the common directory, the index and configuration are read from git's files, because a hook answers
before a git process has started; ``program`` asks git for the rest, within a time limit.
"""
