"""Every collective on two ranks against values worked out by hand; prints `rank R good` or the first that differs."""

from __future__ import annotations

import os

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401

RANK = int(os.environ["RANK"])
HERE, OTHER = f"npu:{RANK}", 1 - RANK


def check(name: str, found: torch.Tensor, *wanted: float) -> None:
    assert found.cpu().flatten().tolist() == list(wanted), f"rank {RANK} {name}: {found.cpu()} is not {wanted}"


def tensor(*values: float, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.tensor(values, dtype=dtype).to(HERE)


def reductions() -> None:
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.int32, torch.int64, torch.int8):
        x = tensor(1 + RANK, 3 - RANK, dtype=dtype)
        dist.all_reduce(x)
        check(f"all_reduce {dtype}", x, 3, 5)
    ops = dist.ReduceOp
    for op, wanted in ((ops.MAX, 2), (ops.MIN, 1), (ops.PRODUCT, 2), (ops.AVG, 1.5)):
        x = tensor(1 + RANK)
        dist.all_reduce(x, op=op)
        check(f"all_reduce {op}", x, wanted)
    x = tensor(1 + RANK)
    dist.reduce(x, dst=1)
    check("reduce", x, *([3] if RANK == 1 else [1]))
    x, part = tensor(1, 2, 3, 4), tensor(0, 0)
    dist.reduce_scatter_tensor(part, x * (RANK + 1))
    check("reduce_scatter_tensor", part, *([3, 6] if RANK == 0 else [9, 12]))


def big_and_rounded() -> None:
    """Larger than a socket's buffer and a chunk; half precision is summed in float and rounded once."""
    x = torch.full((1 << 20,), 0.1 * (RANK + 1)).to(HERE)
    dist.all_reduce(x)
    assert torch.equal(x.cpu(), torch.full((1 << 20,), 0.1) + torch.full((1 << 20,), 0.2))
    values = torch.randn(4096, generator=torch.Generator().manual_seed(RANK)).half()
    x = values.to(HERE)
    dist.all_reduce(x)
    both = [torch.randn(4096, generator=torch.Generator().manual_seed(rank)).half() for rank in (0, 1)]
    assert torch.equal(x.cpu(), (both[0].float() + both[1].float()).half())


def gathers() -> None:
    x = tensor(7.0) if RANK == 0 else tensor(0.0)
    dist.broadcast(x, 0)
    check("broadcast", x, 7)
    both = tensor(0, 0, 0, 0)
    dist.all_gather_into_tensor(both, tensor(RANK, RANK + 10))
    check("all_gather_into_tensor", both, 0, 10, 1, 11)
    parts = [torch.zeros(2, device=HERE) for _ in range(2)]
    dist.all_gather(parts, tensor(RANK, 5))
    check("all_gather", torch.cat(parts), 0, 5, 1, 5)
    out = tensor(0, 0)
    dist.all_to_all_single(out, tensor(RANK * 2, RANK * 2 + 1))
    check("all_to_all_single", out, RANK, RANK + 2)
    out = tensor(0)
    dist.scatter(out, [tensor(4), tensor(5)] if RANK == 0 else None, src=0)
    check("scatter", out, 4 + RANK)
    dist.barrier()


def point_to_point() -> None:
    x = tensor(3.5) if RANK == 0 else tensor(0)
    dist.send(x, 1) if RANK == 0 else dist.recv(x, 0)
    check("send and recv", x, 3.5)
    mine, theirs = torch.full((1 << 20,), float(RANK)).to(HERE), torch.zeros(1 << 20, device=HERE)
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, mine, OTHER), dist.P2POp(dist.irecv, theirs, OTHER)]):
        work.wait()
    assert bool((theirs == OTHER).all()), "batch_isend_irecv"


def refused() -> None:
    try:
        dist.all_reduce(torch.ones(2, dtype=torch.float64).to(HERE))
    except RuntimeError as error:
        assert "kDouble" in str(error)
    else:
        raise AssertionError("float64 is reduced; HCCL does not")


torch.npu.set_device(RANK)
dist.init_process_group("hccl")
for test in (reductions, big_and_rounded, gathers, point_to_point, refused):
    test()
torch.npu.synchronize()
print(f"rank {RANK} good", flush=True)
dist.destroy_process_group()
