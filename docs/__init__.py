"""What writes the generated parts of docs/reference; not part of the package that is installed."""
