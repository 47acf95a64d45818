"""Query: from what somebody typed to words, phrases, exclusions, filters and dates."""
