"""Captures of several ranks: merged to whole tensors, and what their ranks say of one another."""
