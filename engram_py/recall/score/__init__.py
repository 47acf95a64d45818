"""Score: how well a row answers a query. Pure functions."""
