"""Guards: what a decision speaks against, told before a tool does it (``Guards.before``) and in a diff (``check``).

A guard is data of its observation (the column ``guards``) and travels with it. ``values`` has the guard and its JSON,
``expressions`` patterns that no text makes slow, ``matching`` whether an act breaks a guard, ``proposals`` the guard
that a text offers, ``diff`` the acts of a diff.
"""
