"""Sync: machines that exchanged the same mutations hold the same memory.

``mutation`` and ``chunk`` are pure: values and their JSON, which state wins, Engram's chunk files.
``sealing`` encrypts and signs chunks. ``replica/`` applies what arrives and reports what changed; ``base/git/`` moves
chunks through a repository, ``autosync/`` moves mutations through a server.
"""
