"""Profiling: collect a profile of any script, read any profile, say where the time goes and what it could save.

Facts: `trace.Trace`, read by readers/, and `facts.Profile` around it. Rules: rules/, one file each, codes PRF3xx.
Verbs: below.
"""

from helpers.profiling.answers import analyse, join
from helpers.profiling.benchmark import benchmark
from helpers.profiling.collecting import profile, recording

__all__ = ["analyse", "benchmark", "join", "profile", "recording"]
