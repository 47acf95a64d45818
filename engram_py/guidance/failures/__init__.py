"""Failures: commands that failed, what made the same command pass, and telling it when the error returns.

``failures.Failures`` is what hooks tell and ask. ``signature`` finds in an output the lines by which an error is known
again, ``fixes.Fixes`` makes fixes (derived observations of type ``fix``) and looks for what speaks of an error, and
``table`` is the SQL of what failed.
"""
