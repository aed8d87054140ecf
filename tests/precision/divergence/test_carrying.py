"""One wrong input among right ones: it excuses what it makes of the result, and hides no fault of the operator."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from ascend_workbook.precision.capturing import manifest
from ascend_workbook.precision.comparison import examine_captures
from ascend_workbook.precision.rules import first_divergence
from ascend_workbook.precision.tensors import tolerance
from benchmarks.matrix.cases import describe
from benchmarks.matrix.recorder import Recorder, Tampering

Tensors = list[Tensor]
Compute = Callable[[Tensors], Tensor]


def zero_a_third(out: Tensor) -> Tensor:
    flat = out.reshape(-1)
    flat[: flat.numel() // 3] = 0
    return out


#: name: (sizes of the inputs with their spread, which one is wrong and by how much, the call, its own fault)
CASES: dict[str, tuple[list[tuple[tuple[int, ...], float]], int, float, Compute, Callable[[Tensor], Tensor]]] = {
    "Functional.linear.0": (
        [((16, 32), 1.0), ((24, 32), 0.3), ((24,), 0.02)],
        2,
        5.0,
        lambda given: F.linear(*given),
        lambda out: out * 1.3,
    ),
    "Functional.conv2d.0": (
        [((4, 3, 8, 8), 1.0), ((6, 3, 3, 3), 0.3), ((6,), 0.02)],
        2,
        3.0,
        lambda given: F.conv2d(given[0], given[1], given[2]),
        zero_a_third,
    ),
    "Functional.layer_norm.0": (
        [((16, 32), 1.0), ((32,), 1.0), ((32,), 0.02)],
        2,
        4.0,
        lambda given: F.layer_norm(given[0], (32,), given[1], given[2]),
        zero_a_third,
    ),
    "Tensor.add.0": (
        [((16, 32), 1.0), ((16, 32), 0.05)],
        1,
        1.5,
        lambda given: given[0].add(given[1]),
        lambda out: out.roll(1, -1),
    ),
    "Torch.cat.0": (
        [((16, 32), 1.0), ((16, 4), 0.1)],
        1,
        1.2,
        lambda given: torch.cat(given, 1),
        lambda out: out.roll(1, -1),
    ),
    "Torch.matmul.0": (
        [((32, 32), 1.0), ((32, 32), 1.0)],
        1,
        0.2,
        lambda given: torch.matmul(*given),
        lambda out: out.t().clone(),
    ),
    "Tensor.mul.0": (
        [((16, 32), 1.0), ((16, 32), 1.0)],
        0,
        0.15,
        lambda given: given[0].mul(given[1]),
        lambda out: out * 0,
    ),
    "Tensor.__getitem__.0": (
        [((16, 32), 1.0)],
        0,
        0.2,
        lambda given: given[0][3:],
        lambda out: out.roll(1, 0),
    ),
}


def record(folder: Path, call: str, given: Tensors, compute: Compute, fault: Callable[[Tensor], Tensor] | None) -> None:
    """The second step of a training that is this one call."""
    where = folder / manifest.DUMP / "step1" / "rank0"
    forward = {call: lambda func, args, named, out: fault(out)} if fault else {}
    recorder = Recorder(where, Tampering(forward=forward))
    with recorder:
        compute([value.clone() for value in given])
    recorder.save(where)
    describe(folder, "none", "tensor")


def named(tmp_path: Path, call: str, faulty: bool) -> tuple[list[str], float, float]:
    sizes, wrong, share, compute, fault = CASES[call]
    torch.manual_seed(len(call))
    given = [torch.randn(shape) * spread for shape, spread in sizes]
    other = list(given)
    change = torch.randn(given[wrong].shape)
    other[wrong] = given[wrong] + change * share * given[wrong].norm() / change.norm()
    record(tmp_path / "a", call, given, compute, None)
    record(tmp_path / "b", call, other, compute, fault if faulty else None)
    found = examine_captures(tmp_path / "a", tmp_path / "b", replaying=False)
    (judged,) = found.steps[0].judged
    assert judged.because in (f"input.{wrong}", "input.bias", "input.0.1"), "the reason is told"
    if found.first:
        (told,) = [finding for finding in first_divergence.check(found) if finding.rule == "ACC230"]
        assert told.key == "ACC230.amplified_by" and told.args["input"] == judged.because
        assert f"{judged.because} (error " in told.message("en") and f"{judged.because} 的误差" in told.message("zh")
    return found.named, judged.agreement.error_in, judged.agreement.error_out or 0.0


@pytest.mark.parametrize("call", CASES)
def test_a_wrong_input_hides_no_fault(tmp_path: Path, call: str) -> None:
    operators, error_in, error_out = named(tmp_path, call, faulty=True)
    assert error_out <= min(tolerance.AMPLIFICATION * error_in, tolerance.UNRELATED), (
        "ten times the worst would hide it"
    )
    assert operators == [f"{call}.forward"]


@pytest.mark.parametrize("call", CASES)
def test_what_a_wrong_input_makes_is_no_fault(tmp_path: Path, call: str) -> None:
    assert named(tmp_path, call, faulty=False)[0] == []
