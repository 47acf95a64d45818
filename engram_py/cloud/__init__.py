"""The team's server: keeps what replicas push in PostgreSQL, and gives each the rows of the projects it may read."""
