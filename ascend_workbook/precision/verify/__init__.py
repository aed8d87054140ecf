"""Two models held against each other on many inputs, module by module: pass rate and worst module.

taken.py says what a side gives, local.py and process.py are the two kinds of sides, layers.py compares one input,
tally.py adds inputs up, findings.py and verb.py report.
"""

from ascend_workbook.precision.verify.verb import verify

__all__ = ["verify"]
