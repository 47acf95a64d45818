"""From a directory to the project it belongs to; the only room that knows git."""
