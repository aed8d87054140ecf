"""Runs public training repositories on the simulated NPU and compares what fails with what `scan` said before."""
