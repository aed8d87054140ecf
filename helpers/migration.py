"""What the notebook of the migration stage uses."""

from ascend_workbook.migration.assess import assess
from ascend_workbook.migration.dry_run import dry_run
from ascend_workbook.migration.loop import migrate
from ascend_workbook.migration.loop.report import show_rounds
from ascend_workbook.migration.operators import operators
from ascend_workbook.migration.rewrite import rewrite
from ascend_workbook.migration.rewrite.writing import set_aside
from ascend_workbook.migration.scan import scan
from ascend_workbook.migration.verdict import join

__all__ = ["assess", "dry_run", "join", "migrate", "operators", "rewrite", "scan", "set_aside", "show_rounds"]
