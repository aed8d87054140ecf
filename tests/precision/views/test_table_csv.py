"""Cells of the CSV: no text of a capture is a formula in a spreadsheet."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from ascend_workbook.precision.pairing import Pairing
from ascend_workbook.precision.record import Operator, Run
from ascend_workbook.precision.views.table_csv import render_csv


@pytest.mark.parametrize("start", ["=", "+", "-", "@"])
def test_a_name_that_begins_as_a_formula_is_no_formula(start: str) -> None:
    name = f'{start}cmd|"/c calc"!A1.0.forward'
    operator = Operator(name, "Functional.x", 0, "forward", 0, (), ())
    run = Run(Path("x"), 0, 0, "tensor", "L1", (operator,))
    pairing = Pairing(run, run, (), (operator,), ())
    rows = list(csv.reader(io.StringIO(render_csv([(pairing, [])]))))
    assert rows[1][0] == f"'{name}" and all(not cell.startswith(start) for cell in rows[1] if cell)
