"""CSV and TSV: a heading, then a row a step. Lightning's metrics.csv leaves cells empty; TensorBoard's export too."""

from __future__ import annotations

import csv
import re
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.precision.curves.names import STEPS, normalise_name
from ascend_workbook.precision.curves.readers.feed import LineFeed
from ascend_workbook.precision.curves.readers.jsonlog import parse_number
from ascend_workbook.precision.curves.readers.text import translate_line
from ascend_workbook.precision.curves.series import Curve

DECIMAL = re.compile(r"[-+]?\d{0,20}([.,])\d{1,20}(?:[eE][-+]?\d{1,4})?")


class TableFeed(LineFeed):
    """The separator is the one of tab, comma and semicolon that the heading holds most of. Only where it is a semicolon
    a comma is a decimal point; a file that has both `0,5` and `0.5` is told, and the row left out."""

    def __init__(self, curve: Curve, path: str) -> None:
        super().__init__(curve, path)
        self._separator = ","
        self._names: list[str] = []
        self._step = -1
        self._marks: set[str] = set()

    def read_line(self, text: str, last: bool) -> None:
        if not text.strip():
            return
        if not self._names:
            return self._read_heading(text.lstrip("\ufeff"))
        cells = self._read_cells(text)
        if len(cells) != len(self._names):
            return self.curve.add_note("ACC257.cut" if last else "ACC257.line", path=self.path, line=self.number)
        step = parse_number(cells[self._step]) if self._step >= 0 else float(self.number - 1)
        if step is None or not abs(step) < 1e15:  # a NaN too
            return self.curve.add_note("ACC257.no_step", path=self.path, line=self.number)
        before = self.curve.values
        for name, cell in zip(self._names, cells):
            value = parse_number(cell) if name and cell else None
            if value is not None:
                self.curve.add_value(name, int(step), value, self.number, cell.strip())
        if self.curve.values == before:
            self.curve.not_understood(self.number, text)

    def _read_cells(self, text: str) -> list[str]:
        cells = next(csv.reader([text], delimiter=self._separator)) if '"' in text else text.split(self._separator)
        if self._separator != ";" or not self._names:
            return cells
        self._marks |= {match[1] for cell in cells if (match := DECIMAL.fullmatch(cell.strip()))}
        if len(self._marks) > 1:
            return []
        return [cell.replace(",", ".") if DECIMAL.fullmatch(cell.strip()) else cell for cell in cells]

    def _read_heading(self, text: str) -> None:
        self._separator = max("\t,;", key=text.count)
        heads = [translate_line(head).strip() for head in self._read_cells(text)]
        if all(parse_number(head) is not None for head in heads):
            raise WorkbookError("curves.no_heading", path=self.path)
        lower = [head.lower() for head in heads]
        known = [name for name in (*STEPS, "epoch") if name in lower]
        self._step = lower.index(known[0]) if known else -1
        self.curve.ordinal = not known
        self._names = [normalise_name(head) for head in heads]
        if [name for name in self._names if name] == ["value"]:  # TensorBoard's export of one tag
            stem = Path(self.path).stem.lower()
            ours = "loss" if "loss" in stem or "tag-" not in stem else stem.rpartition("tag-")[2]
            self._names = [ours if name == "value" else name for name in self._names]
