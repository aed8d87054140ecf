"""How long collectives would take if no rank waits for another: by latency and bandwidth within a node, between nodes a
wide range, since no public profile bounds it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ascend_workbook.estimates.basis import Basis, load_basis
from ascend_workbook.estimates.chips import Chip
from ascend_workbook.estimates.ranges import ZERO, Range
from ascend_workbook.findings.errors import WorkbookError

MICRO = 1e6
#: How often the whole tensor passes a card's links. Within a node a card has a link to each other one, and all are
#: used at once.
ROUNDS = {
    "allreduce": 2.0,
    "allgather": 1.0,
    "reducescatter": 1.0,
    "broadcast": 2.0,
    "reduce": 2.0,
    "alltoall": 1.0,
    "alltoallv": 1.0,
    "scatter": 1.0,
    "gather": 1.0,
}
PAIRS = ("send", "recv", "receive", "batchsendrecv")
#: Every card's part goes to every other: nothing is added up or shared on the way between nodes.
SCATTERED = ("alltoall", "alltoallv")


def estimate_collective(
    kind: str, size: float, ranks: int, nodes: int, chip: Chip, basis: Basis | None = None
) -> Range:
    """Return how long a collective would take if no rank had to wait, in microseconds. `size`: bytes of the whole
    tensor, of an allgather the gathered one, of a reducescatter the one before. Raises WorkbookError for a kind that is
    not known."""
    name = kind.lower().replace("hcom", "").replace("_", "").replace(" ", "")
    if name not in ROUNDS and name not in PAIRS:
        raise WorkbookError("estimates.unknown_collective", name=kind, kinds=sorted((*ROUNDS, *PAIRS)))
    if ranks < 2:
        return ZERO
    about = (basis or load_basis()).about
    if nodes <= 1:
        return _within_node(name, size, ranks, chip, about["links"])
    return _between_nodes(name, size, ranks, nodes, chip, about)


def _within_node(name: str, size: float, ranks: int, chip: Chip, links: dict[str, float]) -> Range:
    over_one_link = size * ROUNDS[name] / ranks if name in ROUNDS else size
    middle = chip.link_latency_s * MICRO + over_one_link / (chip.link_bytes_s * links["part"]) * MICRO
    return Range(middle * links["low"], middle, middle * links["high"])


def _between_nodes(name: str, size: float, ranks: int, nodes: int, chip: Chip, about: Mapping[str, Any]) -> Range:
    """Return a range from the best that is published, each card sending what the cards of its node have shared out
    among them, to one slow line that carries everything."""
    network, inside = about["network"], ZERO
    whole = size * ROUNDS.get(name, 1.0)
    shared = whole
    if name in ROUNDS:
        cards = max(1, ranks // nodes)
        if cards > 1:
            inside = _within_node(name, size, cards, chip, about["links"])
        shared = whole * (nodes - 1) / nodes / (1 if name in SCATTERED else cards)
        whole = whole * (ranks - 1) / ranks
    low = inside.low + network["latency_low_us"] + shared / network["bytes_s_high"] * MICRO
    middle = inside.middle + network["latency_middle_us"] + shared / network["bytes_s_middle"] * MICRO
    high = inside.high + network["latency_high_us"] * nodes + whole / network["bytes_s_low"] * MICRO
    return Range(low, middle, high)
