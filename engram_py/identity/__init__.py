"""Who the person is and how they want to be worked with: statements that always hold, and a profile of them.

``identity.py`` adds, lists and removes statements, ``profile.py`` reads and writes the profile. All of it is
observations, saved by ``observations.save``.
"""
