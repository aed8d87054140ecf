"""How long collectives would take within a node, by latency and bandwidth; between nodes a wide range."""

from __future__ import annotations

import math

from ascend_workbook.estimates.chips import Chip
from ascend_workbook.estimates.ranges import Range
from ascend_workbook.findings.errors import WorkbookError

MICRO = 1e6
#: Which part of a link's speed transfers reach, fitted on collectives of two ranks in a node
LINK_PART = 0.64
#: Standard deviation of the logarithm of measured over said, within a node
SPREAD = 0.35
#: One direction of one card between nodes, slowest and fastest of what is published: 100 to 400 Gbit/s, in part used
BETWEEN_BYTES_S = (6e9, 12.5e9, 25e9)
BETWEEN_LATENCY_S = (2e-5, 4e-5, 1.5e-4)
#: How often all bytes, over the number of ranks, pass the link to one other: in a full mesh all links go at once
ROUNDS = {
    "allreduce": 2,
    "allgather": 1,
    "reducescatter": 1,
    "broadcast": 2,
    "reduce": 2,
    "alltoall": 1,
    "scatter": 1,
    "gather": 1,
}
PAIRS = ("send", "recv", "receive", "batchsendrecv")


def estimate_collective(kind: str, size: float, ranks: int, nodes: int, chip: Chip) -> Range:
    """Return how long a collective would take if no rank had to wait, in microseconds. `size`: bytes of the whole
    tensor, of an allgather the gathered one. Raises WorkbookError for a kind that is not known."""
    name = kind.lower().replace("hcom_", "").replace("_", "")
    pair = name in PAIRS
    if not pair and name not in ROUNDS:
        raise WorkbookError("estimates.unknown_collective", name=kind, kinds=sorted((*ROUNDS, *PAIRS)))
    if ranks < 2 and not pair:
        return Range(0.0, 0.0, 0.0)
    if nodes <= 1:
        over_one_link = size if pair else size * ROUNDS[name] / ranks
        seconds = chip.link_latency_s + over_one_link / (chip.link_bytes_s * LINK_PART)
        return Range.around(seconds * MICRO, SPREAD)
    volume = size if pair else size * ROUNDS[name] * (ranks - 1) / ranks
    steps = 1 if pair else max(1.0, math.log2(nodes)) * ROUNDS[name]
    fast, middle, slow = (
        latency * steps + volume / speed for latency, speed in zip(BETWEEN_LATENCY_S, reversed(BETWEEN_BYTES_S))
    )
    return Range(fast * MICRO, middle * MICRO, slow * MICRO)
