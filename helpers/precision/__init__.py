"""Precision alignment: the same script on a baseline and on the NPU, and where the two part.

capture (msprobe in a child) -> dump, record -> pairing, agreement, replay -> divergence -> rules -> a report.
"""
