"""dry_run on what users have: notebooks, shell scripts, packages beside the script, dropout, several ranks, leaks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.machine.device import Device
from ascend_workbook.migration import dry_run as module
from ascend_workbook.migration.dry_run import dry_run

TRAIN = """
import torch
net = torch.nn.Linear(4, 1).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
kept = []
for step in range(9):
    loss = net(torch.ones(2, 4).cuda() * (step + 1)).pow(2).mean()
    {body}
    optimizer.zero_grad(); loss.backward(); optimizer.step()
"""


@pytest.fixture(autouse=True)
def known_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    """The devices a test names are taken as found: each question to a child costs a second import of torch."""
    monkeypatch.setattr(module.devices, "find", lambda wanted, python: Device(wanted, "named by the test", 1))
    monkeypatch.setattr(module.devices, "find_baseline", lambda wanted, python: Device(wanted, "named by the test", 1))


def _script(folder: Path, body: str = "pass") -> Path:
    script = folder / "train.py"
    script.write_text(TRAIN.format(body=body), encoding="utf-8")
    return script


def _found(report: Report, key: str) -> Finding:
    return {finding.key: finding for finding in report.findings}[key]


@pytest.mark.full
def test_a_shell_script_runs_its_command_and_a_fault_is_placed_in_the_module_beside(
    tmp_path: Path, simulator_env: dict[str, str]
) -> None:
    repo = tmp_path / "repo"
    for folder in ("tools", "scripts", "src/parts"):
        (repo / folder).mkdir(parents=True)
    (repo / "setup.cfg").write_text("")
    (repo / "words.txt").write_text("here")
    (repo / "src" / "parts" / "__init__.py").write_text("")
    fault = "import torch\ndef odd(x):\n    return torch.asarray(x.cpu().tolist(), device=''.join(['cu', 'da']))\n"
    (repo / "src" / "parts" / "net.py").write_text(fault + "torch.ones(1).cuda('cuda:0')\n")
    body = "import sys; from parts.net import odd; assert open('words.txt').read() + sys.argv[1] == 'herego'; odd(loss)"
    _script(repo / "tools", body)
    (repo / "scripts" / "run.sh").write_text(
        'cd "$(dirname "$0")/.."\nexport PYTHONPATH=src\nWORD=go\npython tools/train.py $WORD | tee log.txt\n'
    )
    report = dry_run(
        f"bash {repo / 'scripts' / 'run.sh'}", device="npu-simulated", baseline="cpu", steps=1, out=tmp_path / "out"
    )
    failed = _found(report, "MIG140.failed")
    assert str(failed.place) == "src/parts/net.py:3" and str(failed.args["code"]).startswith("return torch.asarray")
    assert "MIG140.reason" in {finding.key for finding in report.findings}
    assert report.table is not None and None not in report.table.column_values("baseline_loss"), report.text("en")
    assert b".to('cuda:0')" in (tmp_path / "out" / "target" / "work" / "src" / "parts" / "net.py").read_bytes()
    assert "src/parts/net.py" in _found(report, "MIG148.reached").message("en")
    assert "run.sh:4" in _found(report, "MIG148.launch").message("zh") and not (repo / "log.txt").exists()


def test_a_notebook_fails_in_a_cell_and_line(tmp_path: Path) -> None:
    cells = ["!pip list", TRAIN.format(body="display(loss)"), "%%time\nraise ValueError('第一')"]
    content = {"cells": [{"cell_type": "code", "source": code} for code in cells], "nbformat": 4}
    notebook = tmp_path / "train.ipynb"
    notebook.write_text(json.dumps(content), encoding="utf-8")
    report = dry_run(notebook, device="cpu", baseline="cpu", steps=20, out=tmp_path / "out")
    failed = _found(report, "MIG140.failed")
    assert str(failed.place) == "train.ipynb#cell3:2" and "raise ValueError" in str(failed.args["code"])
    assert len(report.facts["baseline"]["losses"]) == 9
    assert sorted(file.name for file in tmp_path.iterdir()) == ["out", "train.ipynb"]
    assert "train.ipynb#cell1:1 (!pip list)" in _found(report, "MIG148.some_cells").message("en")


@pytest.mark.full
def test_dropout_is_named_and_losses_that_part_with_it_are_no_verdict(
    tmp_path: Path, simulator_env: dict[str, str]
) -> None:
    script = _script(tmp_path, "loss = loss * torch.nn.functional.dropout(torch.ones(8).cuda(), 0.5).mean()")
    report = dry_run(script, device="npu-simulated", baseline="cpu", steps=3, out=tmp_path / "out")
    said = report.headline
    assert said is not None and said.key == "MIG149.parted" and report.status is Status.LOOK, report.text("en")
    assert str(said.place) == "train.py:8" and said.args["places"] == ["train.py:8"]
    assert "neither a fault nor agreement" in report.verdict("en") and "dropout" in said.hint("zh")


@pytest.mark.full
def test_what_is_drawn_and_reaches_no_loss_leaves_the_verdict(tmp_path: Path, simulator_env: dict[str, str]) -> None:
    script = _script(tmp_path, "torch.randn(2, device='cuda')")
    report = dry_run(script, device="npu-simulated", baseline="cpu", steps=2)
    assert report.status is Status.GOOD and report.headline is not None and report.headline.key == "MIG140.within"
    assert "train.py:8" in _found(report, "MIG149.drawn").message("en")


def test_memory_that_grows_is_found(tmp_path: Path) -> None:
    script = _script(tmp_path, "kept.append(torch.ones(8 << 20).numpy())")
    report = dry_run(script, device="cpu", baseline="cpu", steps=7)
    grows = _found(report, "MIG144.grows")
    assert grows.status is Status.LOOK and 25 <= float(str(grows.args["each"])) <= 40, grows.message("en")


def test_a_run_that_takes_more_than_the_limit_is_ended_and_a_smaller_one_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module.memory, "limit_mib", lambda nproc: 700)
    wait = "import time; kept.append(torch.ones(1 << 28).numpy()) if step == 1 else time.sleep(step and 5)"
    script = _script(tmp_path, wait)
    options = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--batch-size', type=int, default=64)\n"
    script.write_text(options + script.read_text(encoding="utf-8"), encoding="utf-8")
    report = dry_run(script, device="cpu", baseline="cpu", steps=9, out=tmp_path / "out")
    large = _found(report, "MIG145.too_large")
    assert report.headline == large and "--batch-size 64 -> 2" in large.message("en")
    assert "700 MiB" in large.message("en") and report.facts["baseline"]["memory"]["host_mib"] > 700
    assert "dry-run train.py --batch-size 2" in large.hint("en")


@pytest.mark.full
def test_ranks_of_torchrun_are_compared_one_by_one(tmp_path: Path, simulator_env: dict[str, str]) -> None:
    head = "import torch\ntorch.distributed.init_process_group('nccl')\nrank = torch.distributed.get_rank()\n"
    script = _script(tmp_path, "loss = loss * (1 + rank)")
    script.write_text(head + script.read_text(encoding="utf-8"), encoding="utf-8")
    report = dry_run(f"torchrun --nproc_per_node=2 {script}", device="npu-simulated", baseline="cpu", steps=3)
    ranks = _found(report, "MIG140.ranks")
    assert report.status is Status.GOOD and ranks.args["ranks"] == 2, report.text("en")
    first, second = report.facts["target"]["rank_losses"]
    assert len(first) == 3 and second[0] == pytest.approx(2 * first[0])
    assert "MIG142.not_shown_ranks" in {finding.key for finding in report.findings}


@pytest.mark.full
def test_a_rank_that_is_wrong_is_found_though_rank_0_agrees(tmp_path: Path, simulator_env: dict[str, str]) -> None:
    head = "import torch\ntorch.distributed.init_process_group('nccl')\nrank = torch.distributed.get_rank()\n"
    script = _script(tmp_path, "loss = loss * (1.5 if rank == 1 and step == 2 and loss.device.type != 'cpu' else 1)")
    script.write_text(head + script.read_text(encoding="utf-8"), encoding="utf-8")
    report = dry_run(f"torchrun --nproc_per_node=2 {script}", device="npu-simulated", baseline="cpu", steps=3)
    ranks = _found(report, "MIG140.ranks")
    assert ranks.status is Status.FIX and (ranks.args["rank"], ranks.args["step"]) == (1, 3), report.text("en")
    assert report.table is not None and report.table.column_values("relative_error") == [0.0] * 3


@pytest.mark.full
def test_both_ranks_of_a_baseline_are_kept(tmp_path: Path) -> None:
    body = "loss = loss * (1 + int(__import__('os').environ['RANK']))"
    report = dry_run("torchrun", ["--nproc_per_node=2", str(_script(tmp_path, body))], "cpu", 2, baseline="cpu")
    first, second = report.facts["baseline"]["rank_losses"]
    assert len(first) == 2 and second[0] == pytest.approx(2 * first[0])
