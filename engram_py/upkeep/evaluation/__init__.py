"""Evaluation: the user's own retrieval tests, asked again after a change.

``evaluation.Evaluations`` keeps questions with their answers, asks them, and compares with the run that was kept.
"""
