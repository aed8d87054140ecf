"""assess: hours by class, risks in order, libraries once, the gate, and a page in both languages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ascend_workbook.cli.main import main
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.machine import versions
from ascend_workbook.migration.assess import (
    REPEATED,
    _round_hours,
    assess,
    kinds_of,
    rank_risks,
    report_versions,
)
from ascend_workbook.migration.assess.effort import TESTING_LEAST_H, TESTING_SHARE
from ascend_workbook.migration.repair import CLASSES
from ascend_workbook.migration.rewrite import rewrite
from ascend_workbook.migration.scan import scan
from ascend_workbook.show.cells import format_rows
from tests.page.reading import said_on

CODE = """import torch
import flash_attn
x = x.cuda()
y = y.cuda('cuda:0')  # 中文
z = z.cuda('cuda:1')
torch.cuda.nvtx.mark('x')
torch.backends.cudnn.benchmark = True
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "训练.py").write_text(CODE, encoding="utf-8")
    (tmp_path / "r" / "requirements.txt").write_text("flash-attn\nnumpy\n")
    return tmp_path / "r"


def test_hours_add_up_and_a_repeated_repair_costs_less(repository: Path) -> None:
    facts = assess(repository).facts
    assert facts["counts"] == {"auto": 1, "rewrite": 2, "manual": 1, "unsupported": 2, "advice": 1}
    assert facts["effort_h"]["auto"] == 0 and facts["effort_h"]["rewrite"] == pytest.approx(0.1 * (1 + REPEATED), 0.1)
    assert facts["effort_total_h"] == pytest.approx(sum(facts["effort_h"].values()))
    assert set(facts["effort_h"]) == set(CLASSES)


def test_from_ten_hours_on_the_verdict_has_whole_ones(tmp_path: Path) -> None:
    """Two places by hand are 2 h (1 to 4), the least testing 20 h (10 to 40): 22 in all, from 11 to 44."""
    cache = "torch.backends.cuda.cufft_plan_cache"
    (tmp_path / "a.py").write_text(f"import torch\n{cache}.size = 1\n{cache}.max_size = 1\n")
    args = assess(tmp_path).findings[0].args
    assert [repr(args[name]) for name in ("hours", "low", "high")] == ["22", "11", "44"]
    told = [_round_hours(hours) for hours in (9.26, 9.94, 0.04, 10.4, 10.6)]
    assert told == [9.3, 9.9, 0.0, 10, 11] and [type(hours) for hours in told] == [float] * 3 + [int] * 2


def test_the_gravest_risk_stands_first(repository: Path) -> None:
    report = assess(repository)
    risks = report.facts["risks"]
    assert [(risk["class"], risk["weight"]) for risk in risks] == [("unsupported", "high"), ("manual", "low")]
    assert risks[0]["places"] == 2, "a library's import and its line in the requirements are one decision"
    assert risks[0]["first"].endswith(":1") and risks[0]["effort_h"] >= risks[-1]["effort_h"]
    assert rank_risks(kinds_of(report.findings)) == []


@pytest.mark.parametrize("fail_on", [(), ("unsupported",), ("rewrite", "unsupported")])
def test_the_gate(repository: Path, fail_on: tuple[str, ...]) -> None:
    report = assess(repository, fail_on)
    assert (report.status is Status.FIX) == bool(fail_on) and report.facts["failed_on"] == list(fail_on)


def test_an_unknown_class_is_an_error(repository: Path) -> None:
    with pytest.raises(WorkbookError, match="terrible"):
        assess(repository, ["terrible"])


def test_a_clean_repository_passes_every_gate(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("print('显卡')\n", encoding="utf-8")
    report = assess(tmp_path, CLASSES)
    assert report.status <= Status.NOTE and report.facts["effort_total_h"] == 0


def test_the_page_reads_in_both_languages(repository: Path) -> None:
    report = assess(repository)
    for lang, words in (("en", "Acceptance"), ("zh", "验收")):
        page = said_on(report.html(lang), lang)
        assert words.lower() in page.lower() and "flash_attn" in page and "训练.py:2" in page
    assert Report.from_json(report.to_json()).text("zh") == report.text("zh")


def test_the_command_gates_and_writes_json(repository: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.json"
    assert main(["assess", str(repository), "--lang", "zh"]) == 0
    assert main(["assess", str(repository), "--fail-on", "unsupported", "--json", str(out), "--lang", "en"]) == 1
    assert json.loads(out.read_text(encoding="utf-8"))["facts"]["failed_on"] == ["unsupported"]


def _part(report: Report, verb: str) -> Report:
    return next(part for part in report.parts if part.verb == verb)


def _number(text: str) -> float:
    return float(text.split()[0]) if text not in ("-", "") else 0.0


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_sum_adds_up_from_what_is_shown(repository: Path, lang: str) -> None:
    more = CODE.replace("import flash_attn", "") + "z.cuda('cuda:2')\nimport xformers\nimport apex\nimport DALI\n"
    (repository / "b.py").write_text(more, encoding="utf-8")
    report = assess(repository)
    table = _part(report, "assess_effort").table
    assert table
    _, rows = format_rows(table, lang, 100)
    *lines, testing, whole = [[_number(text) for text in row[1:6]] for row in rows]
    assert len(lines) > 4
    for kinds, first, repeats, each, shown in lines:
        assert shown == pytest.approx(kinds * first + repeats * each, abs=0.001)
    repairs = sum(line[-1] for line in lines)
    assert testing[-1] == pytest.approx(max(TESTING_LEAST_H, TESTING_SHARE * repairs), abs=0.01)
    assert whole[-1] == pytest.approx(repairs + testing[-1], abs=0.001)
    assert report.table
    by_class = [[_number(text) for text in row[3:6]] for row in format_rows(report.table, lang, 100)[1]]
    estimate = report.facts["estimate_h"]
    for at, name in enumerate(("likely", "low", "high")):
        assert sum(row[at] for row in by_class) == pytest.approx(estimate[name], abs=0.001)
    assert estimate["likely"] == pytest.approx(whole[-1]) and estimate["low"] < whole[-1] < estimate["high"]
    assert f"{round(estimate['likely'])}" in report.verdict(lang)


PINS = {
    "torch==1.13.1+cu117": ("none", "2.6.0", "maintenance"),
    "torch==2.7.1  # 固定": ("fits", "2.7.1", "development"),
    "torch>=1.8": ("fits", "2.12.0", "development"),
    "torch>=1.8,<2.0": ("old", "1.11.0", "end_of_life"),
    "torch~=2.1.0": ("old", "2.1.0", "end_of_life"),
    "torch==2.1.2": ("none", "2.1.0", "end_of_life"),
    "torch == 2.6.*": ("fits", "2.6.0", "maintenance"),
    "torch>=1.13,<2": ("none", "2.6.0", "maintenance"),
    "torch<1.5": ("none", "2.6.0", "maintenance"),
    "torch>=2.12": ("fits", "2.12.0", "development"),
}
AHEAD = {"torch==2.13.0": "2.13.0", "torch>=2.13": "2.13.0", "torch>2.13,<3": "2.14.0"}


@pytest.mark.parametrize("line", PINS)
def test_the_versions_belong_to_the_torch_that_is_pinned(tmp_path: Path, line: str) -> None:
    (tmp_path / "requirements.txt").write_text(f"numpy\n{line}\n", encoding="utf-8")
    (tmp_path / "a.py").write_text("import torch\n")
    report = assess(tmp_path)
    chosen = report.facts["versions"]
    pin = chosen["pinned"][0]
    assert (pin["outcome"], pin["torch"], pin["state"]) == PINS[line] and pin["place"] == "requirements.txt:2:1"
    assert (_part(report, "assess_versions").status is Status.LOOK) == (pin["outcome"] != "fits")
    assert versions.pair_cann(pin["torch_npu"], pin["cann"]) == "recommended"
    table = _part(report, "assess_versions").table
    assert table is not None and [row[1] for row in table.rows] == [None, "requirements.txt:2:1"]
    for lang in ("en", "zh"):
        assert pin["torch_npu"] in _part(report, "assess_versions").text(lang)


@pytest.mark.parametrize("line", AHEAD)
def test_a_torch_npu_that_no_cann_is_paired_with_is_no_missing_one(tmp_path: Path, line: str) -> None:
    (tmp_path / "requirements.txt").write_text(f"{line}\n", encoding="utf-8")
    (tmp_path / "a.py").write_text("import torch\n")
    report = assess(tmp_path)
    (pin,) = report.facts["versions"]["pinned"]
    assert (pin["outcome"], pin["torch"], pin["cann"], pin["state"]) == ("early", AHEAD[line], "", "unreleased")
    table, plan = _part(report, "assess_versions"), _part(report, "assess_plan")
    assert table.status is Status.LOOK and "migration.versions.early" in table.to_json()
    steps = [row[1]["say"] for row in plan.table.rows if isinstance(row[1], dict)] if plan.table else []
    assert "migration.plan.early" in steps and "migration.plan.pins" not in steps
    assert line in plan.text("en") and "Go down to torch 2.12.0" in plan.text("en") and "2.12.0" in plan.text("zh")


def test_what_is_recommended_is_what_check_pairs(repository: Path) -> None:
    best = assess(repository).facts["versions"]["recommended"]
    assert versions.pair_torch(best["torch"], best["torch_npu"]) == "matches"
    assert versions.pair_cann(best["torch_npu"], best["cann"]) == "recommended"
    assert versions.pair_driver(best["cann"], best["driver"]) == "recommended"
    page = assess(repository).html()
    assert all(best["torch_npu"] in said_on(page, lang) for lang in ("en", "zh"))


@pytest.mark.parametrize(
    ("name", "text", "pins"),
    [
        ("environment.yml", "dependencies:\n  - pytorch=1.8.0=py3.8_cuda10.2\n", ["pytorch=1.8.0"]),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntorch = "^2.1"\n', ["torch^2.1"]),
        (
            "setup.py",
            "setup(install_requires=['torch>=2.0,!=2.1.1; python_version>\"3.8\"'])\n",
            ["torch>=2.0,!=2.1.1"],
        ),
        ("run.sh", "pip install torch==2.4.0 torchvision==0.19\n", ["torch==2.4.0"]),
        ("Dockerfile", "FROM ubuntu\nRUN pip install \\\n    torch==2.0.1 \\\n    numpy\n", ["torch==2.0.1"]),
        ("run.sh", "# pip install \\\n  torch==2.0.1\npip install numpy\necho torch==2.0\n", []),
        ("environment.yml", "dependencies:\n  - pytorch 2.1.*\n  - python 3.9\n", ["pytorch=2.1"]),
        ("environment.yml", "dependencies:\n  - pytorch 2.1.2 py3.9_cuda11.8_0\n", ["pytorch=2.1.2"]),
        ("requirements.txt", "torch\ntorchvision==0.8\ntorch-geometric==2.0\n# torch==1.0\n", []),
    ],
)
def test_pins_are_read_where_torch_is_installed(tmp_path: Path, name: str, text: str, pins: list[str]) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert [pin["pin"] for pin in assess(tmp_path).facts["versions"]["pinned"]] == pins


def test_links_lead_to_a_page_and_are_links(repository: Path) -> None:
    report = assess(repository)
    assert "https://pypi.org/project/flash-attn-npu/" in said_on(report.html("zh"), "zh").splitlines()


def test_a_terminal_has_no_column_for_links(repository: Path) -> None:
    columns = [column for part in assess(repository).parts if part.table for column in part.table.columns]
    links = [column.detail for column in columns if column.name == "link"]
    assert links == [True, True, True], "of the risks, the versions and the libraries"


def test_the_plan_begins_with_what_may_stop_the_migration(repository: Path, tmp_path: Path) -> None:
    (repository / "requirements.txt").write_text("torch==1.13.1\nflash-attn\n")
    plan = _part(assess(repository), "assess_plan")
    first = [row[1]["say"] for row in plan.table.rows[:3] if isinstance(row[1], dict)] if plan.table else []
    assert first == ["migration.plan.unsupported", "migration.plan.pins", "migration.plan.baseline"]
    assert "torch==1.13.1" in plan.text("zh") and "2 处不支持" in plan.verdict("zh")
    (tmp_path / "a.py").write_text("import torch\nx = x.cuda()\n")
    clean = _part(assess(tmp_path / "a.py"), "assess_plan")
    assert "baseline" in clean.verdict("en") and "unsupported" not in clean.text("en")


def test_kernels_are_counted_alike_everywhere(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch\nm = torch.nn.DataParallel(m)\n")
    for name in ("a.cu", "b.cu", "c.cuh"):
        (tmp_path / name).write_text("__global__ void f() {}\n")
    report, scanned, made = assess(tmp_path), scan(tmp_path), rewrite(tmp_path)
    count = sum(risk["places"] for risk in report.facts["risks"] if risk["class"] == "unsupported")
    assert count == report.facts["counts"]["unsupported"] == scanned.facts["counts"]["unsupported"]
    assert count == made.facts["scan_of_the_result"]["unsupported"] >= 3
    assert all(f"{count} " in one.verdict("en") for one in (report, scanned, made))


def test_the_versions_to_take_are_whole() -> None:
    """The row of the recommended set has its driver and the range of its Pythons."""
    best, table = versions.recommended_versions(), report_versions([]).table
    assert table is not None and best.python and best.driver
    assert table.column_values("versions_python") == [f"{best.python[0]} – {best.python[-1]}"]
    assert table.column_values("versions_driver") == [best.driver]
    wraps = {column.name: column.wrap for column in table.columns if column.wrap}
    assert wraps == {"versions_for": 40, "risk_first": 40, "versions_state": 44, "versions_advice": 50}
    assert table.column_values("versions_torch") == [best.torch] and table.column_values("versions_cann") == [best.cann]


def test_testing_has_hours_and_no_places(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch\nx.cuda()\nm = torch.nn.DataParallel(m)\n", encoding="utf-8")
    table = assess(tmp_path).table
    assert table is not None
    # unsupported, manual, rewrite, advice, auto; testing last
    assert table.column_values("repair_count") == [1, 0, 0, 0, 1, None]
    assert table.column_values("repair_kinds") == [1, 0, 0, 0, 1, None]
    assert table.column_values("effort") == [4.0, 0.0, 0.0, 0.0, 0.0, 20.0]
