"""Estimate what was not measured: times of kernels and collectives on a chip, and prices. Each with an interval.

What stands here is no stage: planning, profiling and migration ask it."""
