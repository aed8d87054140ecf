"""Programs for those who hand the workbook on; `make help` names their targets."""
