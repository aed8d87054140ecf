"""Measurements of the workbook: each a file that is started by itself."""
