"""Text: words, terms and forms, as saving and searching share them. Pure functions."""
