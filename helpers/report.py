"""What every verb returns, and how good it is."""

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report, load_report

__all__ = ["Finding", "Report", "Status", "load_report"]
