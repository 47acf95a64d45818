"""The command line.

``main`` is the ``engram`` command and its list of commands; each module holds the commands of one noun and is imported
when one of them runs. ``support`` opens the memory, prints results and refusals, and asks; ``tables`` prints results on
a terminal.
"""
