"""A report's wide table in JupyterLab, in Chinese: rows of one colour, nothing beyond the page's edge."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.lab import Lab
from tests.browser.notebook import made, shown

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CODE = """from ascend_workbook.findings.report import Column, Report, Table
names = ("order", "step", "rank", "operator", "direction", "shape", "error_in", "error_out", "judgement", "place")
why = "最先出现差异：在它之前的算子都在允许误差之内，它的输入也一致，因此排在第一位；其余算子的差异可能由它引起"
row = (1, 0, 0, "Functional.conv2d.0.backward", "backward", [8, 8, 6, 6], 0.0, 0.02, why,
       "notebooks/scripts/training/resnet_digits_of_a_long_name.py:52 的梯度")
report = Report("precision", "compare", (), Table(tuple(map(Column, names)), (row,) * 4))
report"""
#: Per row of the body: the colours of its cells, where each is the row's own where it has none.
COLOURS = """rows => rows.map(row => [...row.cells].map(cell => {
  const own = getComputedStyle(cell).backgroundColor;
  return own === 'rgba(0, 0, 0, 0)' ? getComputedStyle(row).backgroundColor : own;
}))"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_wide_table_is_whole(dark: bool, server: Lab, chromium: Browser, pictures: Path) -> None:
    with shown(chromium, server, made(server.folder, "wide", CODE, lang="zh"), dark=dark) as seen:
        seen.run(120)
        assert seen.wrong() == []
        output = seen.output(0)
        colours = output.locator("tbody tr").evaluate_all(COLOURS)
        assert [len(set(row)) for row in colours] == [1] * 4 and colours[0] != colours[1], "banded, and each row as one"
        assert output.locator(".scroll").evaluate("box => box.scrollWidth <= box.clientWidth"), "no column is cut off"
        assert output.locator("td").filter(has_text="8, 8, 6, 6").count() == 4
        seen.picture(pictures, f"table-wide{'-dark' * dark}")
