"""Sessions: one run of an agent in a project, and what was said in it.

``sessions.Sessions`` starts, ends and lists them, ``prompts`` keeps what the person typed and what the
session left behind, ``transcripts`` buffers turns, ``spool`` stores what a hook could not store in time.
"""
