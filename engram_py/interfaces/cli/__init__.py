"""The command line.

``main`` is the ``engram`` command and its list of commands; each module holds the commands of one noun or of a few,
and is imported when one of them runs. ``commands`` makes them: options, settings, the open memory, refusals, groups,
what they print and ask; ``tables`` prints results as tables.
"""
