"""Exercises: tasks, how an answer is run and judged, and the record of what was found."""
