"""--fail-on and JUnit say the same as the verdict: in the command, in the API, and for a CI server."""

from __future__ import annotations

import json
import xml.etree.ElementTree as xml
from pathlib import Path

import pytest

from ascend_workbook.cli.main import main
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.precision.compare import compare
from ascend_workbook.precision.curves import curves
from ascend_workbook.precision.views import questions
from ascend_workbook.precision.views.questions import head_of_name
from tests.precision.dumps import as_capture
from tests.precision.networks import convolutions
from tests.run import count

SICK = {"Functional.conv2d.1.backward": lambda value: value * 1.01}


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A baseline; the same with a wrong gradient; one without an operator; another experiment."""
    root = tmp_path_factory.mktemp("sides")
    convolutions(root / "gpu" / "dump")
    convolutions(root / "sick" / "dump", faults=SICK)
    convolutions(root / "short" / "dump", skip="Functional.relu.2.forward")
    convolutions(root / "twin" / "dump")
    made = {name: as_capture(root / name, tier="npu") for name in ("sick", "short", "twin")}
    return {**made, "gpu": as_capture(root / "gpu", tier="cuda"), "plain": root / "gpu" / "dump"}


def log(path: Path, losses: list[float]) -> Path:
    rows = [{"step": step, "loss": loss} for step, loss in enumerate(losses)]
    path.write_text(json.dumps(rows), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("target", "fail_on", "code", "failed"),
    [
        ("twin", [], 0, []),
        ("twin", ["divergence", "unpaired", "device", "dtype", "experiment"], 0, []),
        ("twin", ["incomplete"], 1, ["incomplete"]),  # one step: the update was not looked at
        ("sick", [], 1, []),
        ("sick", ["divergence"], 1, ["divergence"]),
        ("sick", ["unpaired"], 1, []),
        ("short", [], 0, []),
        ("short", ["unpaired"], 1, ["unpaired"]),
    ],
)
def test_the_command_and_the_api_agree(
    sides: dict[str, Path], tmp_path: Path, target: str, fail_on: list[str], code: int, failed: list[str]
) -> None:
    report = compare(sides["gpu"], sides[target], fail_on=fail_on, replaying=False)
    assert (report.status is Status.FIX) == bool(code) and report.facts["failed_on"] == failed
    options = [word for name in fail_on for word in ("--fail-on", name)]
    junit = tmp_path / "junit.xml"
    assert (
        main(["compare", str(sides["gpu"]), str(sides[target]), "--no-replay", *options, "--junit", str(junit)]) == code
    )
    assert bool(count(junit)[1]) == bool(code), "the file fails exactly where the command does"
    if target == "sick":
        assert report.headline is not None and report.headline.rule == "ACC230", "the reason stays the headline"


def test_what_could_not_be_looked_at_does_not_pass(sides: dict[str, Path], tmp_path: Path) -> None:
    """Dumps without a record: neither the experiment nor the device is known."""
    assert compare(sides["plain"], sides["plain"]).status <= Status.NOTE
    for name in ("experiment", "device"):
        assert compare(sides["plain"], sides["plain"], fail_on=[name]).facts["failed_on"] == [name]
    found = cases(compare(sides["plain"], sides["plain"]))
    assert {found[name] for name in ("experiment", "device")} == {"skipped"} and found["divergence"] == "passed"


def cases(report: Report) -> dict[str, str]:
    """Name -> what a CI server shows."""
    found = xml.fromstring(report.junit("zh")).iter("testcase")
    return {
        case.get("name", ""): next((child.tag for child in case if child.tag in ("failure", "skipped")), "passed")
        for case in found
    }


def test_a_case_for_each_group_of_operators(sides: dict[str, Path]) -> None:
    found = cases(compare(sides["gpu"], sides["sick"], replaying=False))
    assert found["Functional.conv2d backward"] == "failure" and found["Functional.conv2d forward"] == "passed"
    assert found["divergence"] == "failure" and found["unpaired"] == "passed"
    assert list(found)[: len(questions.OF_COMPARE)] == [
        name for name in questions.CLASSES if name in questions.OF_COMPARE
    ]
    assert cases(compare(sides["gpu"], sides["short"]))["Functional.relu forward"] == "passed", "two were compared"


def test_operators_of_another_experiment_are_not_judged(sides: dict[str, Path], tmp_path: Path) -> None:
    convolutions(tmp_path / "dump", seed=1)
    report = compare(sides["gpu"], as_capture(tmp_path, tier="npu", seed=99))
    found = cases(report)
    asked = ["divergence", "nan", "unpaired", "dtype"]
    assert {found[name] for name in asked} == {"skipped"}, "an empty case would pass"
    assert questions.apply_gate(report, asked).facts["failed_on"] == asked
    assert found["experiment"] == "failure" and not any(name.startswith("Functional") for name in found)


@pytest.mark.parametrize(
    ("losses", "fail_on", "status"),
    [
        ([2.0, 1.5, 1.2], [], Status.GOOD),
        ([2.0, 1.5, 1.2], ["divergence", "nan"], Status.GOOD),
        ([2.0, 1.6, 1.4], [], Status.LOOK),
        ([2.0, 1.6, 1.4], ["divergence"], Status.FIX),
        ([2.0, 1.6, 1.4], ["nan"], Status.LOOK),
    ],
)
def test_curves(tmp_path: Path, losses: list[float], fail_on: list[str], status: Status) -> None:
    left, right = log(tmp_path / "a.json", [2.0, 1.5, 1.2]), log(tmp_path / "b.json", losses)
    assert curves(left, right, fail_on=fail_on).status is status
    options = [word for name in fail_on for word in ("--fail-on", name)]
    assert main(["curves", str(left), str(right), *options]) == (1 if status is Status.FIX else 0)


def test_an_unknown_class_is_said_before_anything_is_read(tmp_path: Path) -> None:
    for verb in (compare, curves):
        with pytest.raises(WorkbookError) as caught:
            verb(tmp_path / "a", tmp_path / "b", fail_on="divergence, colour")
        assert caught.value.key == "gate.no_class" and "colour" in str(caught.value)
    assert main(["compare", "a", "b", "--fail-on", "colour"]) == 2


@pytest.mark.parametrize(
    ("rule", "key", "status", "expected"),
    [
        ("ACC250", "curves.no_loss", Status.NOT_LOOKED, questions.OF_CURVES),
        ("ACC284", "ACC284.no_curves", Status.NOT_LOOKED, questions.OF_CURVES),
        ("ACC284", "ACC284.statistics", Status.NOT_LOOKED, ("incomplete",)),
        ("ACC250", "ACC250.together", Status.NOT_LOOKED, ("divergence",)),  # looked at, with a remark that lowers it
        ("ACC230", "ACC230.nothing", Status.FIX, ("incomplete", "divergence", "nan", "unpaired", "dtype")),
        ("ACC230", "ACC230.none", Status.GOOD, ("divergence",)),
    ],
)
def test_what_was_not_there_speaks_for_all_that_ask_about_it(
    rule: str, key: str, status: Status, expected: tuple[str, ...]
) -> None:
    assert questions.questions_of(Finding(rule, status, key)) == expected


def test_several_classes_in_one_text() -> None:
    found = Finding("ACC210", Status.LOOK, "ACC210.only", {"count": 1, "side": "target", "names": ["x"]})
    report = questions.apply_gate(Report("precision", "compare", (found,)), "unpaired, dtype")
    assert report.facts["failed_on"] == ["unpaired"] and report.facts["fail_on"] == ["unpaired", "dtype"]
    assert "x" in report.text("zh") and "--fail-on unpaired" in report.text("en")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Functional.conv2d.3.forward", "Functional.conv2d"),
        ("Module.layer1.0.Conv2d.forward.0", "Module.layer1.0.Conv2d"),
        ("Module.head.Linear.parameters_grad", "Module.head.Linear"),
        ("Tensor.__add__.12.backward", "Tensor.__add__"),
    ],
)
def test_the_name_of_a_group(name: str, expected: str) -> None:
    assert head_of_name(name) == expected
