"""Checkpoints: the state of an agent, kept whole and given back byte for byte, out of every search."""
