"""A plan: which runs there shall be. Read from YAML, expanded, and checked before anything starts."""
