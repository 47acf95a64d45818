"""Relations: what connects two observations or entities, and the verdicts on them.

Ask ``Relations`` for verdicts and lists of them; ``table`` has the SQL that other rooms read.
"""
