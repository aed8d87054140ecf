"""The workbook's packages in the Python that runs: which are missing, and how they come without changing what is here.

requirements.py reads what is asked for and what is installed, adding.py lets pip add the rest.
"""

from helpers.packages.adding import add
from helpers.packages.requirements import installed, lacking, older, required

__all__ = ["add", "installed", "lacking", "older", "required"]
