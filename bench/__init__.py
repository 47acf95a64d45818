"""DESIGN.md's budgets, measured: ``python -m bench``. Every line has a baseline from the same run, interleaved."""
