"""scan, assess and rewrite say the same of one repository: status, exit code, counts, and what they cannot look at."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.cli.main import main
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.migration.assess import assess
from ascend_workbook.migration.repair import CLASSES
from ascend_workbook.migration.rewrite import rewrite
from ascend_workbook.migration.scan import scan
from ascend_workbook.migration.verdict import join

VERBS = ("scan", "assess", "rewrite")
#: A file for each class, with what its scan finds.
SOURCES = {
    "": "print('你好')\n",
    "auto": "import torch\nx = torch.zeros(1).cuda()\n",
    "advice": "import torch\ntorch.backends.cudnn.benchmark = True\n",
    "rewrite": "import torch\nx = torch.zeros(1).cuda('cuda:0')\n",
    "manual": "import torch\ntorch.cuda.nvtx.mark('x')\n",
    "unsupported": "import flash_attn\n",
}


def _exit(verb: str, path: Path, *options: str) -> int:
    return main([verb, str(path), "--lang", "en", *options])


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("asked", CLASSES)
def test_three_verbs_have_one_exit_code(tmp_path: Path, kind: str, asked: str) -> None:
    """Without --fail-on 0; with it 1 where that class occurs, for rewrite: where it is left (of an edit: `.to`)."""
    (tmp_path / "a.py").write_text(SOURCES[kind], encoding="utf-8")
    assert [_exit(verb, tmp_path) for verb in VERBS] == [0, 0, 0]
    found = int(bool(scan(tmp_path).facts["counts"][asked]))
    left = 0 if asked == "rewrite" else int((kind, asked) == ("rewrite", "auto")) or found
    assert [_exit(verb, tmp_path, "--fail-on", asked) for verb in VERBS] == [found, found, left]


def test_scan_and_assess_have_one_status_and_rewrite_speaks_of_what_is_left(tmp_path: Path) -> None:
    for kind, text in SOURCES.items():
        (tmp_path / "a.py").write_text(text, encoding="utf-8")
        assert scan(tmp_path).status is assess(tmp_path).status, kind
        left = rewrite(tmp_path)
        assert left.status is (Status.LOOK if kind in ("manual", "unsupported") else Status.GOOD), kind
        assert ("UNSUPPORTED" in left.verdict("en")) == (kind == "unsupported")


def test_a_cuda_source_is_as_unsupported_after_the_rewrite(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(SOURCES["auto"], encoding="utf-8")
    (tmp_path / "k.cu").write_bytes(b"")
    told = [scan(tmp_path), assess(tmp_path), rewrite(tmp_path)]
    assert [report.headline.args["unsupported"] for report in told if report.headline] == [1, 1, 1]
    assert all("first k.cu" in report.verdict("en") for report in told)


@pytest.mark.parametrize("files", [{}, {"readme.md": b"cuda"}, {"c.cfg": b"cuda"}, {"a.py": b"\x7fELF\0cuda"}])
def test_nothing_to_look_at_is_one_error(
    tmp_path: Path, files: dict[str, bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "r").mkdir()
    for name, data in files.items():
        (tmp_path / "r" / name).write_bytes(data)
    told = set()
    for verb in VERBS:
        assert _exit(verb, tmp_path / "r") == 2
        shown = capsys.readouterr()
        told.add(shown.err)
        assert "next step: " in shown.err and not shown.out
    assert len(told) == 1
    if "a.py" not in files:
        rewrite(tmp_path / "r", tmp_path / "out", patch=tmp_path / "p.patch")
        assert not (tmp_path / "out").exists() and not (tmp_path / "p.patch").exists()


def test_files_are_counted_by_kind(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(SOURCES["rewrite"], encoding="utf-8")
    (tmp_path / "setup.py").write_text("", encoding="utf-8")
    (tmp_path / "n.ipynb").write_text('{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}')
    (tmp_path / "run.sh").write_text("python a.py\n")
    (tmp_path / "requirements.txt").write_text("numpy\n")
    (tmp_path / "Dockerfile").write_text("FROM ubuntu\n")
    (tmp_path / "conf.yaml").write_text("device: cuda\n")
    en = "2 Python file(s), 1 notebook(s), 1 launch script(s), 1 list(s) of requirements, "
    en += "1 Dockerfile(s), 1 file(s) of settings"
    zh = "2 个 Python 文件、1 个笔记本、1 个启动脚本、1 个依赖清单、1 个 Dockerfile、1 个配置文件"
    for report in (scan(tmp_path), assess(tmp_path)):
        assert en in report.verdict("en") and zh in report.verdict("zh")
    assert rewrite(tmp_path).facts["files"] == scan(tmp_path).facts["files"] == 7


def test_what_was_not_read_stands_in_every_verdict(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(SOURCES["manual"], encoding="utf-8")
    (tmp_path / "b.py").write_text("import torch\nx = ('cuda'")
    for report in (scan(tmp_path), assess(tmp_path), rewrite(tmp_path)):
        assert "NOT READ: 1 file(s)" in report.verdict("en") and "1 个文件未能读取" in report.verdict("zh")


@pytest.mark.parametrize(("kind", "status"), [("unsupported", Status.FIX), ("manual", Status.LOOK), ("", Status.GOOD)])
def test_the_stage_stays_red_for_an_unsupported_place(tmp_path: Path, kind: str, status: Status) -> None:
    (tmp_path / "a.py").write_text(SOURCES[kind], encoding="utf-8")
    ran = Report("migration", "dry_run", (Finding("MIG140", Status.GOOD, "MIG141.none"),))
    assert join(scan(tmp_path), rewrite(tmp_path), ran).status is status


@pytest.mark.parametrize(("not_run", "status"), [(True, Status.NOT_LOOKED), (False, Status.FIX)])
def test_a_stage_without_an_npu_says_that_the_run_was_not_looked_at(
    tmp_path: Path, not_run: bool, status: Status
) -> None:
    """Even where the CPU told something else of the run, and where the trace there saw no whole step."""
    (tmp_path / "a.py").write_text(SOURCES["auto"], encoding="utf-8")
    more = Finding("MIG142", Status.NOTE, "MIG142.not_shown", weight=9000.0)
    skipped = [Finding("MIG140", Status.NOT_LOOKED, "MIG140.not_run", {"tier": "cpu"})] if not_run else []
    ran = Report("migration", "dry_run", (more, *skipped), tier="cpu")
    cut = Finding("MIG174", Status.FIX, "MIG174.no_step", {"steps": 1}, weight=1000.0)
    traced = Report("migration", "operator_support", (cut,), tier="cpu")
    joined = join(scan(tmp_path), rewrite(tmp_path), ran, traced)
    assert joined.status is status
    assert [part.status for part in joined.parts if part.verb == "operator_support"] == [status]
    assert ("the migrated script was not run" in joined.verdict("en")) == not_run
    assert (joined.or_raise() is joined) if not_run else pytest.raises(WorkbookError, joined.or_raise)


def test_a_migration_in_rounds_that_trains_is_stopped_by_no_place(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(SOURCES["unsupported"], encoding="utf-8")
    found, changed = scan(tmp_path), rewrite(tmp_path)
    for verb, run, status in (
        ("dry_run", Status.GOOD, Status.FIX),
        ("migrate", Status.FIX, Status.FIX),
        ("migrate", Status.NOTE, Status.LOOK),
    ):
        ran = Report("migration", verb, (Finding("MIG140", run, "MIG140.no_loss", {"steps": 0}),))
        assert join(found, changed, ran).status is status
