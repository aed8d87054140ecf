"""Causes of differences: a module each with CODE, SOURCE and `check(seen)`."""
