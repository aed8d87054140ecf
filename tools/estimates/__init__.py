"""Fits the numbers of `ascend_workbook/estimates/times.json` on public profiles of NPUs, and judges them on those left
out."""
