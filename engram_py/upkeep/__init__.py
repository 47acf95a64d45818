"""Upkeep: keep the file healthy.

``doctor.Doctor`` checks and repairs, ``reindex`` rebuilds derived terms and indexes
while others write, ``maintenance`` runs the passes when they are due. ``statistics`` counts what is kept, ``hook_log``
records failures of hooks.
"""
