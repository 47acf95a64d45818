"""The only room that speaks SQLite."""
