"""The machine without CANN: torch_npu is there and its import fails as on a real one; nothing else is missing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from course.lessons.child import checked, on_device, raised, run_script, scene


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text("import torch\nprint('torch', torch.ones(2).sum().item())\n", encoding="utf-8")
    return path


def test_import_torch_fails_there_and_goes_with_it(script: Path, simulator_env: dict[str, str]) -> None:
    broken = run_script(script, scene())
    assert broken.code == 1 and "libhccl.so" in raised(broken.stderr) and not broken.stdout
    mended = run_script(script, on_device("npu-simulated"))
    assert mended.code == 0 and mended.stdout == "torch 2.0\n"


def test_the_check_is_that_of_the_machine(tmp_path: Path, simulator_env: dict[str, str]) -> None:
    here = {found.rule: found.status for found in checked(scene(), tmp_path / "check.json").findings}
    assert here["ENV051"] is Status.LOOK and here["ENV053"] is Status.GOOD


def test_a_check_that_wrote_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(WorkbookError, match="wrote no report"):
        checked({}, tmp_path / "check.json", tier="quantum")


def test_the_environment_points_to_no_cann(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_HOME_PATH", "/usr/local/Ascend/cann")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/usr/local/Ascend/cann/lib64:/opt/ascend-kit:/lib/x")
    clean = scene()
    assert "ASCEND_HOME_PATH" not in clean
    assert clean["LD_LIBRARY_PATH"].split(os.pathsep) == ["/opt/ascend-kit", "/lib/x"]


def test_what_was_raised_is_told_without_the_stack() -> None:
    text = 'Traceback (most recent call last):\n  File "a.py", line 1\n    import b\nImportError: no b\n\n'
    assert raised(text) == "Traceback (most recent call last):\nImportError: no b"
