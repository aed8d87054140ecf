"""Started by file path as one rank of several: a collective over all devices, its values checked, its time taken.

Prints one line of JSON a collective. The inputs are small integers, so that the exact result is known and a sum in
float32 has no rounding. Bandwidth is the bus bandwidth of nccl-tests: what each rank must send and receive whatever
the algorithm, so that it can be held against the link's own
(https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md).
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from datetime import timedelta
from types import ModuleType
from typing import TYPE_CHECKING, Callable

if TYPE_CHECKING:
    from torch import Tensor

REPEATS = 5
PERIOD = 251


def main(kind: str, backend: str, mib: int, timeout_s: int, operations: list[str]) -> None:
    """Run the collectives on this rank; `kind` is npu, cuda or cpu, `mib` is the size of what one rank holds."""
    import torch
    import torch.distributed as dist

    local = int(os.environ["LOCAL_RANK"])
    device = "cpu" if kind == "cpu" else f"{kind}:{local}"
    if kind == "npu":
        import torch_npu  # noqa: F401 - makes torch.npu and hccl
    if kind != "cpu":
        getattr(torch, kind).set_device(device)
    dist.init_process_group(backend, timeout=timedelta(seconds=timeout_s))
    rank, world = dist.get_rank(), dist.get_world_size()
    for operation in operations:
        row = {"rank": rank, "world": world, "device": device, "operation": operation, "dtype": "float32", "mib": mib}
        print_row({**row, "backend": backend, **run_collective(torch, dist, operation, device, mib)})
    dist.barrier()
    dist.destroy_process_group()
    print_row({"rank": rank, "done": True})


def make_pattern(torch: ModuleType, length: int, rank: int) -> Tensor:
    """Return what a rank gives: small integers that differ from place to place and from rank to rank."""
    return torch.arange(length, dtype=torch.int64).remainder(PERIOD).add(rank + 1).float()


def run_collective(torch: ModuleType, dist: ModuleType, operation: str, device: str, mib: int) -> dict[str, object]:
    """Run one collective, hold its result against the exact one, and take its time."""
    rank, world, length = dist.get_rank(), dist.get_world_size(), mib * (1 << 20) // 4
    values, root = make_pattern(torch, length, rank).to(device), world - 1
    patterns = (make_pattern(torch, length, member) for member in range(world))
    parts = [torch.zeros_like(values) for _ in range(world)] if operation == "all_gather" else []
    result = values.clone()

    def run_once(tensor: Tensor) -> None:
        if operation == "all_gather":
            dist.all_gather(parts, tensor)
        elif operation == "broadcast":
            dist.broadcast(tensor, src=root)
        else:
            dist.all_reduce(tensor)

    run_once(result)
    if operation == "all_gather":
        result, expected, share = torch.cat(parts), torch.cat(list(patterns)), world - 1.0
    elif operation == "broadcast":
        expected, share = make_pattern(torch, length, root), 1.0
    else:
        expected, share = sum(patterns), 2 * (world - 1) / world
    return make_row(result, expected, median_ms(torch, dist, device, lambda: run_once(values)), share * values.nbytes)


def make_row(result: Tensor, expected: Tensor, milliseconds: float, bus_bytes: float) -> dict[str, object]:
    """Return how many elements are wrong, one of them, the time and the bus bandwidth."""
    got = result.cpu()
    wrong = (got != expected).nonzero().flatten()
    row: dict[str, object] = {"wrong": len(wrong), "elements": got.numel(), "time_ms": milliseconds}
    row["bus_gb_per_s"] = bus_bytes / milliseconds / 1e6
    if len(wrong):
        at = int(wrong[0])
        row.update(place=at, got=str(float(got[at])), exact=str(float(expected[at])))
    return row


def median_ms(torch: ModuleType, dist: ModuleType, device: str, work: Callable[[], object]) -> float:
    """Return the median time of REPEATS runs, each begun together and waited for."""
    wait = (lambda: None) if device == "cpu" else getattr(torch, device.split(":")[0]).synchronize
    times = []
    for _ in range(REPEATS):
        dist.barrier()
        wait()
        start = time.perf_counter()
        work()
        wait()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


def print_row(row: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(row) + "\n")  # one write a line: the ranks share the pipe
    sys.stdout.flush()


if __name__ == "__main__":
    sys.path = [entry for entry in sys.path if entry != sys.path[0]]
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5].split(","))
