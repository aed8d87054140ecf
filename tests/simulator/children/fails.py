"""Ranks of which the last does what its argument says; the others print the error they are given, or `no error`."""

from __future__ import annotations

import os
import sys
import time

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401

RANK, LAST, CASE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]) - 1, sys.argv[1]


def main() -> None:
    torch.npu.set_device(0 if CASE == "same device" else RANK)
    dist.init_process_group("hccl")
    x = torch.ones(4).npu()
    if CASE != "same device":
        dist.all_reduce(x)
        torch.npu.synchronize()
    if RANK == LAST:
        last(x)
    elif CASE == "both send":
        dist.isend(x, 1)
        dist.irecv(x, 1)
    else:
        dist.all_reduce(x)
    if CASE == "looks late":
        time.sleep(2)
    torch.npu.synchronize()


def last(x: torch.Tensor) -> None:
    if CASE == "dies":
        os._exit(9)
    if CASE == "sleeps":
        time.sleep(8)
    elif CASE in ("broadcasts", "looks late"):
        dist.broadcast(x, 0)
    elif CASE == "both send":
        dist.isend(x, 0)
        dist.irecv(x, 0)
    else:
        dist.all_reduce(x)


started = time.monotonic()
try:
    main()
    print("no error", flush=True)
except RuntimeError as error:
    print(f"after {time.monotonic() - started:.0f} s:", str(error).splitlines()[-1], flush=True)
os._exit(0)
