"""The first meeting with a device: does all that the workbook needs work here, in one redacted archive to ask with.

`selftest` is the verb. Each part (parts.py) is a child of its own with a time limit; bundle.py writes the archive.
"""

from ascend_workbook.selftest.parts import PARTS
from ascend_workbook.selftest.selftest import run_part, selftest

__all__ = ["PARTS", "run_part", "selftest"]
