"""The workbook's packages in the Python that runs: which are missing, and how they come without changing what is here.

requirements.py reads what is asked for and what is installed, adding.py lets pip add the rest.
"""

from ascend_workbook.machine.packages.adding import add
from ascend_workbook.machine.packages.requirements import (
    installed_versions,
    missing_packages,
    outdated_packages,
    read_requirements,
)

__all__ = ["add", "installed_versions", "missing_packages", "outdated_packages", "read_requirements"]
