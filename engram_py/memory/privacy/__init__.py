"""Privacy: what the user lets engram record, inject and share.

``Switches`` answers what hooks may do and stores the user's choice, ``retention`` deletes old turns, and ``Clearing``
destroys turns, a project or everything.
"""
