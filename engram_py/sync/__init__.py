"""Sync: machines that exchanged the same mutations hold the same memory.

``mutation``, ``wire``, ``merge`` and ``chunk`` are pure: values, their JSON, which state wins, Engram's chunk files.
``sealing`` encrypts chunks. ``replica/`` applies what arrives and reports what changed;
``git/`` moves chunks through a repository, ``autosync/`` moves mutations through a server.
"""
