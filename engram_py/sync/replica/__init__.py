"""The memory as one of several replicas.

``replica.Replica`` returns what changed here, applies what changed elsewhere and computes the digest that two machines
compare. ``outgoing`` makes mutations of rows, ``parse`` reads and redacts payloads, ``apply`` and
``apply_observations`` write them, ``settle`` derives what follows. ``project_access`` keeps the rows of one project
out of another.
"""
