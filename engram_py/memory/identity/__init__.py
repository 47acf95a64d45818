"""Identity: statements about the person and how they want to be worked with, which that always hold, and a profile of
them.

``identity.Identity`` adds, lists and removes statements, and reads and writes the profile. All of it is
observations, saved by ``observations.save``; ``statements`` has the values and the SQL.
"""
