"""The domain as frozen values; no I/O."""
