"""Profiling: collect a profile of any script, read any profile, say where the time goes and what it could save."""
