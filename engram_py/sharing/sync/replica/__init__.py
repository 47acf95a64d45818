"""The memory as one of several replicas.

``replica.Replica`` returns what changed here, applies what changed elsewhere, derives what follows and computes the
digest that two machines compare. ``outgoing`` makes mutations of rows. ``models`` checks the rows that arrive,
``columns`` and ``parse`` read and redact them, ``apply`` writes them within a ``batch``. ``project_access`` keeps the
rows of one project out of another.
"""
