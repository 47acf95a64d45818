"""The memory as one of several replicas.

``replica.Replica`` returns what changed here, applies what changed elsewhere and computes the digest that two machines
compare. ``outgoing`` makes mutations of rows, ``reading`` parses and redacts payloads, ``incoming`` and ``observing``
apply them, ``settling`` derives what follows. ``project_access`` keeps the rows of one project out of another.
"""
