"""Sessions: one run of an agent in a project, and what was said in it.

``Sessions`` starts, ends, lists and deletes them. ``Prompts`` keeps what the person typed, ``Episodes`` the summary and
the learnings a session leaves. ``Transcripts`` buffers turns, which ``transcript_formats`` parses. ``spool_files``
holds what a hook could not store in time and ``Spool`` stores it later. ``checkpoints`` keeps the states of
agents and says what each left.
"""
