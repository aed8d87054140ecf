"""A training corpus looked at record by record: `inspect_data`."""

from __future__ import annotations

from ascend_workbook.precision.corpus.verb import inspect_data

__all__ = ["inspect_data"]
