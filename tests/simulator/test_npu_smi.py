"""The stand-in npu-smi: the layouts that our own parser and others read, and SIMULATED in each. 3 s."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from ascend_workbook.environment.hardware import read_hardware
from ascend_workbook.environment.rules import simulator as rule
from ascend_workbook.environment.system import System
from ascend_workbook.machine.npu_smi import parse_npu_smi
from tests.environment import machines

REAL = """\
| npu-smi 24.1.rc1  Version: 24.1.rc1                         |
| NPU   Name  | Health       | Power(W)   Temp(C)             |
| Chip        | Bus-Id       | AICore(%)  Memory-Usage(MB)    |
| 0     910B4 | OK           | 81.1       37                  |
| 0           | 0000:82:00.0 | 0          0    / 0            |
"""


def npu_smi(env: dict[str, str], *args: str, code: int = 0) -> str:
    done = subprocess.run(["npu-smi", *args], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout


@pytest.fixture()
def env(simulator_env: dict[str, str]) -> dict[str, str]:
    devices = {"ASCEND_WORKBOOK_SIM_DEVICES": "3", "ASCEND_RT_VISIBLE_DEVICES": "1"}
    return {**simulator_env, **devices, "ASCEND_WORKBOOK_SIM_MEMORY_MIB": "4096"}


def test_the_table(env: dict[str, str]) -> None:
    text = npu_smi(env, "info")
    assert len({len(line) for line in text.splitlines()}) == 1, "every line is as wide as the frame"
    shown = parse_npu_smi(text)
    assert shown.simulated and not shown.unread and shown.error is None
    assert [(chip.npu, chip.chip, chip.name, chip.health, chip.hbm_total_mib) for chip in shown.chips] == [
        (npu, 0, "910B2", "OK", 4096) for npu in range(3)
    ]
    assert {chip.power_w for chip in shown.chips} == {None}, "what is not known is not invented"


def test_the_table_names_the_chip_that_is_told(env: dict[str, str]) -> None:
    assert parse_npu_smi(npu_smi({**env, "ASCEND_WORKBOOK_SIM_SOC": "Ascend910B4"}, "info")).chips[0].name == "910B4"


@pytest.mark.parametrize(
    "args, has",
    [
        (("-l",), ("Total Count                    : 3", "NPU ID                         : 2")),
        (("-m",), ("NPU ID", "Chip Logic ID", "Ascend910B2 SIMULATED")),
        (("-t", "memory", "-i", "1"), ("HBM Capacity(MB)               : 4096",)),
        (("-t", "board", "-i", "0"), ("Serial Number                  : SIMULATED-00",)),
        (("-t", "health", "-i", "2", "-c", "0"), ("Health                         : OK",)),
        (("-t", "usages", "-i", "2"), ("Aicore Usage Rate(%)           : NA",)),
    ],
)
def test_other_forms(args: tuple[str, ...], has: tuple[str, ...], env: dict[str, str]) -> None:
    text = npu_smi(env, "info", *args)
    assert "SIMULATED" in text and all(part in text for part in has), text


def test_wrong_arguments_are_an_error(env: dict[str, str]) -> None:
    assert "expected an NPU from 0 to 2" in npu_smi(env, "info", "-t", "health", "-i", "3", code=1)
    npu_smi(env, "set", "-t", "reset", code=2)


def test_the_check_takes_it_for_no_hardware(env: dict[str, str], tmp_path: Path) -> None:
    found = read_hardware(System(root=tmp_path, environ=env))
    assert found.npu_smi is None and found.chips == 0
    assert found.simulated_npu_smi and len(found.simulated_npu_smi.chips) == 3
    findings = list(rule.check(replace(machines.laptop(), hardware=found)))
    assert [(each.key, each.args.get("count")) for each in findings][0] == ("ENV070.npu_smi", 3)


def test_a_real_one_behind_it_is_still_asked(env: dict[str, str], tmp_path: Path) -> None:
    real = tmp_path / "npu-smi"
    real.write_text(f"#!/bin/sh\ncat <<'END'\n{REAL}END\n")
    real.chmod(0o755)
    found = read_hardware(System(root=tmp_path, environ={**env, "PATH": f"{env['PATH']}:{tmp_path}"}))
    assert found.simulated_npu_smi is not None
    assert getattr(found.npu_smi, "version", "") == "24.1.rc1" and found.chips == 1
