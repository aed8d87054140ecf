"""Faults on purpose and HF32 noise, through their environment variables. About 30 s: each case is a process."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

SCRIPT = """
import json, torch, torch.nn.functional as F
torch.manual_seed(0)
x = torch.ones(2, 3)
soft = [torch.softmax(x.npu(), 1)[0, 0].item() for _ in range(4)]
image, weight = torch.randn(1, 2, 6, 6), torch.randn(3, 2, 3, 3)
def convolve(device):
    i, w = (t.detach().to(device).requires_grad_() for t in (image, weight))
    y = F.conv2d(i, w)
    return [t.cpu() for t in (y.detach(), *torch.autograd.grad((y * y.detach().cos()).sum(), (i, w)))]
pairs = list(zip(convolve("npu"), convolve("cpu")))
conv = [((a - b).abs().max() / b.abs().max()).item() for a, b in pairs]
ratio = [(a / b).median().item() for a, b in pairs]
gelu, erf, relu = F.gelu(x.npu()).cpu().flatten(), torch.erf(x.npu()).cpu().flatten(), F.relu(x.npu()).cpu().flatten()
norm = F.layer_norm(image.npu(), (6,)).cpu() - F.layer_norm(image, (6,))
print("RESULT " + json.dumps(dict(soft=soft, conv=conv, ratio=ratio, gelu=gelu.isnan().tolist(), erf=erf.tolist(),
      relu=relu.tolist(), norm=norm.abs().max().item())))
"""


def run(environment: dict[str, str], **variables: str) -> tuple[dict, str]:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env={**environment, **variables}, capture_output=True, text=True, timeout=120,
        check=False,
    )
    lines = [line.removeprefix("RESULT ") for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    return (json.loads(lines[0]) if lines else {}), done.stderr


def test_without_faults_all_is_exact_and_silent(simulator_env: dict[str, str]) -> None:
    result, text = run(simulator_env)
    assert max(result["conv"]) < 1e-6 and result["norm"] < 1e-6 and not any(result["gelu"])
    assert "on purpose" not in text and "HF32" not in text


def test_each_kind_strikes_where_it_is_told(simulator_env: dict[str, str]) -> None:
    faults = (
        "softmax@2-3:scale=2; aten::gelu:nan; erf@1:add=5; relu:zero; layer_norm@*:noise=1e-2;"
        " aten::convolution_backward:scale=1.5; aten::convolution@9:zero"
    )
    result, text = run(simulator_env, ASCEND_WORKBOOK_SIM_FAULT=faults)
    assert result["soft"] == pytest.approx([1 / 3, 2 / 3, 2 / 3, 1 / 3])
    assert result["gelu"] == [True, False, False, False, False, False]
    assert result["erf"] == pytest.approx([5.842701] * 6) and result["relu"] == [0.0] * 6
    assert 1e-4 < result["norm"] < 0.2
    assert result["ratio"] == pytest.approx([1.0, 1.5, 1.5]), "forward untouched, every gradient scaled"
    assert text.count("fault on purpose: softmax@2-3:scale=2\n") == 1
    assert "the fault aten::convolution@9:zero never struck: 1 calls" in text
    assert text.count("never struck") == 1


@pytest.mark.parametrize(
    "value, said",
    [
        ("softmax", "expected OPERATOR[@CALLS]:KIND"),
        ("softmax@0:nan", "expected calls as 3, 3-5 or *"),
        ("softmax:scale=big", "expected a number after ="),
        ("softmax:melt", "expected a kind: scale=X, add=X, noise=X, zero or nan"),
        ("no_such_operator:nan", "names no operator that runs on the simulated NPU"),
    ],
)
def test_a_malformed_fault_stops_the_start(value: str, said: str, simulator_env: dict[str, str]) -> None:
    result, text = run(simulator_env, ASCEND_WORKBOOK_SIM_FAULT=value)
    assert result == {}
    assert said in text and "ASCEND_WORKBOOK_SIM_FAULT" in text


def test_hf32_rounds_convolutions_and_nothing_else(simulator_env: dict[str, str]) -> None:
    result, text = run(simulator_env, ASCEND_WORKBOOK_SIM_HF32="1")
    # 11 bits of mantissa: a relative rounding error of at most 2^-12 for each input
    assert all(1e-6 < error < 2**-10 for error in result["conv"]), result["conv"]
    assert result["norm"] < 1e-6 and result["soft"] == pytest.approx([1 / 3] * 4)
    assert text.count("rounded to HF32") == 1
