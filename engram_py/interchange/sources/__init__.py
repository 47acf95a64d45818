"""Sources: what other programs kept, brought into the form of an export. One module for each kind."""
