"""A scan as a notebook shows it: its findings to choose from, and the code around them."""
