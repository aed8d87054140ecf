"""`set_up`: the commands that make this machine ready, for what `check` found, and its Jupyter kernel.

plan.py chooses versions and writes commands, kernel.py the kernel's environment, report.py says it. Installs nothing.
"""

from ascend_workbook.environment.installing.report import set_up

__all__ = ["set_up"]
