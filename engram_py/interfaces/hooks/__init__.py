"""``engram hook``: what an agent's program runs at the turns of a session."""
