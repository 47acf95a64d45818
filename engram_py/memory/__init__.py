"""The nouns that are remembered, and whose they are."""
