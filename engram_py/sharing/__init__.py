"""A memory in other places: repositories, the team's server, imports and exports, a vault of notes."""
