"""Odd and broken inputs of scan and rewrite: each is one clear finding, and the rest is done."""

from __future__ import annotations

import errno
import json
import os
import subprocess
from pathlib import Path

import pytest

from ascend_workbook.cli.main import main
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.migration import scan as scanning
from ascend_workbook.migration.rewrite import rewrite
from ascend_workbook.migration.scan import scan

CODE = "import torch\nfor _ in range(2):\n    x = torch.ones(1).cuda()\n"


def _finding(report: Report, key: str) -> Finding:
    return next(finding for finding in report.findings if finding.key == key)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "train.py").write_text(CODE)
    return tmp_path / "in"


def test_a_name_that_is_no_utf_8_is_scanned_and_written(tree: Path, tmp_path: Path) -> None:
    (tree / os.fsdecode("训练".encode("gbk") + b".py")).write_text(CODE)
    files = {name: tmp_path / f"r.{name}" for name in ("json", "html", "junit")}
    assert main(["scan", str(tree), *(word for name, file in files.items() for word in (f"--{name}", str(file)))]) == 0
    read = json.loads(files["json"].read_text("utf-8"))
    assert read["facts"]["counts"]["auto"] == 2 and "\\udcc1\\udcb7" in files["html"].read_text("utf-8")
    odd = _finding(scan(tree), "MIG100.odd_names")
    assert (
        (odd.status, odd.args["count"]) == (Status.NOTE, 1)
        and "\\udcc1" in odd.message("zh")
        and "convmv" in odd.hint("en")
    )
    assert Report.from_json(files["json"].read_text("utf-8")).facts["counts"]["auto"] == 2
    assert main(["rewrite", str(tree), "--out", str(tmp_path / "out"), "--json", str(tmp_path / "w.json")]) == 0
    assert len(list((tmp_path / "out").glob("*.py"))) == 2


def test_a_name_does_not_steer_the_terminal(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "a\x1b[2J\x07b\x9bc.py").write_text(CODE)
    assert main(["scan", str(tree)]) == 0
    shown = capsys.readouterr().out
    assert "a\\x1b[2J\\x07b\\x9bc.py" in shown and not any(letter in shown for letter in "\x1b\x07\x9b")
    assert main(["scan", str(tree / "no\x1b[31m.py")]) == 2
    assert "\x1b" not in (error := capsys.readouterr().err) and "no\\x1b[31m.py" in error
    assert main(["rewrite", str(tree)]) == 0 and "\x1b" not in capsys.readouterr().out


def test_line_ends_of_a_listing_stay(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "train.py").write_bytes(CODE.replace("\n", "\r\n").encode())
    assert main(["rewrite", str(tree)]) == 0
    shown = capsys.readouterr().out
    assert "+import torch_npu" in shown and "\\x0d" not in shown


def test_a_path_beyond_the_systems_limit_is_one_finding(tree: Path) -> None:
    here = Path.cwd()
    try:
        os.chdir(tree)
        for _ in range(20):
            Path("d" * 250).mkdir()
            os.chdir("d" * 250)
    finally:
        os.chdir(here)
    report = scan(tree)
    assert report.facts["counts"]["auto"] == 1, "the rest is scanned"
    closed = _finding(report, "MIG100.unreadable")
    assert closed.status is Status.NOT_LOOKED and "could not be read" in closed.message("en")
    assert "too long" in closed.message("en") and report.status is Status.NOT_LOOKED
    assert _finding(rewrite(tree), "MIG100.unreadable").place == closed.place


def test_a_folder_that_cannot_be_opened_is_said(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tree / "closed").mkdir()
    real = os.scandir

    def refuse(path: str) -> object:
        if str(path).endswith("closed"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", refuse)
    report = scan(tree)
    assert [str(finding.place) for finding in report.findings if finding.key == "MIG100.unreadable"] == ["closed"]


@pytest.mark.parametrize("text", ["def f(:\n    pass\n", "print 'x'\n", "x = (\n"])
def test_a_broken_file_without_cuda_is_not_ok(tree: Path, text: str) -> None:
    (tree / "broken.py").write_text(text)
    for report in (scan(tree), scan(tree / "broken.py"), rewrite(tree), rewrite(tree, mode="explicit")):
        assert report.status is Status.NOT_LOOKED, report.verdict("en")
        assert _finding(report, "MIG100.unreadable").place.path == "broken.py"  # type: ignore[union-attr]


def test_in_a_large_tree_only_files_with_words_are_parsed(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tree / "broken.py").write_text("x = (\n")
    (tree / "cuda.py").write_text("import torch\ntorch.cuda.f((\n")
    monkeypatch.setattr(scanning, "PARSED", 3)
    assert {str(f.place) for f in scan(tree).findings if f.key == "MIG100.unreadable"} == {"broken.py:1", "cuda.py:2"}
    monkeypatch.setattr(scanning, "PARSED", 2)
    assert {str(f.place) for f in scan(tree).findings if f.key == "MIG100.unreadable"} == {"cuda.py:2"}


@pytest.mark.parametrize("mode", ["inject", "explicit"])
def test_a_patch_edits_a_linked_script_once(tree: Path, tmp_path: Path, mode: str) -> None:
    (tree / "别名.py").symlink_to("train.py")
    patch = tmp_path / "p.patch"
    report = rewrite(tree, tmp_path / "out", mode=mode, patch=patch)
    assert patch.read_text("utf-8").count("+++ ") == 1 and report.listing.text.count("+++ ") == 1  # type: ignore[union-attr]
    link = _finding(report, "MIG130.link")
    assert link.status is Status.GOOD and link.args["first"] == "别名.py" and "train.py" in link.message("zh")
    subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
    subprocess.run(["git", "apply", str(patch)], cwd=tree, check=True)
    assert (tree / "train.py").read_bytes() == (tmp_path / "out" / "train.py").read_bytes()
    assert (tmp_path / "out" / "别名.py").read_bytes() == (tmp_path / "out" / "train.py").read_bytes()


def test_a_link_out_of_the_folder_is_in_no_patch(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text(CODE)
    (tree / "out.py").symlink_to(tmp_path / "other.py")
    patch = tmp_path / "p.patch"
    report = rewrite(tree, patch=patch)
    assert "out.py" not in patch.read_text() and "+++ b/train.py" in patch.read_text()
    link = _finding(report, "MIG130.link_out")
    assert link.status is Status.LOOK and str(tmp_path / "other.py") in link.message("en") and link.hint("zh")
    assert not {finding.key for finding in rewrite(tmp_path / "other.py").findings} & {"MIG130.link", "MIG130.link_out"}


def test_a_full_disk_names_the_file(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", refuse)
    assert main(["rewrite", str(tree), "--out", str(tmp_path / "full")]) == 2
    error = capsys.readouterr().err
    assert str(tmp_path / "full" / ".ascend-workbook.json") in error and ": :" not in error
    assert not list((tmp_path / "full").glob("*.part"))
