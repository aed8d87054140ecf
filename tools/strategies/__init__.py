"""Judges the memory formula of `plan`: which of two strategies needs less, as a rehearsal of both says."""
