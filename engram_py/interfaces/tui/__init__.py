"""The terminal interface, ``engram tui``: what is remembered, what was said, and why. Needs the extra ``tui``."""
