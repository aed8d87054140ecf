"""What must raise: mixed devices, what the hardware lacks, what the simulator lacks; and what must fall back."""

from __future__ import annotations

import os
import sys
import tempfile
from typing import Any, Callable

import torch
import torch.nn.functional as F
from comparing import raises


def warned(call: Callable[[], Any]) -> str:
    """What the call wrote on stderr, C++ warnings included."""
    sys.stderr.flush()
    saved = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            call()
        finally:
            os.dup2(saved, 2)
            os.close(saved)
        file.seek(0)
        return file.read().decode()


def check_cpu_with_npu_is_refused() -> None:
    npu, cpu = torch.ones(3, 3, device="npu"), torch.ones(3, 3)
    same = "Expected all tensors to be on the same device"
    raises(lambda: npu + cpu, same)
    raises(lambda: cpu + npu, same)
    raises(lambda: npu.add_(cpu), same)
    raises(lambda: torch.cat([npu, cpu]), same)
    raises(lambda: npu @ cpu, same)
    raises(lambda: F.linear(npu, cpu), same)
    raises(lambda: F.layer_norm(npu, (3,), cpu[0]), same)
    raises(lambda: F.embedding(torch.tensor([1, 2]), npu), same)
    raises(lambda: F.cross_entropy(npu, torch.tensor([0, 1, 2])), same)
    raises(lambda: F.conv2d(npu[None, None], cpu[None, None]), same)
    raises(lambda: torch._foreach_add([npu], [cpu]), same)


def check_two_cards_are_refused() -> None:
    first, second = torch.ones(3, device="npu:0"), torch.ones(3, device="npu:1")
    raises(lambda: first + second, "Expected all tensors to be on the same device", "npu:1", "npu:0")
    raises(lambda: first.mul_(second), "same device")


def check_cpu_scalars_and_indices_are_taken() -> None:
    npu = torch.arange(4.0, device="npu")
    assert (npu * torch.tensor(2.0)).tolist() == [0.0, 2.0, 4.0, 6.0]
    assert npu[torch.tensor([3, 0])].tolist() == [3.0, 0.0]
    assert (npu > torch.tensor(1.5)).tolist() == [False, False, True, True]
    assert torch.where(npu > 1, npu, torch.tensor(-1.0)).tolist() == [-1.0, -1.0, 2.0, 3.0]


def check_what_is_not_simulated_names_itself() -> None:
    x = torch.ones(2, 4, device="npu")
    raises(lambda: torch.ops.npu.npu_sub_sample(x, 1, 0.5), "NPU simulator lacks the operator npu::npu_sub_sample")
    raises(lambda: torch.ops.npu.npu_gelu_quant(x), "NPU simulator lacks the operator npu::npu_gelu_quant")


def check_a_renorm_of_what_has_no_rows_is_refused() -> None:
    rows, norm, most = "at least 2 dimensions", "non-positive-norm", "maxnorm to be >= 0"
    for shape, p, maxnorm, said in (((), 2, 1, rows), ((3,), 2, 1, rows), ((2, 3), 0, 1, norm), ((2, 3), 2, -1, most)):
        raises(lambda s=shape, p=p, m=maxnorm: torch.renorm(torch.ones(s, device="npu"), p, 0, m), said)


def check_a_range_of_whole_numbers_with_a_step_below_one_is_refused() -> None:
    whole = torch.zeros(9, dtype=torch.int64, device="npu")
    raises(lambda: torch.ops.aten.range.out(0, 2, 0.5, out=whole), "step must be nonzero")
    torch.ops.aten.range.out(0, 8, 2, out=whole)
    assert whole.tolist() == [0, 2, 4, 6, 8]


def check_quantized_tensors_are_refused() -> None:
    x = torch.ones(4, device="npu")
    raises(lambda: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8), "simulator")
    raises(lambda: torch.quantize_per_channel(x[None], x[:1], x[:1], 0, torch.qint8), "simulator")


def check_an_operator_that_torch_npu_lacks_falls_back_with_its_warning() -> None:
    x = torch.rand(3, 3, device="npu") + 1
    text = warned(lambda: torch.special.bessel_j0(x))
    assert "is not currently supported on the NPU backend and will fall back to run on the CPU" in text, text
    torch.testing.assert_close(torch.special.bessel_j0(x).cpu(), torch.special.bessel_j0(x.cpu()))
    assert torch.special.bessel_j0(x).device.type == "npu"


def check_an_error_leaves_the_device_usable() -> None:
    x = torch.ones(3, device="npu")
    raises(lambda: x.view(7), "invalid for input of size 3")
    raises(lambda: x @ torch.ones(2, device="npu"), "size")
    assert (x + 1).tolist() == [2.0, 2.0, 2.0]
