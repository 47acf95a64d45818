"""Database: the one room that opens SQLite.

``store.Store`` is the connection and its transactions, ``journal.Journal`` stamps and queues changes, ``migrations``
brings the schema up to date. ``fts`` rebuilds and merges the full-text index, ``compaction`` does so in the background;
``health``, ``soundness`` and ``backup`` check, repair and copy the file.
"""
