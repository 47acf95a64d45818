"""What other programs kept, brought into the form of an export: one module for each kind of source."""
