"""The words of results, shared by all interfaces.

``render`` prints any result as text or JSON. A result of a room is worded in the file named after that room; ``search``
and ``explain`` word searches, ``evaluation`` words retrieval tests, ``sync`` a repository and ``cloud`` a server.
"""
