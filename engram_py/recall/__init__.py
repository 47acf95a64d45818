"""Recall: from a query to the observations that answer it, or to the reason why none does.

``search.Search`` is the one function every door asks. It parses (``query``), looks words up (``terms``, ``index``),
scores rows (``retrieval``, ``score``), and makes ``hits`` of them or says why there are none. ``bulk`` lists and
changes what filters match, ``contradictions`` finds what a save may contradict.
"""
