"""What the notebook of the profiling stage uses."""

from ascend_workbook.profiling import analyse, benchmark, join, profile, recording
from ascend_workbook.profiling.benchmark.configurations import from_words

__all__ = ["analyse", "benchmark", "from_words", "join", "profile", "recording"]
