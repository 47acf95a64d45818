"""From text to drafts worth keeping; pure functions."""
