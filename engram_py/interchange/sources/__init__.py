"""Sources: one module for each kind of program, which brings its memory into the form of an export."""
