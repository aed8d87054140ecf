"""CPU fallbacks: counted for exactly the operators for which torch_npu itself has no kernel. 6 s."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = """
import ctypes, json, torch

def registrations():
    names = [name for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::")]
    return {name: torch._C._dispatch_dump(name) for name in names}

OWN = ("PrivateUse1:", "AutogradPrivateUse1:")
OTHERS = tuple(f"Composite{kind}[alias]:" for kind in (
    "ImplicitAutograd", "ExplicitAutograd", "ExplicitAutogradNonFunctional"))

def has(text, *keys):
    return any("\\n" + key in text for key in keys)

before = registrations()
fallback = [name for name, text in before.items() if not has(text, *OWN, *OTHERS) and has(text, "CPU:")]
x = torch.eye(3, device="npu")
for _ in range(3):
    values = torch.linalg.det(x)
torch.linalg.eigh(x)
torch.add(x, x)
after = registrations()
wrapped = [name for name, text in after.items() if has(text, OWN[0]) and not has(before.get(name, ""), *OWN)]
library = ctypes.CDLL("libnpu_sim_kernels.so")
library.npu_sim_fallbacks.restype = ctypes.c_char_p
counted = dict(line.split("\\t") for line in library.npu_sim_fallbacks().decode().splitlines())
print("RESULT " + json.dumps({"fallback": fallback, "counted": counted, "wrapped": wrapped, "value": values.item()}))
"""


@pytest.fixture(scope="module")
def ran(simulator_env: dict[str, str]) -> tuple[dict[str, Any], str]:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=simulator_env, capture_output=True, text=True, timeout=120, check=False
    )
    lines = [line.removeprefix("RESULT ") for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    assert lines, done.stderr
    return json.loads(lines[0]), done.stderr


def test_each_call_is_counted_and_told_at_the_end(ran: tuple[dict[str, Any], str]) -> None:
    result, text = ran
    assert result["counted"] == {"aten::_linalg_det.result": "3", "aten::_linalg_eigh.eigenvalues": "1"}
    assert result["value"] == 1.0
    assert "NPU simulator: CPU fallback: aten::_linalg_det.result: 3 calls\n" in text
    assert text.count("NPU simulator: CPU fallback") == 2
    assert text.count("is not currently supported on the NPU backend and will fall back") == 2, "torch_npu's warning"


def test_as_torch_npu_registers_them(ran: tuple[dict[str, Any], str], shared: Path) -> None:
    """Judged as the registrations were before activation, as read from the wheel without a device."""
    facts = json.loads((shared / "facts" / "torch_npu_2.13.0_ops.json").read_text(encoding="utf-8"))["aten"]
    told = {name for name, entry in facts.items() if entry["status"] == "cpu_fallback"}
    assert len(told) > 200
    assert set(ran[0]["fallback"]) & set(facts) == told


def test_all_of_them_are_counted_and_nothing_else(ran: tuple[dict[str, Any], str]) -> None:
    assert set(ran[0]["wrapped"]) == set(ran[0]["fallback"])
