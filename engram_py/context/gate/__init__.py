"""Gate: whether a prompt deserves memory unasked, and which kind. Pure functions of its words."""
