"""Entities: what has a name. Its own row is the observation with the topic ``entity/<slug>``; facts about it name its
slug, edges between two are rows of ``memory_relations``.

Ask ``Entities``. An entity has a row once there is something to say of it; until then it is a name that is mentioned.
"""
