"""The words of results, shared by all interfaces.

``render`` prints any result as text or JSON. A result of a room is worded in the file named after that room; ``search``
and ``explain`` word searches, ``evaluation`` words retrieval tests, ``sync`` a repository, ``cloud`` a server, and
``setup`` and ``why`` the commands of those names. ``phrases`` holds what several files say.
"""
