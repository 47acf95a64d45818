"""The command line.

``main`` is the ``engram`` command and its list of commands; each module holds the commands of one noun and is imported
when one of them runs. ``commands`` makes them: options, settings, the open memory, refusals, groups. ``terminal``
prints and asks; ``tables`` prints results as tables.
"""
