"""Findings one by one: the filters, the code around, with and without a box."""

from __future__ import annotations

import builtins
import json
from pathlib import Path
from typing import Any

import pytest

from helpers.errors import WorkbookError
from helpers.migration.scan import scan
from helpers.report import Report
from helpers.view import findings
from helpers.view.widgets import HEADLESS

SCRIPT = """import torch
import flash_attn

标签 = "中文"; x = torch.zeros(3).cuda()
y = torch.load("a.pt", map_location="cuda:0")
torch.cuda.synchronize()
"""


@pytest.fixture
def scanned(tmp_path: Path) -> Report:
    (tmp_path / "a.py").write_text(SCRIPT, encoding="utf-8")
    return scan(tmp_path)


def test_those_that_need_a_person_come_first(scanned: Report) -> None:
    order = [findings.ORDER.index(str(each.args["class"])) for each in findings.chosen(scanned)]
    assert order == sorted(order) and len(set(order)) > 1


def test_the_filters_join(scanned: Report) -> None:
    every = findings.chosen(scanned)
    assert [each.place.line for each in findings.chosen(scanned, text="ZEROS") if each.place] == [4]
    kinds = {str(each.args["class"]) for each in every}
    assert sum(len(findings.chosen(scanned, kind)) for kind in kinds) == len(every)
    rule = every[0].rule
    assert {each.rule for each in findings.chosen(scanned, rule=rule)} == {rule}
    assert findings.chosen(scanned, text="no such text") == []


def test_the_code_around_is_marked_under_wide_characters(scanned: Report) -> None:
    (finding,) = findings.chosen(scanned, text="zeros")
    shown = findings.told(scanned, finding, "en").splitlines()
    marked = next(line for line in shown if line.startswith("> "))
    under = shown[shown.index(marked) + 1]
    wide = "".join(each if ord(each) < 0x2E80 else each + " " for each in marked)
    assert wide.index("torch.zeros") == under.index("^")


@pytest.mark.parametrize("change", ["changed", "gone", "outside"])
def test_code_that_is_no_longer_there_is_said(scanned: Report, tmp_path: Path, change: str) -> None:
    finding = findings.chosen(scanned)[0]
    if change == "changed":
        (tmp_path / "a.py").write_text("import torch\n" + SCRIPT, encoding="utf-8")
    elif change == "gone":
        (tmp_path / "a.py").unlink()
    else:
        scanned.facts["root"] = str(tmp_path / "elsewhere" / "deep")
    shown = findings.told(scanned, finding, "en")
    assert "> " not in shown and ("changed" in shown or "no such file" in shown)
    assert finding.message("en") in shown


def test_a_file_outside_is_not_read(scanned: Report, tmp_path: Path) -> None:
    (tmp_path.parent / "secret.py").write_text("PLANTED\n" * 9)
    data = json.loads(scanned.to_json())
    for each in data["findings"]:
        if each["place"]:
            each["place"]["path"] = "../secret.py"
    moved = Report.from_json(json.dumps(data))
    assert "PLANTED" not in "".join(findings.told(moved, each) for each in findings.chosen(moved))


def test_a_cell_of_a_notebook(tmp_path: Path) -> None:
    cells = [{"cell_type": kind, "source": text, "metadata": {}} for kind, text in
             (("markdown", "# x"), ("code", ["import torch\n", "x = torch.ones(1)\n", "x.cuda()"]))]  # fmt: skip
    for cell in cells[1:]:
        cell.update(outputs=[], execution_count=None)
    content = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "n.ipynb").write_text(json.dumps(content))
    report = scan(tmp_path / "n.ipynb")
    finding = findings.chosen(report, text="x.cuda")[0]
    assert "> 3  x.cuda()" in findings.told(report, finding)
    content["cells"].insert(0, dict(cells[0]))  # type: ignore[attr-defined]
    (tmp_path / "n.ipynb").write_text(json.dumps(content))
    assert "> " not in findings.told(report, finding)  # the cell of that number is another one now


def test_without_a_reader_the_first_are_told(scanned: Report, capsys: pytest.CaptureFixture[str]) -> None:
    assert findings.findings_box(scanned, "zh") is None
    shown = capsys.readouterr().out
    assert shown.count("\n> ") == findings.TOLD and shown.startswith(f"共 {len(findings.chosen(scanned))} 处")
    with pytest.raises(WorkbookError) as error:
        findings.findings_box(scanned, "en", "nonsense")
    assert error.value.key == "gate.no_class"


def test_the_box_filters_and_shows(scanned: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(HEADLESS)
    pytest.importorskip("ipywidgets")
    box = findings.findings_box(scanned, "en")
    row, left, listed, shown = box.children
    by_kind, by_rule, by_text = row.children
    assert len(listed.options) == len(findings.chosen(scanned))
    by_text.value = "zeros"
    assert left.value == "1 of 1 place(s)"
    listed.value = listed.options[0][1]
    assert "> 4  标签" in shown.value
    by_text.value, by_kind.value = "", by_kind.options[1][1]
    assert [each for _, each in listed.options] == findings.chosen(scanned, by_kind.value)
    by_rule.value = by_rule.options[-1][1]
    assert [each for _, each in listed.options] == findings.chosen(scanned, by_kind.value, by_rule.value)


def test_without_ipywidgets_it_is_text(
    scanned: Report, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(HEADLESS)
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "ipywidgets":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    assert findings.findings_box(scanned, "en") is None and "> " in capsys.readouterr().out
