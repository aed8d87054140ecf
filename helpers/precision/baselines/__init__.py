"""Baseline bundles: what a run on a GPU was, small enough to travel, to be compared with on another machine.

record (both runs) -> timing, packing (private things left out) -> writing; reading (checked) -> compare and curves.
"""

from helpers.precision.baselines.reading import Opened, opened
from helpers.precision.baselines.verb import baseline

__all__ = ["Opened", "baseline", "opened"]
