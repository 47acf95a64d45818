"""Index: the SQL of the full-text index, its vocabulary and its counts."""
