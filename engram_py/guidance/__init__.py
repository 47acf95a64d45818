"""What an agent is given at its start, at a prompt, before and after a command, and what came of it."""
