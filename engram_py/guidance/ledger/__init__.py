"""Ledger: what answers cost in tokens, and which observations agents cited.

``Ledger`` counts the bytes of answers, ``Costs`` adds them up, and ``Citations`` records what was injected and cited;
``citation_factor`` turns that into a factor of rank.
"""
