"""Faults on purpose, through their environment variable. About 25 s: each case is a process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import json, time, torch, torch.nn.functional as F
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
tanh, coarse = torch.tanh(x.npu()).cpu().flatten(), torch.sin(x.npu()).cpu().flatten()[0].item()
seconds = time.monotonic()
torch.cos(x.npu())
seconds = time.monotonic() - seconds
layer = torch.nn.Linear(3, 1, bias=False).npu()
optimizer = torch.optim.SGD(layer.parameters(), lr=0.0)
def train():
    results = [layer(x.npu()).detach().cpu().flatten()[0].item() for _ in range(2)]
    layer(x.npu()).sum().backward()
    optimizer.step()
    return results
steps = [train() for _ in range(3)]
try:
    error = torch.floor(x.npu()) is None
except RuntimeError as raised:
    error = str(raised)
print("RESULT " + json.dumps(dict(soft=soft, conv=conv, ratio=ratio, gelu=gelu.isnan().tolist(), erf=erf.tolist(),
      relu=relu.tolist(), norm=norm.abs().max().item(), tanh=tanh.isinf().tolist(), coarse=coarse, seconds=seconds,
      zero=[[value == 0 for value in step] for step in steps], error=error)))
"""


def run(environment: dict[str, str], **variables: str) -> tuple[dict, str]:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**environment, **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    lines = [line.removeprefix("RESULT ") for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    return (json.loads(lines[0]) if lines else {}), done.stderr


def test_without_faults_all_is_exact_and_silent(simulator_env: dict[str, str]) -> None:
    result, text = run(simulator_env)
    assert max(result["conv"]) < 1e-6 and result["norm"] < 1e-6 and not any(result["gelu"] + result["tanh"])
    assert result["error"] is False and result["zero"] == [[False, False]] * 3
    assert "on purpose" not in text and "numerics" not in text


def test_each_kind_strikes_where_it_is_told(simulator_env: dict[str, str]) -> None:
    faults = (
        "softmax@2-3:scale=2; aten::gelu:nan; erf@1:add=5; relu:zero; *layer_nor[m]@*:noise=1e-2;"
        " aten::convolution_backward:scale=1.5; aten::convolution@9:zero; tanh:inf; sin:dtype=bfloat16;"
        " cos:delay=300; mm@2,step=2:zero; mm@rank=1:nan; floor:error"
    )
    result, text = run(simulator_env, ASCEND_WORKBOOK_SIM_FAULT=faults)
    assert result["soft"] == pytest.approx([1 / 3, 2 / 3, 2 / 3, 1 / 3])
    assert result["gelu"] == result["tanh"] == [True, False, False, False, False, False]
    assert result["erf"] == pytest.approx([5.842701] * 6) and result["relu"] == [0.0] * 6
    assert 1e-4 < result["norm"] < 0.2
    assert result["ratio"] == pytest.approx([1.0, 1.5, 1.5]), "forward untouched, every gradient scaled"
    assert result["coarse"] == 0.83984375, "sin(1) as the nearest bfloat16"
    assert result["seconds"] >= 0.3
    assert result["zero"] == [[False, False], [False, True], [False, False]], "the second call of the second step"
    assert "error code is 507015" in result["error"] and "[simulated NPU] fault on purpose" in result["error"]
    assert text.count("fault on purpose: softmax@2-3:scale=2\n") == 1
    assert "the fault aten::convolution@9:zero never struck: 1 calls" in text
    assert "the fault mm@rank=1:nan never struck" in text and text.count("never struck") == 2


@pytest.mark.parametrize(
    "name, content",
    [
        ("faults.yaml", '# two\n- "softmax:scale=2"\n- gelu@rank=3:nan\n'),
        ("faults.json", '["softmax:scale=2", "gelu@rank=3:nan"]'),
    ],
)
def test_faults_from_a_file(name: str, content: str, simulator_env: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    told = f"@{path}" if name.endswith("yaml") else str(path)
    result, text = run(simulator_env, ASCEND_WORKBOOK_SIM_FAULT=told, RANK="3")
    assert result["soft"] == pytest.approx([2 / 3] * 4) and result["gelu"][0]
    assert text.count("fault on purpose") == 2


MALFORMED = {
    "softmax": "expected OPERATOR[@WHEN]:KIND",
    "softmax@0:nan": "expected calls as 3, 3-5 or *",
    "softmax@step=0:nan": "expected steps as step=2",
    "softmax@stop=1:nan": "expected calls as 3, 3-5 or *, counted from 1; or step=, or rank=",
    "softmax:scale=big": "expected a number after =",
    "softmax:melt": "expected a kind: scale=X, add=X, noise=X, zero, nan, inf, dtype=T, delay=MS or error",
    "softmax:delay": "expected a kind: ",
    "softmax:dtype=int8": "expected dtype=bfloat16, float16",
    "@/no/such/faults.yaml": "the file /no/such/faults.yaml cannot be read",
}
START_EACH = """
import ctypes, os, sys, torch
runtime = ctypes.CDLL("libascendcl.so")
for value in sys.argv[1:]:
    os.environ["ASCEND_WORKBOOK_SIM_FAULT"] = value
    print("CASE", runtime.aclInit(None), file=sys.stderr, flush=True)
"""


def test_a_malformed_fault_stops_the_start(simulator_env: dict[str, str]) -> None:
    command = [sys.executable, "-c", START_EACH, *MALFORMED]
    done = subprocess.run(command, env=simulator_env, capture_output=True, text=True, timeout=60, check=False)
    answers = [line for line in done.stderr.splitlines() if line.startswith(("NPU simulator: cannot start", "CASE"))]
    assert len(answers) == 2 * len(MALFORMED), done.stderr
    for (value, said), text, code in zip(MALFORMED.items(), answers[::2], answers[1::2]):
        assert "ASCEND_WORKBOOK_SIM_FAULT" in text and said in text and code == "CASE 507000", (value, text, code)


@pytest.mark.parametrize("value", ["no_such_operator:nan", "view:nan"])
def test_a_fault_that_can_never_strike_stops_the_start(value: str, simulator_env: dict[str, str]) -> None:
    command = [sys.executable, "-c", "import torch; torch.npu.set_device(0)"]
    env = {**simulator_env, "ASCEND_WORKBOOK_SIM_FAULT": value}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "names no operator that runs on the simulated NPU" in done.stderr
