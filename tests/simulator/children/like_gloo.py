"""Every collective of torch.distributed twice in one group: CPU tensors go to gloo, NPU tensors to hccl.

Prints `rank R good: N compared, refused NAMES` or what differs. Values are small whole numbers, so that sums are
exact in every dtype and in every order.
"""

from __future__ import annotations

import os
from typing import Callable

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401

RANK, SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
Tensors = list[torch.Tensor]
CASES: list[Callable[[str, torch.dtype], Tensors]] = []
FLOATS = [torch.float32, torch.float16, torch.bfloat16]
REDUCED = [*FLOATS, torch.int8, torch.int32, torch.int64]
MOVED = [*REDUCED, torch.int16, torch.uint8, torch.bool, torch.float64]
#: What gloo moves in the place of a dtype that it lacks.
STAND_INS = {torch.int16: torch.int32, torch.bool: torch.uint8}
OPS = {"sum": dist.ReduceOp.SUM, "product": dist.ReduceOp.PRODUCT, "max": dist.ReduceOp.MAX, "min": dist.ReduceOp.MIN}


def values(device: str, dtype: torch.dtype, *shape: int, salt: int = 0) -> torch.Tensor:
    """Another tensor on every rank, of -2 to 2 (0 and 1 for bool)."""
    seeded = torch.Generator().manual_seed(100 * salt + RANK)
    whole = torch.randint(0 if dtype in (torch.bool, torch.uint8) else -2, 3, shape, generator=seeded)
    return whole.to(dtype).to(device)


def zeros(device: str, dtype: torch.dtype, *shape: int) -> torch.Tensor:
    return torch.zeros(*shape, dtype=dtype, device=device)


def all_reduce(device: str, dtype: torch.dtype, op: str) -> Tensors:
    found = [values(device, dtype, *shape, salt=i) for i, shape in enumerate([(7,), (3, 5), (1,), (0,), (999,)])]
    for x in found:
        dist.all_reduce(x, op=OPS[op])
    return found


def reduce(device: str, dtype: torch.dtype, op: str) -> Tensors:
    x = values(device, dtype, 13)
    dist.reduce(x, dst=SIZE - 1, op=OPS[op])
    return [x] if RANK == SIZE - 1 else []


def reduce_scatter(device: str, dtype: torch.dtype, op: str) -> Tensors:
    out, out2 = zeros(device, dtype, 5), zeros(device, dtype, 2, 3)
    dist.reduce_scatter(out, [values(device, dtype, 5, salt=i) for i in range(SIZE)], op=OPS[op])
    dist.reduce_scatter_tensor(out2, values(device, dtype, 2 * SIZE, 3), op=OPS[op])
    return [out, out2]


def broadcast(device: str, dtype: torch.dtype) -> Tensors:
    found = []
    for root in range(SIZE):
        x = values(device, dtype, 6, salt=root)
        dist.broadcast(x, root)
        found.append(x)
    return found


def all_gather(device: str, dtype: torch.dtype) -> Tensors:
    parts = [zeros(device, dtype, 4, 2) for _ in range(SIZE)]
    dist.all_gather(parts, values(device, dtype, 4, 2))
    whole = zeros(device, dtype, 3 * SIZE)
    dist.all_gather_into_tensor(whole, values(device, dtype, 3))
    strided = [zeros(device, dtype, 2, 4) for _ in range(SIZE)]
    dist.all_gather(strided, values(device, dtype, 4, 2).t().contiguous())
    return [*parts, whole, *strided]


def uneven_all_gather(device: str, dtype: torch.dtype) -> Tensors:
    parts = [zeros(device, dtype, rank + 1) for rank in range(SIZE)]
    if device == "cpu":  # gloo has no uneven all_gather: one broadcast per rank
        for rank, part in enumerate(parts):
            part.copy_(values(device, dtype, RANK + 1)) if rank == RANK else None
            dist.broadcast(part, rank)
    else:
        dist.all_gather(parts, values(device, dtype, RANK + 1))
    return parts


def all_to_all(device: str, dtype: torch.dtype) -> Tensors:
    equal = zeros(device, dtype, 2 * SIZE)
    dist.all_to_all_single(equal, values(device, dtype, 2 * SIZE))
    sent = [(RANK + other) % SIZE for other in range(SIZE)]
    got = [(RANK + other) % SIZE for other in range(SIZE)]
    uneven = zeros(device, dtype, sum(got), 3)
    dist.all_to_all_single(uneven, values(device, dtype, sum(sent), 3), got, sent)
    lists = [zeros(device, dtype, RANK + other + 1) for other in range(SIZE)]
    given = [values(device, dtype, RANK + other + 1, salt=other) for other in range(SIZE)]
    if device == "cpu":  # gloo has no all_to_all of lists
        flat = zeros(device, dtype, sum(x.numel() for x in lists))
        sizes = [x.numel() for x in lists]
        dist.all_to_all_single(flat, torch.cat(given), sizes, sizes)
        lists = list(flat.split(sizes))
    else:
        dist.all_to_all(lists, given)
    return [equal, uneven, *lists]


def scatter_and_gather(device: str, dtype: torch.dtype) -> Tensors:
    out = zeros(device, dtype, 3)
    dist.scatter(out, [values(device, dtype, 3, salt=i) for i in range(SIZE)] if RANK == 0 else None, src=0)
    return [out]


def point_to_point(device: str, dtype: torch.dtype) -> Tensors:
    right, left = (RANK + 1) % SIZE, (RANK - 1) % SIZE
    mine, theirs, ring = values(device, dtype, 9), zeros(device, dtype, 9), zeros(device, dtype, 9)
    if RANK % 2 == 0 and RANK + 1 < SIZE:
        dist.send(mine, RANK + 1)
        dist.recv(theirs, RANK + 1)
    elif RANK % 2 == 1:
        dist.recv(theirs, RANK - 1)
        dist.send(mine, RANK - 1)
    both = [dist.P2POp(dist.isend, mine, right), dist.P2POp(dist.irecv, ring, left)]
    for work in dist.batch_isend_irecv(both):
        work.wait()
    return [theirs, ring]


def run() -> tuple[int, list[str]]:
    compared, refused = 0, []
    reducing = (all_reduce, reduce, reduce_scatter)
    plans = [(case, dtype, {"op": op}) for case in reducing for dtype in REDUCED for op in OPS]
    moving = (broadcast, all_gather, uneven_all_gather, all_to_all, scatter_and_gather, point_to_point)
    plans += [(case, dtype, {}) for case in moving for dtype in MOVED]
    for case, dtype, how in plans:
        name = " ".join([case.__name__, str(dtype).split(".")[1], *how.values()])
        try:
            found = [x.cpu() for x in case(f"npu:{RANK}", dtype, **how)]
        except RuntimeError as error:
            refused.append(f"{name}: {str(error).splitlines()[0]}")
            continue
        wanted = [x.to(dtype) for x in case("cpu", STAND_INS.get(dtype, dtype), **how)]
        assert len(found) == len(wanted), name
        for i, (left, right) in enumerate(zip(found, wanted)):
            assert torch.equal(left, right), f"rank {RANK} {name} [{i}]: {left} is not {right}"
            compared += 1
    return compared, refused


torch.npu.set_device(RANK)
dist.init_process_group("cpu:gloo,npu:hccl")
compared, refused = run()
dist.barrier()
for line in refused:
    print(f"rank {RANK} refused {line}")
print(f"rank {RANK} good: {compared} compared", flush=True)
dist.destroy_process_group()
