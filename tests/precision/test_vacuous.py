"""Nothing compared is never green: values that any device gives, and losses that prove nothing, by every road."""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import torch

from ascend_workbook.cli.main import main
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.precision.align import align
from ascend_workbook.precision.compare import compare
from ascend_workbook.precision.curves import curves
from ascend_workbook.precision.views.factors import tolerance_box, tolerances
from ascend_workbook.precision.views.layers import layers
from tests.precision.dumps import Dump

VACUOUS = {
    "whole": torch.arange(3),
    "truth": torch.tensor([True, False]),
    "empty": torch.empty(0),
    "nonfinite": torch.tensor([math.nan, math.inf]),
    "zero": torch.zeros(3),
    "constant": torch.full((3,), 0.5),
}
HEALTHY = torch.tensor([1.0, 2.0, 3.0])


def sides(folder: Path, *values: torch.Tensor, task: str = "tensor") -> tuple[Path, Path]:
    for side in ("a", "b"):
        dump = Dump(folder / side, task=task)
        for call, value in enumerate(values):
            dump.forward("Functional.relu", [value], [value], call=call)
        dump.save()
    return folder / "a", folder / "b"


def is_green(case: ET.Element) -> bool:
    return all(case.find(tag) is None for tag in ("skipped", "failure", "error"))


def of_rule(report: Report, rule: str) -> Finding:
    return next(finding for finding in report.findings if finding.rule == rule)


@pytest.mark.parametrize("task", ["tensor", "statistics"])
@pytest.mark.parametrize("name", VACUOUS)
def test_equal_values_that_any_device_gives_are_not_looked_at(tmp_path: Path, name: str, task: str) -> None:
    if name == "empty" and task == "statistics":
        pytest.skip("a tensor without elements has no statistics: ACC230.nothing, a FAIL")
    report = compare(*sides(tmp_path, VACUOUS[name], task=task))
    finding = of_rule(report, "ACC230")
    assert (report.status, finding.key, finding.status) == (Status.NOT_LOOKED, "ACC230.vacuous", Status.NOT_LOOKED)
    why = {"truth": "whole"}.get(name, name)
    assert finding.args["why"] == [{"say": f"ACC230.why_{why}"}] and finding.hint("en") and finding.hint("zh")
    assert layers(report).status is Status.NOT_LOOKED and tolerances(report).status is Status.NOT_LOOKED
    box = tolerance_box(report, "en")
    assert getattr(box, "still", box).status is Status.NOT_LOOKED
    assert align(*sides(tmp_path, VACUOUS[name], task=task)).status >= Status.NOT_LOOKED


def test_one_number_that_a_device_computes_makes_it_green(tmp_path: Path) -> None:
    report = compare(*sides(tmp_path, *VACUOUS.values(), HEALTHY))
    assert of_rule(report, "ACC230").key == "ACC230.identical" and report.status is Status.NOTE
    alone = compare(*sides(tmp_path / "one", torch.tensor(0.5)))
    assert of_rule(alone, "ACC230").key == "ACC230.identical", "a loss is one number and no constant"


@pytest.mark.parametrize(("name", "code"), [("zero", 1), ("healthy", 0)])
def test_json_junit_and_exit_code(tmp_path: Path, name: str, code: int) -> None:
    places = sides(tmp_path, VACUOUS.get(name, HEALTHY))
    files = ["--json", str(tmp_path / "r.json"), "--junit", str(tmp_path / "r.xml")]
    assert main(["compare", *map(str, places), "--fail-on", "divergence", *files]) == code
    written = json.loads((tmp_path / "r.json").read_text("utf-8"))
    assert (written["facts"]["status"], written["facts"]["judged"]) == (
        ("Not looked", False) if code else ("Good", True)
    )
    cases = {case.get("name"): case for case in ET.parse(tmp_path / "r.xml").iter("testcase")}
    for case in ("divergence", "nan", "unpaired", "dtype", "Functional.relu forward"):
        assert is_green(cases[case]) is not bool(code), case


CURVES = {
    "one_step": [2.5],
    "constant": [2.5] * 30,
    "zero": [0.0] * 30,
    "no_number": [math.nan] * 30,
    "healthy": [2.5 - 0.01 * at for at in range(30)],
}


@pytest.mark.parametrize("name", CURVES)
def test_losses_that_prove_nothing(tmp_path: Path, name: str) -> None:
    rows = [{"step": at, "loss": value} for at, value in enumerate(CURVES[name])]
    for side in ("a.json", "b.json"):
        (tmp_path / side).write_text(json.dumps(rows))
    finding = of_rule(curves(tmp_path / "a.json", tmp_path / "b.json"), "ACC250")
    files = ["--json", str(tmp_path / "r.json"), "--junit", str(tmp_path / "r.xml"), "--fail-on", "divergence"]
    code = main(["curves", str(tmp_path / "a.json"), str(tmp_path / "b.json"), *files])
    cases = {case.get("name"): case for case in ET.parse(tmp_path / "r.xml").iter("testcase")}
    if name == "healthy":
        assert (finding.key, finding.status, code) == ("ACC250.together", Status.GOOD, 0)
        assert is_green(cases["divergence"])
        return
    why = {"zero": "constant"}.get(name, name)
    assert (finding.key, finding.args["why"]) == ("ACC250.nothing", {"say": f"curves.{why}"})
    assert finding.status is Status.NOT_LOOKED and finding.hint("en") and finding.hint("zh")
    assert code == 1 and not is_green(cases["divergence"])
    written = json.loads((tmp_path / "r.json").read_text("utf-8"))
    assert "Not looked" in [row["status"] for row in written["findings"] if row["key"] == "ACC250.nothing"]


def test_logs_without_a_common_step_are_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for side, begin in (("a.json", 0), ("b.json", 50)):
        (tmp_path / side).write_text(json.dumps([{"step": begin + at, "loss": 2.5 - at} for at in range(3)]))
    assert main(["curves", str(tmp_path / "a.json"), str(tmp_path / "b.json")]) == 2
    assert "--shift" in capsys.readouterr().err
