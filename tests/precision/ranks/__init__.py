"""Captures of several ranks."""
