"""What ordinary training scripts use beyond operators works on the simulated NPU, or says that it does not. 40 s."""

from __future__ import annotations

import subprocess
import sys

import pytest

SAVE_AND_LOAD = """
import copy, io, torch, torch.nn as nn
net = nn.Linear(4, 4).npu()
optimizer = torch.optim.AdamW(net.parameters())
net(torch.ones(2, 4).npu()).sum().backward(); optimizer.step()
file = io.BytesIO()
torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, file)
for where in (None, "cpu", "npu:1"):
    file.seek(0)
    state = torch.load(file, map_location=where, weights_only=True)
    weight = state["net"]["weight"]
    assert str(weight.device) == (where or "npu:0"), weight.device
    assert torch.equal(weight.cpu(), net.weight.detach().cpu())
other = copy.deepcopy(net)
other.weight.data.zero_()
assert bool(net.weight.abs().sum() > 0) and other.weight.device == net.weight.device
assert torch.ones(2).npu().share_memory_().device.type == "npu"
"""

LOADER = """
import torch
data = torch.utils.data.TensorDataset(torch.arange(40.))
total = 0.0
for (part,) in torch.utils.data.DataLoader(data, batch_size=8, num_workers=2, pin_memory=True):
    assert part.is_pinned()
    total += part.npu(non_blocking=True).sum().item()
assert total == 780.0
"""

LAYOUT = """
import torch, torch.nn.functional as F
x = torch.randn(2, 16, 8, 8).npu().permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)
assert not x.is_contiguous()
for y in (F.max_pool2d(x, 2), F.gelu(F.relu(x)), F.group_norm(x, 4), x + 1):
    assert y.is_contiguous(), y.stride()
assert torch.equal(torch.relu(x).cpu(), torch.relu(x.cpu()))
assert torch.allclose(F.max_pool2d(x, 2).cpu(), F.max_pool2d(x.cpu(), 2))
"""

AMP = """
import torch, torch.nn as nn
torch.manual_seed(0)
net = nn.Linear(8, 8).npu()
optimizer = torch.optim.SGD(net.parameters(), 0.1)
scaler = torch.npu.amp.GradScaler(init_scale=256.0)
x = torch.randn(4, 8).npu()
losses = []
for _ in range(4):
    with torch.npu.amp.autocast():
        out = net(x)
        assert out.dtype is torch.float16, out.dtype
        loss = out.float().pow(2).mean()
    optimizer.zero_grad(); scaler.scale(loss).backward(); scaler.step(optimizer); scaler.update()
    losses.append(loss.item())
assert losses == sorted(losses, reverse=True) and scaler.get_scale() == 256.0, losses
with torch.autocast("npu", dtype=torch.bfloat16):
    assert net(x).dtype is torch.bfloat16
"""

DEVICES = """
import torch
before = torch.npu.memory_allocated()
x = torch.empty(1 << 20, dtype=torch.uint8, device="npu")
assert torch.npu.memory_allocated() - before >= 1 << 20
free, total = torch.npu.mem_get_info()
assert free < total == torch.npu.get_device_properties(0).total_memory
assert torch.npu.get_device_name(0) == "Ascend910B2"
with torch.npu.device(1):
    assert torch.npu.current_device() == 1 and torch.ones(2, device="npu").device.index == 1
with torch.npu.stream(torch.npu.Stream()):
    y = torch.ones(3, device="npu") * 2
torch.npu.synchronize()
assert y.sum().item() == 6
first, last = (torch.npu.Event(enable_timing=True) for _ in range(2))
first.record(); y @ y; last.record(); last.synchronize()
assert first.elapsed_time(last) >= 0
"""

EXPANDABLE = """
import torch
parts = [torch.full((1 << 20,), float(i), device="npu") for i in range(8)]
assert [part.mean().item() for part in parts] == [float(i) for i in range(8)]
assert torch.npu.memory_snapshot()[0]["is_expandable"]
whole = torch.cat(parts)
assert torch.equal(whole.cpu(), torch.cat([part.cpu() for part in parts]))
del parts, whole
torch.npu.empty_cache()
free, total = torch.npu.mem_get_info()
assert torch.npu.memory_reserved() == 0 and free == total, (free, total)
"""


DATA_PARALLEL = """
import torch, torch.nn as nn

def train(parallel):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3)).npu()
    model = nn.DataParallel(net, device_ids=[0, 1]) if parallel else net
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    losses = []
    for step in range(3):
        x = torch.randn(8, 8, generator=torch.Generator().manual_seed(step)).npu()
        out = model(x)
        assert out.device == torch.device("npu:0") and out.shape == (8, 3)
        loss = nn.functional.cross_entropy(out, torch.arange(8).npu() % 3)
        optimizer.zero_grad(); loss.backward(); optimizer.step()
        losses.append(loss.item())
    return torch.tensor(losses)

assert torch.allclose(train(True), train(False), rtol=1e-6, atol=0), (train(True), train(False))
copies = torch.nn.parallel.comm.broadcast(torch.arange(3.).npu(), [0, 1])
assert [str(copy.device) for copy in copies] == ["npu:0", "npu:1"]
assert all(copy.tolist() == [0, 1, 2] for copy in copies)
"""

BEFORE_FIRST_USE = """
import torch
free, total = torch.npu.mem_get_info()
assert free == total == torch.npu.mem_get_info(1)[1] > 0
assert torch.npu.utilization() == 0
assert torch.npu.current_device() == 0
torch.npu.set_device(1)
assert torch.npu.current_device() == 1
"""

NOT_CONTIGUOUS = """
import torch
x = torch.tensor([5., 1., 3.])
for median in (torch.median, torch.nanmedian):
    found = median(x.npu()[:1].expand(7), 0)
    assert found.values.item() == 5 and 0 <= found.indices.item() < 7, found
    out = torch.empty((), device="npu"), torch.empty((), dtype=torch.int64, device="npu")
    assert median(x.npu()[1:2].expand(7), 0, out=out).values.item() == 1 == out[0].item()
x = torch.randn(2, 6, 3, 3)
ones = torch.ones(6), torch.zeros(6)
for change in (lambda t: t[:1].expand(2, 6, 3, 3), lambda t: torch.stack([t, t], -1)[..., 0]):
    there = torch.native_group_norm(change(x.npu()), *(part.npu() for part in ones), 2, 6, 9, 2, 1e-5)[0]
    here = torch.native_group_norm(change(x).contiguous(), *ones, 2, 6, 9, 2, 1e-5)[0]
    assert not change(x).is_contiguous() and torch.equal(there.cpu(), here)
"""

WORDS = """
import torch
try:
    torch.bincount(torch.tensor([1., 2.]).npu())
except NotImplementedError as error:
    said = str(error)
assert "_cpu" not in said and "[simulated NPU]" in said and "Float" in said and "torch.bincount" in said, said
"""

WHOLE_NUMBERS = """
import torch, torch_npu
x = torch.randint(-5, 9, (200,), generator=torch.Generator().manual_seed(0)).int()
for edges in ((4,), (7, -3, 6), (3, 2, 2)):
    counted = torch.histc(x.npu(), *edges)
    assert counted.dtype == torch.int32 and counted.cpu().equal(torch.histc(x.double(), *edges).int()), edges
out = torch.zeros(4, dtype=torch.int32).npu()
assert torch.histc(x.npu(), 4, out=out) is out and out.cpu().equal(torch.histc(x.double(), 4).int())
assert torch.histc(torch.rand(9).npu(), 3).dtype == torch.float32
"""


def run(code: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=200, check=False)


SCRIPTS = {
    "save": SAVE_AND_LOAD,
    "loader": LOADER,
    "layout": LAYOUT,
    "amp": AMP,
    "devices": DEVICES,
    "whole_numbers": WHOLE_NUMBERS,
    "data_parallel": DATA_PARALLEL,
    "before_first_use": BEFORE_FIRST_USE,
    "not_contiguous": NOT_CONTIGUOUS,
    "words": WORDS,
}


@pytest.mark.parametrize("code", SCRIPTS.values(), ids=SCRIPTS)
def test_a_script_runs_and_ends_well(simulator_env: dict[str, str], code: str) -> None:
    """The exit code counts: a crash after the last line is a failure too."""
    done = run(code, simulator_env)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Traceback" not in done.stderr
    assert "lacks" not in done.stderr


LACKS = {
    "torch.multiprocessing.reductions.reduce_tensor(x)": "aclrtIpcMemGetExportKey",
    "torch.npu.set_device(7)": "expected 0 to 1",
}


def test_expandable_segments(simulator_env: dict[str, str]) -> None:
    done = run(EXPANDABLE, {**simulator_env, "PYTORCH_NPU_ALLOC_CONF": "expandable_segments:True"})
    assert done.returncode == 0, done.stderr[-2000:]


def test_what_is_not_simulated_says_so(simulator_env: dict[str, str]) -> None:
    """Each of these raises an error that names the function and the simulator."""
    lines = [f"    lambda: {code}," for code in LACKS]
    script = (
        "import torch\nx = torch.ones(3, 3).npu()\nfor call in (\n"
        + "\n".join(lines)
        + """
):
    try:
        call()
        print("no error")
    except RuntimeError as error:
        print(str(error).replace("\\n", " "))
"""
    )
    said = run(script, simulator_env).stdout.splitlines()
    said = [line for line in said if line.strip()]
    assert len(said) == len(LACKS), said
    for line, (code, name) in zip(said, LACKS.items()):
        assert "[simulated NPU]" in line and name in line, f"{code}: {line}"


def test_a_script_that_raises_keeps_its_own_error(simulator_env: dict[str, str]) -> None:
    done = run("import torch\nx = torch.ones(3).npu()\nraise SystemExit(5)", simulator_env)
    assert done.returncode == 5
    done = run("import torch\ntorch.ones(3).npu() + torch.ones(4).npu()", simulator_env)
    assert done.returncode == 1
    assert "The size of tensor a (3) must match the size of tensor b (4)" in done.stderr
