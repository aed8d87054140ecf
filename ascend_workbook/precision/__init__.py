"""Precision alignment: the same script on a baseline and on the NPU, and where the two part.

capture (msprobe in a child) -> dump, record -> pairing, tensors (agreement), divergence (replay) -> rules -> views.
The verbs are the modules on top and `verb` of attempts, advice, baselines, curves and verify."""
