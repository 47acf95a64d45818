"""Capture: from text to what is worth keeping. Pure functions.

``redact`` removes credentials and private passages; ``plain`` tells cheaply that a text has none. ``passive`` parses
learnings from a message and removes injected memory blocks; ``orders`` finds instructions to the model;
``trivial_prompts`` recognises prompts that need no memory.
"""
