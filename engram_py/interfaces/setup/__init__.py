"""Setup: put engram into coding agents and take it out again, byte for byte.

``installing.Setup`` is what the commands ask. ``agents`` is the table of agents, ``file_contents`` what each of their
files should hold, ``planning`` the changes, ``edits`` and the formats (``jsonc``, ``toml_document``) the texts;
``manifest`` keeps the bytes from before. ``machine`` is the computer as a value, with the command that starts engram.
"""
