"""What is said of a script that fails before anything was compared: whose fault, and what to do next."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.machine.device import Device
from ascend_workbook.machine.launch import LaunchSpec, launch
from ascend_workbook.migration import dry_run as module
from ascend_workbook.migration.dry_run import dry_run
from ascend_workbook.migration.dry_run.failed import package_of_module
from ascend_workbook.migration.dry_run.judge import which_loss

TRAIN = (
    "import torch\nnet = torch.nn.Linear(2, 1)\nbest = torch.optim.SGD(net.parameters(), lr=0.1)\n"
    "for micro in range({micro}):\n    (net(torch.ones(1, 2)).sum() / {micro}).backward()\nbest.step()\n"
)


@pytest.fixture(autouse=True)
def known_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.devices, "find", lambda wanted, python: Device(wanted, "named by the test", 1))
    monkeypatch.setattr(module.devices, "find_baseline", lambda wanted, python: Device(wanted, "named by the test", 1))


def _run(tmp_path: Path, text: str) -> Report:
    script = tmp_path / "train.py"
    script.write_text(text, encoding="utf-8")
    return dry_run(script, ["--epochs", "1"], device="cpu", baseline="cpu", steps=1, out=tmp_path / "out")


def test_a_migrated_script_is_refused_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(WorkbookError) as caught:
        _run(tmp_path, "import torch\nfrom torch_npu.contrib import transfer_to_npu\n")
    assert "simulator run -- python " in str(caught.value) and "train.py --epochs 1" in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_guarded_import_of_torch_npu_runs(tmp_path: Path) -> None:
    guarded = "try:\n    import torch_npu\nexcept ImportError:\n    pass\n"
    assert _run(tmp_path, guarded + TRAIN.format(micro=1)).status is Status.NOT_LOOKED


@pytest.mark.parametrize(
    ("text", "key", "step"),
    [
        ("if True:\n    import torch_npu\n", "MIG140.migrated", "simulator run -- python "),
        ("import cv2.gone_\n", "MIG140.missing", "-m pip install -c held.txt opencv-python-headless`"),
        ("open('data/train.bin')\n", "MIG140.unprepared", "train.py --its-option"),
    ],
)
def test_what_the_original_lacks_is_named_with_the_next_step(tmp_path: Path, text: str, key: str, step: str) -> None:
    report = _run(tmp_path, text)
    found = {one.key: one for one in report.findings}
    assert step in found[key].hint("en") and "MIG140.cause" not in found
    assert "original that fails by itself" in report.verdict("en") and "失败的是原脚本本身" in report.verdict("zh")
    assert report.text("en").count("original that fails by itself") == 1


def test_another_fault_of_the_original_gets_none_of_these(tmp_path: Path) -> None:
    keys = {one.key for one in _run(tmp_path, "raise ValueError('broken')\n").findings}
    assert "MIG140.failed" in keys and not keys & {"MIG140.migrated", "MIG140.missing", "MIG140.unprepared"}


@pytest.mark.parametrize(
    ("micro", "regex", "keys"),
    [(1, None, []), (2, None, ["MIG140.of_backward"]), (1, "loss (.*)", ["MIG140.of_output"])],
)
def test_which_loss_is_told_only_where_it_can_differ(
    tmp_path: Path, micro: int, regex: str | None, keys: list[str]
) -> None:
    script = tmp_path / "train.py"
    script.write_text(TRAIN.format(micro=micro), encoding="utf-8")
    run = launch(LaunchSpec(out=tmp_path / "out", script=script, steps=1))
    assert [one.key for one in which_loss(run, regex)] == keys


def test_a_module_of_another_name_is_installed_by_its_package() -> None:
    assert [package_of_module(name) for name in ("yaml", "PIL.Image", "einops.layers")] == [
        "pyyaml",
        "pillow",
        "einops",
    ]
