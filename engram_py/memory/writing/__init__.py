"""The write path: services that join several nouns in one transaction, above all of them."""
