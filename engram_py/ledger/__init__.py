"""Ledger: what answers cost in tokens, and which of them agents cited."""
