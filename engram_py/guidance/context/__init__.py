"""Context: what a session or a prompt is given without asking for a row, within a budget.

``contexts.Contexts`` assembles four orderings (``session``, ``prompt``, ``cascade``) of the same
``providers``; ``gate/`` decides whether a prompt deserves memory at all.
"""
