"""From the words somebody typed to a ranked answer; pure functions."""
