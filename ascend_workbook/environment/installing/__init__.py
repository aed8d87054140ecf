"""`set_up`: the commands that make this machine ready, for what `check` found, and its Jupyter kernel.

plan.py chooses versions, writes commands and says so, kernel.py makes the environment of the kernel. Installs nothing.
"""

from ascend_workbook.environment.installing.plan import set_up

__all__ = ["set_up"]
