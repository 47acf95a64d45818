"""What writes the generated half of DOCS.md; not part of the package that is installed."""
