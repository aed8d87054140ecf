"""Rehearses public training scripts, a working and a held half, against what a reader expected of each."""
