"""CSV and TSV: a heading, then a row a step. Lightning's metrics.csv leaves cells empty; TensorBoard's export too."""

from __future__ import annotations

import csv
from pathlib import Path

from helpers.errors import WorkbookError
from helpers.precision.curves.names import STEPS, plain
from helpers.precision.curves.readers.feed import LineFeed
from helpers.precision.curves.readers.records import number
from helpers.precision.curves.series import Curve


class TableFeed(LineFeed):
    """The separator is the one of tab, comma and semicolon that the heading holds most of."""

    def __init__(self, curve: Curve, path: str) -> None:
        super().__init__(curve, path)
        self._separator = ","
        self._names: list[str] = []
        self._step = -1

    def line(self, text: str, last: bool) -> None:
        if not text.strip():
            return
        if not self._names:
            return self._heading(text.lstrip("\ufeff"))
        cells = self._cells(text)
        if len(cells) != len(self._names):
            return self.curve.tell("ACC257.cut" if last else "ACC257.line", path=self.path, line=self.number)
        step = number(cells[self._step]) if self._step >= 0 else float(self.number - 1)
        if step is None or not abs(step) < 1e15:  # a NaN too
            return self.curve.tell("ACC257.no_step", path=self.path, line=self.number)
        for name, cell in zip(self._names, cells):
            value = number(cell) if name and cell else None
            if value is not None:
                self.curve.add(name, int(step), value, self.number, cell.strip())

    def _cells(self, text: str) -> list[str]:
        return next(csv.reader([text], delimiter=self._separator)) if '"' in text else text.split(self._separator)

    def _heading(self, text: str) -> None:
        self._separator = max("\t,;", key=text.count)
        heads = [head.strip() for head in self._cells(text)]
        if all(number(head) is not None for head in heads):
            raise WorkbookError("curves.no_heading", path=self.path)
        lower = [head.lower() for head in heads]
        known = [name for name in (*STEPS, "epoch") if name in lower]
        self._step = lower.index(known[0]) if known else -1
        self.curve.ordinal = not known
        self._names = [plain(head) for head in heads]
        if [name for name in self._names if name] == ["value"]:  # TensorBoard's export of one tag
            stem = Path(self.path).stem.lower()
            ours = "loss" if "loss" in stem or "tag-" not in stem else stem.rpartition("tag-")[2]
            self._names = [ours if name == "value" else name for name in self._names]
