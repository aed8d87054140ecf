"""In a run of shapes only what is known is computed; what is not is modelled, and every read of it is listed. 20 s."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.simulator.shapes_only.running import Run, run_shapes_only

#: One read of a modelled value a line, with what it is to be.
READS = {
    "loss.item()": 1.0,
    "float(loss)": 1.0,
    "bool(torch.isnan(y).any())": False,
    "bool(torch.isfinite(y).all())": True,
    "bool(torch.isfinite(loss))": True,
    "bool(loss < 1e9)": True,
    "loss.tolist()": 1.0,
    "str(loss.detach())": "tensor(1., device='npu:0')",
    "y[:2].tolist() == [[1.0] * 4096] * 2": True,
    "math.log(loss)": 0.0,
    "1 / loss.item()": 1.0,
    "((loss - loss) / (loss - loss)).item()": 1.0,
    "torch.allclose(y, y + 1)": True,
    "torch.equal(y, y + 1)": True,
    "int(y.topk(5, 1)[1].max()) < 4096": True,
    "int(torch.multinomial(torch.softmax(y, 1), 1).max()) < 4096": True,
    "torch.bincount(y[:, :8].topk(2, 1)[1].reshape(-1), minlength=8).tolist()": [128] * 8,
}
#: The same for what is as long as values say.
SHAPES = {
    "list(y.nonzero().shape)": [512 * 4096 // 2, 2],
    "list(y[y > 0].shape)": [512 * 4096 // 2],
    "list(torch.masked_select(y, y > 0).shape)": [512 * 4096 // 2],
    "list(torch.unique(y.argmax(1)).shape)": [256],
    "list(torch.repeat_interleave(y[:8].argmax(1)).shape)": [8],
}
#: What comes from the host and is small stays known, and nobody is told.
KNOWN = {
    "torch.tensor([3, 5, 7], device='npu').cumsum(0).tolist()": [3, 8, 15],
    "torch.arange(8, device='npu')[torch.arange(8, device='npu') > 4].tolist()": [5, 6, 7],
    "list(y[torch.tensor([True, False] * 256, device='npu')].shape)": [256, 4096],
    "torch.tensor([0.5, 0.25], device='npu').sum().item()": 0.75,
    "torch.zeros(4, device='npu').add_(2).tolist()": [2.0] * 4,
}
START = """import json, math, torch
big = torch.nn.Linear(4096, 4096, device="npu")
y = big(torch.randn(512, 4096, device="npu"))
loss = y.pow(2).mean()
answers = []
"""


HOST = """import json, math, torch
x, large = torch.randn(1000, 1000), torch.randn(4096, 4096)
half = torch.randn(1000, 1000, dtype=torch.bfloat16)
answers = []
"""
#: A large tensor that begins on the host holds no values either: what an operator reads of it is plausible.
HOST_READS = {
    "float(x[0, 0])": 1.0,
    "x[5].add_(1).tolist() == [2.0] * 1000": True,
    "float(half[0, 0])": 1.0,
    "float(large.mean())": 1.0,
    "float(large[-1, -1])": 1.0,
    "torch.equal(x, x + 1)": True,
    "math.log(x.max())": 0.0,
    "float(x.npu()[0, 0])": 1.0,
    "bool((x > 0).all())": True,
    "bool((x > 0).any())": False,
    "bool(torch.isfinite(x).all())": True,
    "x[0, :3].tolist()": [1.0] * 3,
    "large.tolist()[0][:2]": [1.0] * 2,
    "float(x.numpy()[0, 5])": 1.0,
    "float(x.mean(1)[3])": 1.0,
    "x.mean(1).tolist()[:2]": [1.0] * 2,
    "float(torch.where(x > 9, x, x)[0, 0])": 1.0,
}


def script_of(expressions: list[str], start: str = START) -> str:
    return start + "".join(f"answers.append({each})\n" for each in expressions) + "print(json.dumps(answers))\n"


@pytest.fixture(scope="module")
def run(simulator_env: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Run:
    code = script_of([*READS, *SHAPES, *KNOWN])
    run = run_shapes_only(simulator_env, tmp_path_factory.mktemp("values"), code)
    assert run.returncode == 0, run.stderr[-3000:]
    return run


def test_modelled_values_are_plausible(run: Run) -> None:
    assert dict(zip([*READS, *SHAPES, *KNOWN], run.facts)) == {**READS, **SHAPES, **KNOWN}


def test_every_read_is_listed_with_its_line(run: Run) -> None:
    first = START.count("\n") + 1
    wanted = set(range(first, first + len(READS) + len(SHAPES)))
    assert {read["line"] for read in run.reads} == wanted
    assert {read["file"] for read in run.reads} == {str(run.script)}


def test_a_read_that_sets_a_shape_says_so(run: Run) -> None:
    first = START.count("\n") + 1 + len(READS)
    bincount = first - 1
    wanted = {bincount, *range(first, first + len(SHAPES))}
    assert {read["line"] for read in run.reads if read["sets_shape"]} == wanted


def test_a_value_can_be_assumed(simulator_env: dict[str, str], tmp_path: Path) -> None:
    code = script_of(["loss.item()", "loss.item()", "bool(loss > 9)", "list(y[y > 0].shape)"])
    line = START.count("\n") + 1
    assume = f"train.py:{line}=2.5; train.py:{line + 2}=true; rows=0.25"
    run = run_shapes_only(simulator_env, tmp_path, code, ASSUME=assume)
    assert run.facts == [2.5, 1.0, True, [512 * 4096 // 4]]
    assert [read["assumed"] for read in run.reads] == [True, False, True, False]


def test_a_large_tensor_of_the_host_is_read(simulator_env: dict[str, str], tmp_path: Path) -> None:
    run = run_shapes_only(simulator_env, tmp_path, script_of(list(HOST_READS), HOST))
    assert run.returncode == 0, run.stderr[-3000:]
    assert dict(zip(HOST_READS, run.facts)) == HOST_READS
    first = HOST.count("\n") + 1
    assert set(run.lines()) == {*range(first, first + len(HOST_READS))}


def test_a_read_of_the_host_is_listed_once(simulator_env: dict[str, str], tmp_path: Path) -> None:
    first = HOST.count("\n") + 1
    run = run_shapes_only(simulator_env, tmp_path, script_of(["float(x[0, 0])"], HOST), ASSUME=f"train.py:{first}=2.5")
    assert run.facts == [2.5] and run.lines() == [first]


@pytest.mark.parametrize("assume", ["train.py=2", "train.py:x=2", "train.py:3=much", "rows=2"])
def test_an_assumption_that_says_nothing_is_refused(simulator_env: dict[str, str], tmp_path: Path, assume: str) -> None:
    run = run_shapes_only(simulator_env, tmp_path, START, ASSUME=assume)
    assert run.returncode == 2
    assert "ASCEND_WORKBOOK_SIM_ASSUME" in run.stderr and "Traceback" not in run.stderr


ENDLESS = """import torch
x = torch.ones(4096, 4096, device="npu")
error = x.sum()
while error > 0.5:
    error = error * 1
"""
BREAKS = """import torch
x = torch.ones(4096, 4096, device="npu")
while True:
    if x.sum().item() < 0.5:
        break
"""
ENDS = """import torch
x = torch.ones(4096, 4096, device="npu")
total = 0.0
for _ in range(1000):
    total += x.sum().item()
print(total)
"""


@pytest.mark.parametrize("code, line", [(ENDLESS, 4), (BREAKS, 4)], ids=["test", "break"])
def test_a_loop_that_no_modelled_value_ends_is_ended(
    simulator_env: dict[str, str], tmp_path: Path, code: str, line: int
) -> None:
    run = run_shapes_only(simulator_env, tmp_path, code)
    assert run.returncode == 1
    assert f"--assume train.py:{line}=VALUE" in run.stderr


def test_a_loop_over_data_goes_on(simulator_env: dict[str, str], tmp_path: Path) -> None:
    assert run_shapes_only(simulator_env, tmp_path, ENDS).facts == 1000.0


SAVE = """import json, os, torch
net = torch.nn.Sequential(torch.nn.Linear(4096, 4096), torch.nn.Linear(4, 4)).npu()
torch.save(net.state_dict(), "net.pt")
state = torch.load("net.pt", map_location="cpu")
same = torch.equal(state["1.bias"], net[1].bias.cpu())
facts = [os.stat("net.pt").st_size < 1 << 16, list(state["0.weight"].shape), same]
print(json.dumps(facts))
"""


def test_a_checkpoint_is_small(simulator_env: dict[str, str], tmp_path: Path) -> None:
    run = run_shapes_only(simulator_env, tmp_path, SAVE)
    assert run.facts == [True, [4096, 4096], True], run.stderr[-2000:]
    assert [(read["kind"], read["line"], read["bytes_left_out"]) for read in run.reads] == [
        ("file", 3, 4096 * 4096 * 4)
    ]


def test_shapes_of_batch_norm_over_cards(simulator_env: dict[str, str], tmp_path: Path) -> None:
    """What SyncBatchNorm asks, of more bytes than are computed: PyTorch has no shapes of it, the formulas have."""
    code = """import json, torch
x = torch.randn(64, 64, 112, 112, device="npu")
weight, count = torch.ones(64, device="npu"), torch.full((2,), 7.0, device="npu")
mean, deviation = torch.batch_norm_stats(x, 1e-5)
both = torch.stack([mean, mean]), torch.stack([deviation, deviation])
mean, deviation = torch.batch_norm_gather_stats_with_counts(x, *both, None, None, 0.1, 1e-5, count)
y = torch.batch_norm_elemt(x, weight, None, mean, deviation, 1e-5)
first, second, for_weight, _ = torch.batch_norm_backward_reduce(y, x, mean, deviation, weight, True, True, False)
gradient = torch.batch_norm_backward_elemt(y, x, mean, deviation, weight, first, second, count.int())
given = (mean, deviation, y, first, second, for_weight, gradient)
print(json.dumps([list(each.shape) for each in given] + [str(gradient.dtype)]))
"""
    run = run_shapes_only(simulator_env, tmp_path, code)
    large = [64, 64, 112, 112]
    assert run.facts == [[64], [64], large, [64], [64], [64], large, "torch.float32"], run.stderr[-3000:]
    assert run.reads == []


def test_shapes_of_gradients_that_torch_npu_does_not_tell(simulator_env: dict[str, str], tmp_path: Path) -> None:
    """Of more bytes than are computed, as a variational autoencoder of pyro's has them."""
    code = """import json, time, torch, torch_npu
from torch.nn.functional import binary_cross_entropy_with_logits, mish
x = torch.randn(256, 2352, device="npu", requires_grad=True)
binary_cross_entropy_with_logits(x, torch.zeros(256, 2352, device="npu"), reduction="none").sum().backward()
shapes = [list(x.grad.shape)]
x.grad = None
mish(x).mean().backward()
shapes.append(list(x.grad.shape))
x.grad = None
x.max(dim=1)[0].mean().backward()
print(json.dumps([*shapes, list(x.grad.shape)]))
time.sleep(0.05)
"""
    run = run_shapes_only(simulator_env, tmp_path, code)
    assert run.facts == [[256, 2352]] * 3, run.stderr[-3000:]


def test_shapes_of_the_gradient_of_geglu(simulator_env: dict[str, str], tmp_path: Path) -> None:
    """What diffusers asks for where there is an NPU, of more bytes than are computed.

    A process that ends while a thread of autograd still lets go of a Python function is ended by PyTorch (SIGABRT:
    PyEval_AcquireThread in a destructor, once the interpreter is gone): this one gives it time."""
    code = """import json, time, torch, torch_npu
x = torch.randn(4096, 2, 2560, device="npu", requires_grad=True)
for dim, approximate in ((-1, 1), (2, 0)):
    y, _ = torch_npu.npu_geglu(x, dim=dim, approximate=approximate)
    y.mean().backward()
print(json.dumps([list(y.shape), list(x.grad.shape), str(x.grad.dtype)]))
time.sleep(0.05)
"""
    run = run_shapes_only(simulator_env, tmp_path, code)
    assert run.facts == [[4096, 2, 1280], [4096, 2, 2560], "torch.float32"], run.stderr[-3000:]
    assert "Overriding" not in run.stderr


def test_what_the_launcher_reads_for_itself_is_not_the_programs(simulator_env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "gauge.py").write_text(
        "READS_FOR_ITSELF = ('take',)\nPASSES_THROUGH = True\n"
        "def take(value):\n    return float(value)\n"
        "def hand_on(value):\n    return float(value)\n"
    )
    code = f"{START}import gauge\nanswers = [gauge.take(loss), gauge.hand_on(loss)]\nprint(json.dumps(answers))\n"
    run = run_shapes_only(simulator_env, tmp_path, code)
    line = code.splitlines().index("answers = [gauge.take(loss), gauge.hand_on(loss)]") + 1
    assert run.facts == [1.0, 1.0] and run.lines() == [line], run.stderr
    assert all(Path(read["file"]).name == "train.py" for read in run.reads)
    assert len(run.reads) == 1
