"""Clocks, mutations and chunks: what other machines share."""
