"""The words of results, shared by all interfaces.

``render`` prints any result as text or JSON, and knows which file words the results of which room. ``search`` words
searches and how they went, ``upkeep`` retrieval tests too, ``sync`` a repository and a server. ``phrases`` holds
what several files say.
"""
