"""Baseline bundles: what a run on a GPU was, small enough to travel, to be compared with on another machine.

verb.py runs the script twice -> timing, packing (private things left out) -> writing. reading.py opens a bundle after
every check -> compare and curves, which judging.py joins where the baseline is one."""
