"""Distill the turns of a session into one summary: ``distilling`` decides when and whose text stays, ``summarizing``
gathers the facts, a distiller (``heuristic``, or ``model``: a program or an endpoint) writes it.
"""
