"""assess: hours by class, risks in order, libraries once, the gate, and a page in both languages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers.__main__ import main
from helpers.errors import WorkbookError
from helpers.finding import Status
from helpers.migration.assess import REPEATED, assess, kinds_of, ranked
from helpers.migration.repair import CLASSES
from helpers.report import Report

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


def test_the_gravest_risk_stands_first(repository: Path) -> None:
    report = assess(repository)
    risks = report.facts["risks"]
    assert [risk["class"] for risk in risks] == ["unsupported", "unsupported", "manual"]
    assert risks[0]["first"].endswith(":1") and risks[0]["effort_h"] >= risks[-1]["effort_h"]
    assert ranked(kinds_of(report.findings)) == []


@pytest.mark.parametrize("fail_on", [(), ("unsupported",), ("rewrite", "unsupported")])
def test_the_gate(repository: Path, fail_on: tuple[str, ...]) -> None:
    report = assess(repository, fail_on)
    assert (report.status is Status.FAIL) == bool(fail_on) and report.facts["failed_on"] == list(fail_on)


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
        page = report.html(lang)
        assert words.lower() in page.lower() and "flash_attn" in page and "训练.py:2" in page
    assert Report.from_json(report.to_json()).text("zh") == report.text("zh")


def test_the_command_gates_and_writes_json(repository: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.json"
    assert main(["assess", str(repository), "--lang", "zh"]) == 0
    assert main(["assess", str(repository), "--fail-on", "unsupported", "--json", str(out), "--lang", "en"]) == 1
    assert json.loads(out.read_text(encoding="utf-8"))["facts"]["failed_on"] == ["unsupported"]
