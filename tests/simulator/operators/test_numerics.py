"""numerics=ascend: HF32 as torch_npu allows it at that moment. Halves are summed in float32 always. 10 s."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

SCRIPT = """
import json, torch, torch.nn.functional as F
torch.manual_seed(0)
a, b, c = torch.randn(40, 300), torch.randn(300, 30), torch.randn(40, 30)
image, weight = torch.randn(2, 3, 9, 9), torch.randn(4, 3, 3, 3)

def error(found, expected):
    return ((found.cpu() - expected).abs().max() / expected.abs().max()).item()

def convolve(device):
    i, w = (t.detach().to(device).requires_grad_() for t in (image, weight))
    y = F.conv2d(i, w)
    return [t.cpu() for t in (y.detach(), *torch.autograd.grad((y * y.detach().cos()).sum(), (i, w)))]

def convolutions():
    return [error(x, y) for x, y in zip(convolve("npu"), convolve("cpu"))]

def product():
    return error(a.npu() @ b.npu(), a @ b)

def hf32(t):
    bits = t.clone().view(torch.int32)
    return (((bits + 2047 + ((bits >> 12) & 1)) >> 12) << 12).view(torch.float32)

def wrong(found, expected):
    return (found.cpu() != expected).sum().item()

result = {"conv": convolutions(), "mm": product()}
torch.npu.matmul.allow_hf32, torch.npu.conv.allow_hf32 = True, False
result.update(conv_off=convolutions(), mm_on=product(), mm_bits=error(a.npu() @ b.npu(), hf32(a) @ hf32(b)))
torch.npu.matmul.allow_hf32 = False
result["mm_off"] = product()
from torch_npu.npu.npu_config import _CubeMathType
torch.npu.matmul.cube_math_type = _CubeMathType.USE_FP16
result["mm_fp16"] = error(a.npu() @ b.npu(), a.half().float() @ b.half().float())
for dtype in (torch.float16, torch.bfloat16):
    x, y, z = a.to(dtype), b.to(dtype), c.to(dtype)
    exact = (x.float() @ y.float()).to(dtype)
    out = torch.empty(0, dtype=dtype, device="npu")
    torch.mm(x.npu(), y.npu(), out=out)
    added = z.npu().addmm_(x.npu(), y.npu(), beta=2)
    i, w = image.to(dtype), weight.to(dtype)
    g = torch.randn(2, 4, 7, 7).to(dtype)
    found = torch.ops.aten.convolution_backward(g.npu(), i.npu(), w.npu(), [4], [1, 1], [0, 0], [1, 1], False, [0, 0],
                                                1, [True, True, True])
    wide = torch.ops.aten.convolution_backward(g.float(), i.float(), w.float(), [4], [1, 1], [0, 0], [1, 1], False,
                                               [0, 0], 1, [True, True, True])
    name = str(dtype).removeprefix("torch.")
    result[name] = [
        wrong(x.npu() @ y.npu(), exact), wrong(out, exact),
        wrong(added, (2 * z.float() + x.float() @ y.float()).to(dtype)),
        wrong(torch.bmm(x.npu()[None], y.npu()[None])[0], exact),
        wrong(F.conv2d(i.npu(), w.npu()), F.conv2d(i.float(), w.float()).to(dtype)),
        *(wrong(left, right.to(dtype)) for left, right in zip(found, wide)),
    ]
    result[name + "_dtypes"] = [str(t.dtype) for t in (out, added, *found)]
try:
    F.conv2d(image.half().npu(), weight.half().npu(), torch.ones(4).npu())
    result["mixed"] = "accepted"
except RuntimeError as refused:
    result["mixed"] = str(refused)
before = torch.npu.memory_allocated()
torch.npu.reset_peak_memory_stats()
x, y = (torch.ones(1024, 1024, dtype=torch.half, device="npu") for _ in range(2))
z = x @ y
result["peak_mib"] = (torch.npu.max_memory_allocated() - before) / 2**20
print("RESULT " + json.dumps(result))
"""


def run(environment: dict[str, str], **variables: str) -> tuple[dict[str, Any], str]:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**environment, **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    lines = [line.removeprefix("RESULT ") for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    assert lines, done.stderr
    return json.loads(lines[0]), done.stderr


def test_off_by_default(simulator_env: dict[str, str]) -> None:
    result, text = run(simulator_env)
    assert max(*result["conv"], *result["conv_off"], result["mm"], result["mm_on"]) < 1e-6
    assert "numerics" not in text
    for name in ("float16", "bfloat16"):
        assert result[name] == [0] * 8, "the float32 sum, rounded once"
        assert set(result[f"{name}_dtypes"]) == {f"torch.{name}"}
    assert "same" in result["mixed"], "what a CPU kernel refuses stays refused"
    assert result["peak_mib"] < 6.5, "three matrices of 2 MiB: the accumulator is no device memory"


def test_as_ascend(simulator_env: dict[str, str]) -> None:
    result, text = run(simulator_env, ASCEND_WORKBOOK_SIM_NUMERICS="ascend")
    assert text.count("numerics=ascend") == 1
    # 11 bits of mantissa: a relative rounding error of at most 2^-12 for each input
    assert all(1e-6 < error < 2**-10 for error in result["conv"]), result["conv"]
    assert max(result["conv_off"]) < 1e-6, "torch.npu.conv.allow_hf32 = False is obeyed at once"
    assert result["mm"] < 1e-6 and 1e-6 < result["mm_on"] < 2**-10 and result["mm_off"] < 1e-6
    assert result["mm_bits"] < 1e-6, "the inputs are rounded to nearest, ties to even, on 11 bits"
    assert result["mm_fp16"] < 1e-6, "cube_math_type is obeyed"


@pytest.mark.parametrize(
    "variables, said",
    [
        ({"ASCEND_WORKBOOK_SIM_NUMERICS": "npu"}, "expected cpu or ascend"),
        ({"ASCEND_WORKBOOK_SIM_HF32": "1"}, "ASCEND_WORKBOOK_SIM_NUMERICS=ascend rounds to HF32"),
    ],
)
def test_a_wrong_value_stops_the_start(variables: dict[str, str], said: str, simulator_env: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import torch; torch.npu.set_device(0)"],
        env={**simulator_env, **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1 and said in done.stderr
