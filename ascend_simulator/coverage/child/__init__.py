"""The child of `simulator coverage`; worker.py loads it as a package of its own. It imports nothing of the workbook."""
