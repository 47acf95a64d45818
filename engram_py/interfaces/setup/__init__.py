"""Setup: put engram into coding agents and take it out again, byte for byte.

``installing.Setup`` is what the commands ask. ``agents`` is the table of agents and what each of their files should
hold, ``file_edits`` plans and makes the change of each, ``formats`` edits their texts; ``manifest`` keeps the bytes
from before. ``machine`` is the computer as a value, with the command that starts engram and the plugins
that agents installed themselves.
"""
