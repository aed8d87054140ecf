"""A dry run of a script that would harm: nothing of the user's changes, and the report says what was tried."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.machine import device, sandbox
from ascend_workbook.machine.device import Device
from ascend_workbook.migration.dry_run import dry_run

TRAINING = """
import torch, pathlib, socket
{harm}
torch.manual_seed(0)
model = torch.nn.Linear(8, 8).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    loss = model(torch.randn(4, 8).cuda()).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.fixture(autouse=True)
def known_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    """The devices a test names are taken as found: each question to a child costs a second import of torch."""
    monkeypatch.setattr(device, "find", lambda wanted, python: Device(wanted, "named by the test", 1))
    monkeypatch.setattr(device, "find_baseline", lambda wanted, python: Device(wanted, "named by the test", 1))


def _run(tmp_path: Path, harm: str) -> Report:
    script = tmp_path / "repository" / "train.py"
    script.parent.mkdir(exist_ok=True)
    script.write_text(TRAINING.format(harm=harm))
    return dry_run(script, device="cpu", baseline="cpu", steps=2, out=tmp_path / "out")


def _keys(report: Report) -> dict[str, Status]:
    everything = [*report.findings, *(finding for part in report.parts for finding in part.findings)]
    return {finding.key: finding.status for finding in everything if finding.rule in ("MIG155", "MIG156")}


@pytest.mark.skipif(sandbox.find_guard() != sandbox.NAMESPACES, reason="this machine allows no name spaces")
def test_what_is_deleted_by_its_absolute_path_is_still_there(tmp_path: Path) -> None:
    precious = tmp_path / "elsewhere" / "weights.pt"
    precious.parent.mkdir()
    precious.write_text("mine")
    report = _run(tmp_path, f"pathlib.Path({str(precious)!r}).unlink()")
    assert precious.read_text() == "mine"
    assert _keys(report) == {"MIG155.guard": Status.GOOD, "MIG156.tried": Status.LOOK}
    tried = next(finding for finding in report.findings if finding.rule == "MIG156")
    assert f"{precious} (deleted)" in tried.message("en")


@pytest.mark.skipif(sandbox.find_guard() != sandbox.NAMESPACES, reason="this machine allows no name spaces")
def test_a_failure_for_want_of_the_network_names_the_option(tmp_path: Path) -> None:
    report = _run(tmp_path, "socket.create_connection(('192.0.2.1', 80), 2)")
    assert report.status == Status.FIX
    assert _keys(report)["MIG156.network"] == Status.LOOK
    network = next(finding for finding in report.findings if finding.key == "MIG156.network")
    assert "--network" in (network.hint("en") or "")


def test_without_a_guard_the_report_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here the devices are really looked for, in children."""
    monkeypatch.undo()
    monkeypatch.setenv(sandbox.GUARD_VARIABLE, "none")
    sandbox.find_guard.cache_clear()
    try:
        report = _run(tmp_path, "")
        assert _keys(report) == {"MIG155.guard": Status.NOTE}
        names = [report.facts[side]["name"] for side in ("baseline", "target")]
        assert all(names) and "named by the test" not in names
    finally:
        sandbox.find_guard.cache_clear()


@pytest.mark.skipif(sandbox.find_guard() == sandbox.NONE, reason="this machine has no Landlock")
def test_a_write_that_landlock_refuses_is_told_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(sandbox.GUARD_VARIABLE, "landlock")
    sandbox.find_guard.cache_clear()
    try:
        precious = tmp_path / "weights.pt"
        precious.write_text("mine")
        report = _run(tmp_path, f"pathlib.Path({str(precious)!r}).write_text('gone')")
    finally:
        sandbox.find_guard.cache_clear()
    assert precious.read_text() == "mine"
    assert report.status == Status.FIX
    refused = next(finding for finding in report.findings if finding.key == "MIG156.refused")
    assert "ASCEND_WORKBOOK_GUARD=none" in (refused.hint("en") or "")
