"""Findings one by one: the filters, the code around, with and without a box."""

from __future__ import annotations

import html
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from markupsafe import escape

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.report import Report
from ascend_workbook.migration.repair import GRAVEST
from ascend_workbook.migration.scan import scan
from ascend_workbook.migration.views import findings
from ascend_workbook.migration.views.findings import Chooser, findings_box
from ascend_workbook.show.boxed import HEADLESS

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
    order = [GRAVEST.index(str(each.args["class"])) for each in findings.choose_findings(scanned)]
    assert order == sorted(order) and len(set(order)) > 1


def test_the_filters_join(scanned: Report) -> None:
    every = findings.choose_findings(scanned)
    assert [each.place.line for each in findings.choose_findings(scanned, text="ZEROS") if each.place] == [4]
    kinds = {str(each.args["class"]) for each in every}
    assert sum(len(findings.choose_findings(scanned, kind)) for kind in kinds) == len(every)
    rule = every[0].rule
    assert {each.rule for each in findings.choose_findings(scanned, rule=rule)} == {rule}
    assert findings.choose_findings(scanned, text="no such text") == []


def test_the_code_around_is_marked_under_wide_characters(scanned: Report) -> None:
    (finding,) = findings.choose_findings(scanned, text="zeros")
    shown = findings.describe_finding(scanned, finding, "en").splitlines()
    marked = next(line for line in shown if line.startswith("> "))
    under = shown[shown.index(marked) + 1]
    wide = "".join(each if ord(each) < 0x2E80 else each + " " for each in marked)
    assert wide.index("torch.zeros") == under.index("^")


@pytest.mark.parametrize("change", ["changed", "gone", "outside"])
def test_code_that_is_no_longer_there_is_said(scanned: Report, tmp_path: Path, change: str) -> None:
    finding = findings.choose_findings(scanned)[0]
    if change == "changed":
        (tmp_path / "a.py").write_text("import torch\n" + SCRIPT, encoding="utf-8")
    elif change == "gone":
        (tmp_path / "a.py").unlink()
    else:
        scanned.facts["root"] = str(tmp_path / "elsewhere" / "deep")
    shown = findings.describe_finding(scanned, finding, "en")
    assert "> " not in shown and ("changed" in shown or "no such file" in shown)
    assert finding.message("en") in shown


def test_a_file_outside_is_not_read(scanned: Report, tmp_path: Path) -> None:
    (tmp_path.parent / "secret.py").write_text("PLANTED\n" * 9)
    data = json.loads(scanned.to_json())
    for each in data["findings"]:
        if each["place"]:
            each["place"]["path"] = "../secret.py"
    moved = Report.from_json(json.dumps(data))
    assert "PLANTED" not in "".join(findings.describe_finding(moved, each) for each in findings.choose_findings(moved))


def test_a_cell_of_a_notebook(tmp_path: Path) -> None:
    cells = [
        {"cell_type": kind, "source": text, "metadata": {}}
        for kind, text in (("markdown", "# x"), ("code", ["import torch\n", "x = torch.ones(1)\n", "x.cuda()"]))
    ]
    for cell in cells[1:]:
        cell.update(outputs=[], execution_count=None)
    content = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "n.ipynb").write_text(json.dumps(content))
    report = scan(tmp_path / "n.ipynb")
    finding = findings.choose_findings(report, text="x.cuda")[0]
    assert "> 3  x.cuda()" in findings.describe_finding(report, finding)
    content["cells"].insert(0, dict(cells[0]))  # type: ignore[attr-defined]
    (tmp_path / "n.ipynb").write_text(json.dumps(content))
    assert "> " not in findings.describe_finding(report, finding)  # the cell of that number is another one now


def test_without_a_reader_the_first_are_told(scanned: Report) -> None:
    shown = findings_box(scanned, "zh")
    assert repr(shown).count("\n> ") == findings.TOLD
    assert repr(shown).startswith(f"共 {len(findings.choose_findings(scanned))} 处")
    page = shown._repr_html_()
    assert len(marked(page, "chosen")) == findings.TOLD
    for finding in findings.choose_findings(scanned)[: findings.TOLD]:
        assert escape(finding.message("zh")) in page
    with pytest.raises(WorkbookError) as error:
        findings_box(scanned, "en", "nonsense")
    assert error.value.key == "gate.no_class"


@pytest.fixture
def box(scanned: Report, monkeypatch: pytest.MonkeyPatch) -> Chooser:
    monkeypatch.delenv(HEADLESS)
    return Chooser(pytest.importorskip("ipywidgets"), scanned, "en", "")


def frame(box: Chooser) -> str:
    """The page in the frame beside the list; empty where there is none."""
    found = re.search('srcdoc="([^"]*)"', box.code.value)
    return html.unescape(found[1]) if found else ""


def marked(page: str, kind: str) -> list[int]:
    """The lines of that class."""
    return [int(number) for number in re.findall(rf'<div class="[^"]*\b{kind}\b[^>]*><b>\D*(\d+)', page)]


def test_the_box_filters_and_shows(box: Chooser, scanned: Report) -> None:
    assert len(box.listed.options) == len(findings.choose_findings(scanned))
    box.text.value = "zeros"
    assert box.left.value == "1 of 1 place(s)" and marked(frame(box), "chosen") == [4]
    assert "MIG" in box.detail.value and "a.py:4" in box.detail.value
    box.text.value, box.kind.value = "", box.kind.options[1][1]
    assert [each for _, each in box.listed.options] == findings.choose_findings(scanned, box.kind.value)
    box.rule.value = box.rule.options[-1][1]
    assert [each for _, each in box.listed.options] == findings.choose_findings(scanned, box.kind.value, box.rule.value)


def test_the_code_beside_is_whole_and_marked(box: Chooser, scanned: Report) -> None:
    page = frame(box)
    assert re.findall("<b>\\D*(\\d+) *</b>", page) == [str(number) for number in range(1, 8)]
    worst: dict[int, str] = {}
    for each in findings.choose_findings(scanned):  # those that need a person first
        worst.setdefault(each.place.line if each.place else 0, str(each.args["class"]))
    assert {line: kind for kind in set(worst.values()) for line in marked(page, kind)} == worst
    assert "&#34;中文&#34;" in page and "<iframe" in box.code.value and 'sandbox="allow-scripts"' in box.code.value


def test_what_is_chosen_and_its_code_stay_while_filters_change(box: Chooser) -> None:
    last = box.listed.options[-1][1]
    box.listed.value = last
    before, writes = box.code.value, []
    box.code.observe(writes.append, "value")
    box.kind.value = str(last.args["class"])
    box.text.value = str(last.args["code"])[:8]
    assert box.listed.value == last and box.code.value == before and writes == []
    box.text.value = "no such text"
    assert box.listed.value is None and box.listed.options == () and "0 of 0" in box.left.value


def test_another_script_of_the_folder_is_picked(
    scanned: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(HEADLESS)
    (tmp_path / "b.py").write_text("import torch\n\nx = torch.ones(2).cuda()  # 第二个\n", encoding="utf-8")
    box = findings_box(scan(tmp_path / "a.py"), "zh").box
    picker, listed = box.children[0].children[0], box.children[2].children[0]
    assert [name for name, _ in picker.options] == ["a.py", "b.py"]
    picker.value = "b.py"
    assert [str(each.place) for _, each in listed.options] == [
        str(each.place) for each in findings.choose_findings(scan(tmp_path / "b.py"))
    ]
    assert "第二个" in html.unescape(box.children[2].children[1].children[0].value)


def test_a_script_of_a_scanned_folder_is_picked(box: Chooser, scanned: Report, tmp_path: Path) -> None:
    assert [name for name, _ in box.script.options] == ["all", "a.py"]
    box.script.value = "a.py"
    assert len(box.listed.options) == len(findings.choose_findings(scanned)) and box.report is scanned


def test_code_of_a_hostile_file_is_text(tmp_path: Path) -> None:
    plant = "</pre></iframe><script>bad()</script>"
    (tmp_path / "h.py").write_text(f"import torch\nx = torch.ones(1).cuda()  # {plant} {'y' * 9000}\n")
    report = scan(tmp_path)
    shown = findings.render_frame((tmp_path / "h.py").read_text(), findings.choose_findings(report), 2, "en")
    assert "<script>bad" not in html.unescape(shown) and shown.count("<iframe") == 1 and "y" * 500 not in shown
    assert "<script>" not in findings_box(report, "en")._repr_html_()


def test_without_ipywidgets_it_is_text(scanned: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(HEADLESS)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    assert "> " in repr(findings_box(scanned, "en"))


def test_a_cell_shows_the_box_then_the_same_below(scanned: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(HEADLESS)
    pytest.importorskip("ipywidgets")
    shown: list[Any] = []
    monkeypatch.setattr("IPython.display.display", lambda what, raw=False: shown.append(what))
    findings_box(scanned, "en")._ipython_display_()
    assert "data-lm-suppress-shortcuts" in shown[0]["application/javascript"]
    assert "widget-view" in str(shown[1]) and shown[1]["text/plain"].startswith("Run this cell")
    assert repr(shown[2]) == repr(findings.First(scanned, "", "en"))


BROKEN = "import torch\nx = torch.zeros(3\ny = x.cuda()\n"


def test_a_script_that_cannot_be_read_is_not_shown_as_clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken.py").write_text(BROKEN)
    (tmp_path / "none.py").write_text("import torch\n")
    (tmp_path / "blob.py").write_bytes(b"print(1)\n\x00\xff")
    told = {name: findings_box(scan(tmp_path / name), "en") for name in ("broken.py", "none.py", "blob.py")}
    for name in ("broken.py", "blob.py"):
        assert f"{name} could not be read" in repr(told[name]) and "no use of CUDA" not in repr(told[name])
        assert f"{name} could not be read" in told[name]._repr_html_()
    assert "no use of CUDA that `scan` knows" in repr(told["none.py"])
    monkeypatch.delenv(HEADLESS)
    box = Chooser(pytest.importorskip("ipywidgets"), scan(tmp_path / "none.py"), "en", "")
    assert box.script.value == "none.py" and "no use of CUDA" in box.detail.value  # the one that was scanned
    box.script.value = "broken.py"
    assert "broken.py could not be read" in box.detail.value and marked(frame(box), "chosen") == [2]
    box.script.value = "blob.py"
    assert "blob.py could not be read" in box.detail.value and box.code.value == ""
    (tmp_path / "broken.py").unlink()
    box.script.value = "broken.py"
    assert "no such file" in box.detail.value and "no use of CUDA" not in box.detail.value


def test_filters_that_leave_nothing_say_so(box: Chooser, scanned: Report) -> None:
    box.text.value = "no such text"
    assert f"none of {len(findings.choose_findings(scanned))} place(s)" in box.detail.value
    assert "none of" in repr(
        findings_box(scanned, "en", "rewrite" if not findings.choose_findings(scanned, "rewrite") else "advice")
    )


def test_a_folder_without_scripts_says_so(tmp_path: Path) -> None:
    assert "no Python file" in repr(findings_box(scan(tmp_path), "en"))
