"""400 loops that give a wrong value if anything runs out of order: prints the loops that did, and the setting."""

from __future__ import annotations

import os

import torch

LOOPS = 400


def main() -> None:
    torch.manual_seed(0)
    first, second, side = torch.npu.current_stream(), torch.npu.Stream(), torch.npu.Stream()
    pinned_in, pinned_out = (torch.empty(4096).pin_memory() for _ in range(2))
    wrong = [loop for loop in range(LOOPS) if not once(loop, (first, second, side), pinned_in, pinned_out)]
    print("TASK_QUEUE_ENABLE", os.environ.get("TASK_QUEUE_ENABLE"), "wrong", wrong)


def once(loop: int, streams: tuple, pinned_in: torch.Tensor, pinned_out: torch.Tensor) -> bool:
    """Host to device, kernels on three streams joined by events, a view, a copy between devices, device to host."""
    first, second, side = streams
    expected = torch.arange(4096.0) + loop
    pinned_in.copy_(expected)
    x = pinned_in.to("npu:0", non_blocking=True)
    y = x * 2  # must see the copy
    pageable = torch.full((64,), float(loop)).to("npu:0", non_blocking=True)
    arrived = first.record_event()
    with torch.npu.stream(second):
        second.wait_event(arrived)
        z = y + x
        z[::2] += 1
        done = second.record_event()
    with torch.npu.stream(side):
        side.wait_event(done)
        other = z.to("npu:1", non_blocking=True).to("npu:0")
        joined = torch.npu.Event(enable_timing=True)
        joined.record(side)
    first.wait_event(joined)
    x.zero_()
    total = other + pageable[0]
    pinned_out.copy_(total, non_blocking=True)
    read = torch.npu.Event()
    read.record()
    read.synchronize()
    wanted = expected * 3 + loop
    wanted[::2] += 1
    return torch.equal(pinned_out, wanted) and bool((x == 0).all().item()) and joined.query()


main()
