"""Views of one comparison: layers with pass or fail and the platform, and what other tolerances would say."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import Any

import pytest
import torch

from ascend_workbook.cli.main import main
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import say, show
from ascend_workbook.precision import divergence
from ascend_workbook.precision.compare import compare
from ascend_workbook.precision.divergence import PARTING, SEVERITY
from ascend_workbook.precision.tensors import agreement
from ascend_workbook.precision.views import factors as tolerance
from ascend_workbook.precision.views.factors import FACTORS, find_operators_out, read_measures, tolerances
from ascend_workbook.precision.views.layers import layers
from ascend_workbook.precision.views.questions import judgement_cell, make_cases, read_outcome
from ascend_workbook.show.boxed import HEADLESS
from ascend_workbook.show.card import ROWS
from tests.precision.curves.test_verb import log
from tests.precision.dumps import Dump, as_capture
from tests.precision.networks import convolutions

GOLDEN = Path(__file__).parents[1] / "data" / "golden"
WRONG = "Functional.batch_norm.1.forward"


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    root = tmp_path_factory.mktemp("views")
    convolutions(root / "gpu" / "dump")
    convolutions(root / "npu" / "dump", faults={WRONG: lambda value: value * 1.01}, skip="Functional.relu.0.backward")
    told = {
        "numerics": "ascend",
        "faults": ["aten::native_batch_norm@2:scale=1.01"],
        "fallbacks": {},
        "dtypes_unknown": [],
    }
    for name in ("gpu", "npu"):
        log(root / name / "gpulog.json", [1.0])
    return (
        as_capture(root / "gpu", tier="cuda", versions={"torch": "2.13.0"}),
        as_capture(root / "npu", tier="npu-simulated", simulator=told, versions={"torch": "2.13.0"}),
    )


@pytest.fixture(scope="module")
def sick(sides: tuple[Path, Path]) -> Report:
    return compare(*sides, replaying=False)


def rows(report: Report) -> dict[str, tuple[Any, ...]]:
    assert report.table
    return {str(row[0]): row for row in report.table.rows}


def test_a_row_for_each_layer_with_its_differences(sick: Report) -> None:
    report = layers(sick)
    found = rows(report)
    assert report.status is Status.FIX and report.verdict("en").endswith(f"the first that fails: {WRONG}")
    wrong, before = found[WRONG], found["Functional.batch_norm.0.forward"]
    assert wrong[3] > wrong[4] > 0 and wrong[5] == pytest.approx(1.0) and wrong[6] == {"say": "layer.failed"}
    assert before[3:] == (0.0, 0.0, pytest.approx(1.0), {"say": "layer.passed"})
    assert found["Functional.relu.0.backward"][3:] == (None, None, None, {"say": "layer.unseen"}), "never a pass"
    assert wrong[4] == pytest.approx(0.01, rel=0.1), "one percent of a normalised output"


def test_the_platform_is_told_and_simulated_said(sick: Report) -> None:
    report = layers(sick)
    platform = {row[0]["say"]: row[1:3] for row in report.parts[0].table.rows}  # type: ignore[union-attr,index,call-overload]
    assert platform["platform.tier"] == ("cuda", "npu-simulated")
    assert platform["platform.simulated"] == ("false", "true")
    assert platform["platform.numerics"] == (None, "ascend") and report.simulated
    assert "simulated" in report.text("en") and "aten::native_batch_norm@2" in report.text("zh")
    plain = layers(compare(Path(sick.facts["baseline"]) / "dump", Path(sick.facts["baseline"]) / "dump"))
    assert plain.parts[0].status is Status.NOT_LOOKED, "what was not recorded is not called known"


def test_of_another_experiment_no_layer_passes(sides: tuple[Path, Path], tmp_path: Path) -> None:
    convolutions(tmp_path / "dump", seed=3)
    report = layers(compare(sides[0], as_capture(tmp_path, tier="npu", seed=9)))
    assert (
        report.status is Status.NOT_LOOKED
        and not report.table
        or {row[6]["say"] for row in rows(report).values()} <= {"layer.unseen"}
    )


def test_at_factor_one_it_is_the_comparisons_own_judgement(sick: Report) -> None:
    found = read_measures(sick)
    assert [one.name for one in find_operators_out(found, 1.0)] == sick.facts["parting"] and find_operators_out(
        found, 1.0
    )[0].name == WRONG
    counts = [len(find_operators_out(found, factor)) for factor in (1e-6, 0.01, 1.0, 100.0, 1e9)]
    assert counts == sorted(counts, reverse=True) and counts[-1] == 0 < counts[0]


def test_the_table_over_several_factors(sick: Report) -> None:
    report = tolerances(sick)
    assert (
        report.table
        and report.table.column_values("factor")[3] == 1.0
        and report.table.column_values("first")[3] == WRONG
    )
    assert WRONG in report.verdict("zh") and report.status is Status.LOOK, "out at factor 1 is not OK"
    assert tolerances(Report("precision", "compare")).status is Status.NOT_LOOKED


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_slider_answers_without_comparing_again(sick: Report, monkeypatch: pytest.MonkeyPatch, lang: str) -> None:
    assert tolerance.tolerance_box(sick, lang).table == tolerances(sick).table, "headless: the table"
    monkeypatch.delenv(HEADLESS)
    pytest.importorskip("ipywidgets")
    shown = tolerance.tolerance_box(sick, lang)
    assert shown.still.table == tolerances(sick).table, "the same below, for readers without widgets"
    slider, told = shown.box.children
    assert WRONG in told.value
    for factor in (0.01, 100.0):
        slider.value = factor
        names = [one.name for one in find_operators_out(read_measures(sick), factor)]
        cells = re.findall(r"<td[^>]*>([^<]*)</td>", told.value)
        assert [cell for cell in cells if cell in names] == names[:ROWS], "the first that are out, in order"
    slider.value = 1e4
    assert WRONG not in told.value and "10000" in told.value.replace("1e+04", "10000")
    monkeypatch.setitem(__import__("sys").modules, "ipywidgets", None)
    assert isinstance(tolerance.tolerance_box(sick, lang), Report), "no widgets: the table"


def test_the_command_shows_the_views(sides: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["compare", *map(str, sides), "--no-replay", "--lang", "en"]
    assert main([*arguments, "--layers", "--tolerances"]) == 1
    shown = capsys.readouterr().out
    assert "Report by layer" in shown and "Tolerance times" in shown and "Platform analysis" in shown


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_text_is_the_golden_one(sick: Report, lang: str) -> None:
    """Run with GOLDEN=1 to write the file anew, and read the difference before you commit it."""
    said = "\n\n".join(view(sick).text(lang) for view in (layers, tolerances)) + "\n"
    path = GOLDEN / f"views.{lang}.txt"
    if os.environ.get("GOLDEN"):
        path.write_text(said, encoding="utf-8")
    assert said == path.read_text(encoding="utf-8")


LAYER, VALUE = "Functional.layer_norm", torch.arange(1.0, 5.0, dtype=torch.float64)


def one_layer(root: Path, result: torch.Tensor) -> Report:
    """The comparison of one operator whose result on the target is the given one."""
    for side, given in (("a", VALUE), ("b", result)):
        dump = Dump(root / side)
        dump.forward(LAYER, [VALUE], [given])
        dump.save()
    return compare(root / "a", root / "b", replaying=False)


@pytest.mark.parametrize(
    ("result", "problem", "expected", "differences"),
    [
        (torch.tensor([1.0, 2.0, math.nan, 4.0], dtype=torch.float64), "nonfinite", "diverges", ("nan", "nan", "nan")),
        (VALUE.float() * 3, "dtype", "diverges", (8.0, pytest.approx(math.sqrt(30.0)), pytest.approx(1.0))),
        (torch.ones(5, dtype=torch.float64), "shape", "structure", (None, None, None)),
    ],
)
def test_a_problem_of_a_tensor_does_not_hide_its_operators_outcome(
    tmp_path: Path, result: torch.Tensor, problem: str, expected: str, differences: tuple[Any, ...]
) -> None:
    report = one_layer(tmp_path, result)
    name = f"{LAYER}.0.forward"
    assert report.facts["first_divergence"] == name and report.facts["first_divergence_outcome"] == expected
    (judgement,) = report.table.column_values("judgement") if report.table else ()
    assert read_outcome(judgement) == expected
    words = [say(f"precision.{name}", "en") for name in (expected, f"problem_{problem}")]
    assert show(judgement, "en") == ": ".join(words)
    assert rows(layers(report))[name][3:] == (*differences, {"say": "layer.failed"})
    assert failing(report) == [f"{LAYER} forward"]
    assert find_operators_out(read_measures(report), 1.0)[0].name == name


def test_every_outcome_and_problem_has_its_words() -> None:
    kinds = (*SEVERITY, *PARTING, divergence.NOT_COMPARED, divergence.CONTAINER)
    problems = (
        agreement.SHAPE,
        agreement.DTYPE,
        agreement.ONLY_TARGET,
        agreement.ONLY_BASELINE,
        agreement.UNREADABLE,
        agreement.NONFINITE,
        agreement.NO_VALUES,
        agreement.CHECKSUM,
    )
    cells = [judgement_cell(kind, problem) for kind in kinds for problem in ("", *problems)]
    assert all(show(cell, lang) for cell in cells for lang in ("en", "zh"))


def test_no_factor_makes_another_structure_agree(tmp_path: Path) -> None:
    report = tolerances(one_layer(tmp_path, torch.ones(5, dtype=torch.float64)))
    assert report.table and report.table.column_values("first") == [f"{LAYER}.0.forward"] * len(FACTORS)


def failing(report: Report) -> list[str]:
    return [one.name for one in make_cases(report, "en") if one.status is Status.FIX and ".step" in one.classname]
