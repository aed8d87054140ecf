"""Two models held against each other on many inputs, module by module: pass rate and worst module.

sides.py says what a side gives and is one in this process, process.py one in its own, layers.py compares one input and
adds inputs up, findings.py and verb.py report."""

from ascend_workbook.precision.verify.verb import verify

__all__ = ["verify"]
