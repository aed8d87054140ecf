"""The tier that is found, and the reasons why better ones are not; children that hang, die or answer nonsense."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.machine import bounded, cann, device, simulator

ANSWERS: dict[str, dict[str, Any]] = {
    "npu": {"name": "Ascend910B2", "count": 8, "versions": {}},
    "npu-simulated": {"name": "Ascend910B2", "count": 2, "versions": {}},
    "cuda": {"name": "A100", "count": 1, "versions": {}},
    "cpu": {"name": "a CPU", "count": 1, "versions": {}},
}
NO = {"why": {"say": "device.why.no_cann"}}


def here(monkeypatch: pytest.MonkeyPatch, *tiers: str) -> list[str]:
    """Only these tiers answer; the list of those asked."""
    asked: list[str] = []

    def ask(tier: str, python: str) -> dict[str, Any]:
        asked.append(tier)
        return ANSWERS[tier] if tier in tiers else NO

    monkeypatch.setattr(device, "ask_tier", ask)
    return asked


@pytest.mark.parametrize(
    ("tiers", "best"),
    [
        (("npu", "npu-simulated", "cuda", "cpu"), "npu"),
        (("npu-simulated", "cuda", "cpu"), "npu-simulated"),
        (("cuda", "cpu"), "cuda"),
        (("cpu",), "cpu"),
    ],
)
def test_the_best_tier_is_taken(monkeypatch: pytest.MonkeyPatch, tiers: tuple[str, ...], best: str) -> None:
    here(monkeypatch, *tiers)
    found = device.find()
    assert found.tier == best
    assert list(found.why_not) == list(device.TIERS[: device.TIERS.index(best)])
    assert found.simulated == (best == "npu-simulated")
    assert found.accelerator == {"npu-simulated": "npu"}.get(best, best)


def test_npu_never_means_a_simulated_one(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = here(monkeypatch, "npu-simulated", "cuda", "cpu")
    with pytest.raises(WorkbookError, match="device npu is not here: no CANN was found"):
        device.find("npu")
    assert asked == ["npu"]


def test_the_child_asked_for_cuda_answers_for_the_cpu_too(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def ask(tier: str, python: str) -> dict[str, Any]:
        asked.append(tier)
        return {**NO, "cpu": ANSWERS["cpu"]} if tier == "cuda" else NO

    monkeypatch.setattr(device, "ask_tier", ask)
    assert device.find().tier == "cpu" and asked == ["npu", "npu-simulated", "cuda"]
    assert device.find_baseline().tier == "cpu"


def test_a_wrong_word() -> None:
    with pytest.raises(WorkbookError, match="expected one of auto"):
        device.find("gpu")
    with pytest.raises(WorkbookError, match="device npu: expected"):
        device.find_baseline("npu")


def child(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: str) -> dict[str, Any]:
    """What is made of a child that runs this code in place of the probe."""
    probe = tmp_path / "probe.py"
    probe.write_text(code)
    monkeypatch.setattr(device, "PROBE", probe)
    monkeypatch.setattr(device, "TIMEOUT_S", 1.0 if "sleep" in code else 60.0)
    return device.ask_tier("cpu", sys.executable)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import os; os.abort()", "device.why.import"),
        ("raise SystemExit('no')", "device.why.import"),
        ("print('{\"name\": ')", "device.why.import"),
        ("import time; time.sleep(60)", "device.why.timeout"),
    ],
)
def test_a_child_that_goes_wrong_is_a_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: str, said: str
) -> None:
    assert child(monkeypatch, tmp_path, code)["why"]["say"] == said


def test_words_before_the_answer_do_no_harm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answer = child(monkeypatch, tmp_path, 'print(\'a warning\'); print(\'{"name": "x", "count": 1}\')')
    assert answer == {"name": "x", "count": 1}


def test_a_python_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(WorkbookError, match="no such file"):
        device.find("cpu", python=str(tmp_path / "python"))


def test_without_torch_npu_it_is_said(tmp_path: Path) -> None:
    """The probe itself, in a Python that has a torch and no torch_npu."""
    (tmp_path / "torch.py").write_text("__version__ = '2.9.0'")
    done = bounded.run_bounded(
        [sys.executable, str(device.PROBE), "npu"], env={"PYTHONPATH": str(tmp_path)}, timeout_s=30
    )
    assert "device.why.no_torch_npu" in done.stdout


def test_children_of_an_interactive_process_get_the_queue_as_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    base = {"TASK_QUEUE_ENABLE": "0", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    assert device.child_environment("npu", base)["TASK_QUEUE_ENABLE"] == "0"
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    assert device.child_environment("npu", base) == {}
    monkeypatch.setattr(device, "_started_with", lambda name: {name: "2"})
    assert device.child_environment("npu", base) == {"TASK_QUEUE_ENABLE": "2"}


def test_children_without_an_npu_do_not_load_torch_npu() -> None:
    assert device.child_environment("cpu", {})["TORCH_DEVICE_BACKEND_AUTOLOAD"] == "0"
    assert "TORCH_DEVICE_BACKEND_AUTOLOAD" not in device.child_environment("npu", {})


def test_a_cann_that_was_not_sourced_is_sourced_for_children(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "set_env.sh").write_text("export ASCEND_HOME_PATH=/made\n")
    monkeypatch.setattr(cann, "ROOTS", (str(tmp_path),))
    assert device.child_environment("npu", {"PATH": "/usr/bin:/bin"})["ASCEND_HOME_PATH"] == "/made"


def test_a_sourced_simulator_is_not_a_real_npu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "version.cfg").write_text("version=9.1.0\nsimulated=true\n")
    monkeypatch.setattr(cann, "ROOTS", ())
    monkeypatch.setenv("ASCEND_HOME_PATH", str(tmp_path))
    with pytest.raises(WorkbookError, match="the CANN in use is the simulator"):
        device.find("npu")


def test_a_simulator_that_is_not_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulator, "is_built", lambda: False)
    with pytest.raises(WorkbookError, match="the simulator is not built"):
        device.find("npu-simulated")


def test_the_simulated_npu_is_found(simulator_env: dict[str, str]) -> None:
    found = device.find()
    assert (found.tier, found.accelerator, found.count) == ("npu-simulated", "npu", 2)
    assert found.versions["torch_npu"] and list(found.why_not) == ["npu"]
