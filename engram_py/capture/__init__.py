"""Capture: from text to drafts worth keeping. Pure functions.

``redact`` takes credentials out before anything else sees a text; ``passive`` reads learnings from an agent's
message.
"""
