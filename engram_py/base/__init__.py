"""Everything below the memory: the database, git, text and its capture, settings, times, files and errors."""
