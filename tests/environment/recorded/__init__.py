"""Whole machines as file trees, recorded tool outputs and variables: five that are well, and many with one fault each.

`machines.healthy()` and `faults.FAULTS` make them; `made.Made.system(folder)` writes one and gives the check its seam.
"""
