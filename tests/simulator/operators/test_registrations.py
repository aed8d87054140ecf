"""Which operators the simulator takes over: those that torch_npu implements, and no other. About 5 s."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import ctypes, json, torch
torch.npu.init()
library = ctypes.CDLL("libnpu_sim_kernels.so")
library.npu_sim_operators.restype = ctypes.c_char_p
record = dict(line.split()[:2] for line in library.npu_sim_operators().decode().splitlines())
ours = [name for name in torch._C._dispatch_get_all_op_names()
        if "the NPU simulator" in torch._C._dispatch_dump(name)]
print("RESULT " + json.dumps(dict(record=record, ours=ours)))
"""

# PyTorch's fused attention for the CPU stands for torch_npu's, which scaled_dot_product_attention calls on a 910B.
FUSED_ATTENTION = {
    "aten::_scaled_dot_product_flash_attention_for_cpu",
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward",
}


@pytest.fixture(scope="module")
def found(simulator_env: dict[str, str]) -> dict:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=simulator_env, capture_output=True, text=True, timeout=120, check=False
    )
    lines = [line.removeprefix("RESULT ") for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    assert lines, done.stderr[-2000:]
    return json.loads(lines[0])


def test_every_operator_taken_over_is_on_record(found: dict) -> None:
    ours = set(found["ours"])
    recorded = {name for name, kind in found["record"].items() if kind in ("simulated", "composite", "refused")}
    assert len(ours) > 1000
    assert ours <= set(found["record"])
    bookkeeping = {name for name in recorded - ours if name.startswith("npu::")}
    assert recorded - ours == bookkeeping, "on record as taken over, but torch_npu's kernel is still there"


def test_nothing_that_torch_npu_lacks_is_taken_over(found: dict, shared: Path) -> None:
    facts = json.loads((shared / "facts" / "torch_npu_2.13.0_ops.json").read_text(encoding="utf-8"))["aten"]
    has = {name for name, fact in facts.items() if fact["status"] == "npu_kernel" or fact.get("autograd_npu")}
    counted = {name for name, kind in found["record"].items() if kind == "fallback"}
    taken = {name for name in found["ours"] if name.startswith("aten::")} - counted
    assert taken - has == FUSED_ATTENTION, "nothing else that torch_npu lacks is taken over"
    assert counted & has == set(), "counted as fallbacks to the CPU, but torch_npu implements these"
    kernels = {name for name in has if facts[name]["status"] == "npu_kernel"}
    left = {name for name in kernels - taken if found["record"].get(name) != "torch_npu"}
    assert left == set(), "torch_npu implements these, and the simulator neither runs nor refuses nor keeps them"
