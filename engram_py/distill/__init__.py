"""Distill the turns of a session into one summary: ``distilling.py`` decides when and whose text stays, a distiller
(``heuristic``, ``command``, ``http``) writes it."""
