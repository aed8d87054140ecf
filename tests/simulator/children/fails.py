"""Two ranks of which the second does what its argument says; the first prints the error it is given."""

from __future__ import annotations

import os
import sys
import time

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401

RANK, CASE = int(os.environ["RANK"]), sys.argv[1]


def main() -> None:
    torch.npu.set_device(0 if CASE == "same device" else RANK)
    dist.init_process_group("hccl")
    x = torch.ones(4).npu()
    if CASE != "same device":
        dist.all_reduce(x)
        torch.npu.synchronize()
    if RANK == 1:
        second(x)
    elif CASE == "both send":
        dist.isend(x, 1)
        dist.irecv(x, 1)
    else:
        dist.all_reduce(x)
    torch.npu.synchronize()


def second(x: torch.Tensor) -> None:
    if CASE == "dies":
        os._exit(9)
    if CASE == "sleeps":
        time.sleep(8)
    elif CASE == "broadcasts":
        dist.broadcast(x, 0)
    elif CASE == "both send":
        dist.isend(x, 0)
        dist.irecv(x, 0)
    else:
        dist.all_reduce(x)


started = time.monotonic()
try:
    main()
except RuntimeError as error:
    if RANK == 0:
        print(f"after {time.monotonic() - started:.0f} s:", str(error).splitlines()[-1], flush=True)
os._exit(0)
