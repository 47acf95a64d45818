"""Database: the one room that opens SQLite.

``store.Store`` is the connection and its transactions, ``journal.Journal`` stamps and queues changes,
``migrations`` brings the schema up to date, ``compaction`` and ``fts_*`` keep the full-text index in few
pieces.
"""
