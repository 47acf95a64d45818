"""The memory as one of several replicas: what it tells the others, and what becomes of what they tell."""
