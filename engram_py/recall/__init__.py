"""Recall: from a query to the observations that answer it, or to the reason why none does.

``search.Search`` is the one function every door asks. It parses (``query/``), collects ``candidates`` from
the full-text index (``index/``), scores them (``score/``), makes ``hits`` and explains silence
(``answer_notes``). ``bulk`` lists and changes what filters match, ``related`` finds what a save may contradict.
"""
