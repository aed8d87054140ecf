"""The overview answers its questions in order; each answer has its place; nothing is counted or told twice."""

from __future__ import annotations

import os
import re
import xml.etree.ElementTree as xml
from pathlib import Path

import pytest

from ascend_workbook.cli.main import main
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.precision.align import align
from ascend_workbook.precision.views.answers import answer_experiment
from tests.conftest import ROOT
from tests.page.reading import read_page
from tests.precision.curves.test_verb import log
from tests.precision.dumps import as_capture
from tests.precision.networks import convolutions

GOLDEN = Path(__file__).parent / "data" / "golden"
SIMULATOR = {"numerics": "cpu", "faults": [], "fallbacks": {}, "dtypes_unknown": []}
QUESTIONS = ["experiment", "curves", "divergence", "next"]


def side(folder: Path, losses: list[float], tier: str, **change: object) -> Path:
    """A capture of two steps with its log of losses."""
    seed = int(str(change.pop("seed", 0)))
    for step in (0, 1):
        convolutions(folder / "dump", step=step, seed=step + seed, **change)  # type: ignore[arg-type]
    log(folder / "gpulog.json", [*losses], tier=tier)
    return as_capture(
        folder,
        tier=tier,
        seed=seed + 1,
        device=tier,
        versions={"torch": "2.13.0"},
        simulator=SIMULATOR if tier == "npu-simulated" else {},
    )


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("sides")
    wrong = {"Functional.conv2d.1.backward": lambda value: value * 1.01}
    return {
        "gpu": side(root / "gpu", [2.0, 1.5], "cuda"),
        "twin": side(root / "twin", [2.0, 1.5], "npu-simulated"),
        "sick": side(root / "sick", [2.0, 1.6], "npu-simulated", faults=wrong, skip="Functional.relu.2.forward"),
        "other": side(root / "other", [2.3, 1.9], "npu-simulated", seed=7),
        "plain": root / "gpu" / "dump",
    }


@pytest.fixture(scope="module")
def sick(sides: dict[str, Path]) -> Report:
    return align(sides["gpu"], sides["sick"], replaying=False)


def asked(report: Report) -> list[str]:
    assert report.table
    return [
        str(cell["say"]).partition(".")[2] for cell in report.table.column_values("question") if isinstance(cell, dict)
    ]


def test_the_questions_stand_in_order_and_the_operator_is_the_verdict(sick: Report) -> None:
    assert asked(sick) == QUESTIONS and [part.verb for part in sick.parts] == [*QUESTIONS[:3], "unpaired", "next"]
    assert sick.table and sick.table.column_values("status") == ["Good", "Look", "Fix", "Good"]
    assert sick.headline is not None and sick.headline.args["operator"] == "Functional.conv2d.1.backward"
    assert sick.simulated and sick.facts["first_divergence"] == "Functional.conv2d.1.backward"


def test_what_one_side_alone_called_has_its_table(sick: Report) -> None:
    table = sick.parts[3].table
    assert table and [row[1:3] for row in table.rows] == [("Functional.relu", 2)]
    assert table.column_values("first") == ["Functional.relu.2.forward"] and table.column_values("only_side") == [
        {"say": "precision.side_baseline"}
    ]


def test_a_healthy_pair_is_told_to_go_on(sides: dict[str, Path]) -> None:
    report = align(sides["gpu"], sides["twin"])
    assert report.status is Status.GOOD and report.table and report.table.column_values("status") == ["Good"] * 4
    assert report.parts[4].headline is not None and report.parts[4].headline.key == "ACC291.profile"
    assert report.parts[3].headline is not None and report.parts[3].headline.key == "ACC210.all"
    assert [part.table is not None for part in report.parts] == [True, True, True, False, False]
    assert report.headline is not None and report.headline.rule == "ACC230", "not that the experiment is the same"


def test_another_experiment_is_the_verdict_before_any_operator(sides: dict[str, Path]) -> None:
    report = align(sides["gpu"], sides["other"])
    assert (
        report.table
        and report.table.column_values("status")[0] == "Fix"
        and report.table.column_values("status")[2] == "Not looked"
    )
    assert report.headline is not None and report.headline.rule == "ACC205"
    assert report.parts[3].status is Status.NOT_LOOKED, "operators that were not judged are not said to be paired"
    found = xml.fromstring(report.junit("en")).iter("testcase")
    asked = {
        case.get("name"): case.find("skipped") is not None
        for case in found
        if case.get("classname") in ("precision.divergence", "precision.unpaired")
    }
    assert asked == dict.fromkeys(("divergence", "nan", "dtype", "unpaired"), True)
    assert "different seed" in report.text("en") or "seed is 1 in the baseline" in report.text("en")


def test_plain_dumps_are_not_called_the_same_experiment(sides: dict[str, Path]) -> None:
    report = align(sides["plain"], sides["plain"])
    assert report.table and report.table.column_values("status")[:2] == ["Not looked", "Not looked"]
    assert align(sides["plain"], sides["plain"], fail_on=["experiment"]).status is Status.FIX


def test_curves_that_are_not_there_pass_no_question_of_theirs(sides: dict[str, Path]) -> None:
    asked = ["spike", "scale", "metric", "nan"]
    assert align(sides["plain"], sides["plain"], fail_on=asked).facts["failed_on"] == asked
    assert align(sides["gpu"], sides["twin"], fail_on=asked).facts["failed_on"] == []
    assert align(sides["plain"], sides["plain"], fail_on=["unpaired", "dtype"]).facts["failed_on"] == []


def ran_on(**told: object) -> Report:
    """The first answer of a comparison whose sides differ in what is told: (of the baseline, of the target)."""
    told = {"tier": ("cuda", "npu-simulated"), **told}
    parts = [{name: values[at] for name, values in told.items()} for at in (0, 1)]  # type: ignore[index]
    return answer_experiment(Report("precision", "compare", (), facts={"sides": parts, "simulator": {}}))


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"conv": ("", "hf32"), "numerics": (None, "cpu")}, "idle"),
        ({"conv": ("", "hf32"), "numerics": (None, "ascend")}, "allowed"),
        ({"matmul": ("tf32", ""), "numerics": (None, "cpu")}, "allowed"),
        ({"conv": ("hf32", "hf32")}, "same"),
        ({"torch_npu": ("", "2.13.0")}, "must"),
        ({"torch": ("2.13.0+cu128", "2.13.0+cpu")}, "build"),
        ({"args": (["--data", "/home/a/digits"], ["--data", "/b/digits"])}, "folders"),
    ],
)
def test_what_has_an_answer_is_not_called_different(told: dict[str, object], said: str) -> None:
    report = ran_on(**told)
    assert report.table is not None and f"platform.{said}" in [
        dict(cell)["say"] for cell in report.table.column_values("same") if isinstance(cell, dict)
    ]
    assert report.headline is not None and report.headline.key == "ACC205.same"


def test_the_good_answer_names_what_differs_below_it() -> None:
    report = ran_on(torch=("2.13.0", "2.12.0"), args=(["--lr", "1"], ["--lr", "2"]), seed=(1, 1))
    assert report.headline is not None and report.headline.key == "ACC205.beside" and report.status is Status.GOOD
    assert report.verdict("en").endswith("differ: torch, arguments")
    assert "均无差异；此外有不同：torch" in report.verdict("zh")


def test_fingerprints_have_no_operator_that_could_be_paired(tmp_path: Path) -> None:
    for name, tier in (("gpu", "cuda"), ("npu", "npu")):
        (tmp_path / name / "dump").mkdir(parents=True)
        log(tmp_path / name / "gpulog.json", [2.0, 1.5], tier=tier)
        as_capture(tmp_path / name, tier=tier, task="fingerprints")
    asked = ["divergence", "nan", "unpaired", "dtype"]
    report = align(tmp_path / "gpu", tmp_path / "npu", fail_on=[*asked, "spike"])
    assert report.facts["failed_on"] == asked and report.parts[3].status is Status.NOT_LOOKED
    assert main(["compare", str(tmp_path / "gpu"), str(tmp_path / "npu"), "--fail-on", "dtype"]) == 1


def test_whether_a_fix_helped_has_its_place(sides: dict[str, Path], tmp_path: Path) -> None:
    report = align(sides["gpu"], sides["twin"], attempts=tmp_path)
    assert asked(report) == [*QUESTIONS, "attempts"] and report.parts[-1].verb == "attempts"


def test_the_command_writes_page_and_cases(sides: dict[str, Path], tmp_path: Path) -> None:
    page, junit = tmp_path / "p.html", tmp_path / "j.xml"
    arguments = ["align", str(sides["gpu"]), str(sides["sick"]), "--no-replay", "--html", str(page)]
    assert main([*arguments, "--junit", str(junit), "--lang", "zh"]) == 1
    shown = page.read_text(encoding="utf-8")
    data = read_page(shown)
    headings = [part["title"][1] for part in data["tabs"]["prec"]["parts"]]
    assert headings == ["是同一个实验吗？", "损失曲线", "哪个算子最先使两侧分开？", "仅一侧有的算子", "下一步做什么"]
    first = data["tabs"]["prec"]["parts"][2]
    operator = next(column for column in first["table"]["columns"] if column["name"] == "operator")
    assert operator["words"][operator["values"][first["facts"]["row"]]] == "Functional.conv2d.1.backward"
    assert data["lang"] == "zh" and data["simulated"] is True and "模拟 NPU" in data["circumstances"][1]
    assert not re.search(r'(src|href)="[^"]*//', shown)
    suites = {suite.get("name"): suite for suite in xml.parse(junit).getroot()}
    assert list(suites) == [
        "precision.experiment",
        "precision.curves",
        "precision.divergence",
        "precision.unpaired",
        "precision.next",
    ]
    assert [name for name, suite in suites.items() if suite.get("failures") != "0"] == ["precision.divergence"]
    assert main([*arguments[:4], "--fail-on", "unpaired"]) == 1


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_text_is_the_golden_one(sick: Report, sides: dict[str, Path], lang: str) -> None:
    """Run with GOLDEN=1 to write the file anew, and read the difference before you commit it."""
    said = sick.text(lang).replace(str(sides["gpu"].parent), "RUNS").replace(str(ROOT), "PROJECT") + "\n"
    path = GOLDEN / f"align.{lang}.txt"
    if os.environ.get("GOLDEN"):
        path.write_text(said, encoding="utf-8")
    assert said == path.read_text(encoding="utf-8")
