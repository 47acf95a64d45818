"""Privacy: what the user lets engram record, inject and share, how long raw messages stay, and how to clear
them.
"""
