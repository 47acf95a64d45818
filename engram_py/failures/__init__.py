"""Failures: commands that failed, what made the same command pass, and telling it when the error returns.

``signature`` finds in an output the lines by which an error is known again, ``failures.Failures`` keeps failures and
their fixes (derived observations of type ``fix``) and looks fixes up, ``table`` is its SQL.
"""
