"""What one can do with a memory, in the words of the domain; transactions begin here."""
