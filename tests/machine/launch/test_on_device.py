"""A launch on a device: its environment, its tier, and the way a GPU script gets there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ascend_workbook.findings.report import TIERS
from ascend_workbook.machine.device import Device, child_environment
from ascend_workbook.machine.launch import TRANSFORMS, LaunchSpec

HOW = {"npu": "transfer_to_npu", "npu-simulated": "transfer_to_npu", "cuda": "none", "cpu": "baseline_cpu"}


@pytest.mark.parametrize("tier", TIERS)
def test_a_spec_on_each_tier(tmp_path: Path, tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ascend_workbook.machine.launch.spec.child_environment", lambda asked: {"FOR": asked})
    bare = LaunchSpec(out=tmp_path, script=Path(__file__), args=("--epochs", "1"), steps=7, grad_norm=False)
    spec = bare.on(Device(tier, "one", 1, {}))
    assert (spec.transform, spec.tier, spec.simulated) == (HOW[tier], tier, tier == "npu-simulated")
    assert spec.env == {"FOR": tier} and spec.transform in TRANSFORMS
    assert replace(spec, env=None, transform="none", tier="cpu", simulated=False) == bare
    spec.check_fields()


def test_the_environment_is_the_device_s_unless_one_is_given(tmp_path: Path) -> None:
    cpu = Device("cpu", "cpu", 1, {})
    assert LaunchSpec(out=tmp_path).on(cpu).env == child_environment("cpu")
    assert LaunchSpec(out=tmp_path, env={"ONLY": "this"}).on(cpu).env == {"ONLY": "this"}
