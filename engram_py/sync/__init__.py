"""Sync: any machines that exchanged the same mutations hold the same memory.

``mutation``, ``wire``, ``merge`` and ``chunk`` are the pure parts; ``replica/`` applies what arrives,
``git/`` moves chunks through a repository, ``autosync/`` through a server.
"""
