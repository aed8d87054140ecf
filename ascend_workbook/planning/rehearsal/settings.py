"""What a rehearsal is asked: how many cards of which chip, which ranks, what to assume."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ascend_workbook.estimates.chips import Chip, find_chip
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.machine.number_lists import parse_numbers

GIB = 1 << 30
DISTINCT, ALL = "distinct", "all"
#: Steps that run: the optimizer's state is made in the first, so that only the second holds all there is.
STEPS = 2
#: PyTorch sees less than a card is sold with: of 64 GB 60.96, 60.97 or 61.27 GiB (`total capacity` in out-of-memory
#: messages: vllm-project/vllm-ascend issues 19 and 1670, hiyouga/LlamaFactory 5491, sgl-project/sglang 29838).
SEEN_OF_64 = 60.97 / 64
#: Bytes outside PyTorch: CANN, its context and HCCL. 0.55 GiB by an out-of-memory message of one card (zai-org/CogVideo
#: issue 63: 60.97 total, 26.61 reserved, 33.81 free), 0.57 and 1.5 to 1.8 in two public profiles (msinsight).
OUTSIDE = (0.55 * GIB, 1.8 * GIB)
#: What one communicator takes: two buffers of HCCL_BUFFSIZE, 200 MB where it is not set (HCCL's documentation).
COMMUNICATOR = 2 * 200 * 2**20
UNITS = {"": 1, "b": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


@dataclass(frozen=True)
class Cluster:
    """Cards as they stand in nodes. `memory` is what PyTorch sees of a card, in bytes."""

    chip: Chip
    cards: int
    nodes: int
    memory: int

    @property
    def node_cards(self) -> int:
        """Return the cards of one node."""
        return self.cards // self.nodes


def make_cluster(chip: str, cards: int, nodes: int | None, memory: str | None) -> Cluster:
    """Make the cluster that is asked for. Raises WorkbookError for a chip that is not known, cards that do not go into
    the nodes, or a size that is none."""
    known = find_chip(chip)
    if cards < 1:
        raise WorkbookError("launch.not_positive", name="cards", value=cards)
    count = nodes if nodes is not None else -(-cards // known.node_cards)
    if count < 1 or cards % count:
        raise WorkbookError("rehearsal.nodes", cards=cards, nodes=count)
    size = parse_memory(memory, known)
    if size <= OUTSIDE[1]:
        raise WorkbookError("rehearsal.small", given=str(memory), least=round(OUTSIDE[1] / GIB, 1))
    return Cluster(known, cards, count, size)


def parse_memory(text: str | None, chip: Chip) -> int:
    """Return the bytes that PyTorch sees of a card: of `64GB`, as it is sold, a little less; `60GiB` is exact."""
    if text is None:
        return int(chip.memory_bytes * SEEN_OF_64)
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", str(text).lower())
    if match is None or not float(match[1]):
        raise WorkbookError("rehearsal.memory", given=str(text))
    size = int(float(match[1]) * UNITS[match[2]])
    return size if match[3] or match[2] != "g" else int(size * SEEN_OF_64)


def choose_ranks(ranks: str | Sequence[int], cards: int) -> tuple[int, ...] | str:
    """Return the ranks to rehearse, or DISTINCT. Raises WorkbookError for a rank that is not there."""
    if ranks == DISTINCT:
        return DISTINCT if cards > 1 else (0,)
    chosen = tuple(range(cards)) if ranks == ALL else tuple(sorted(set(parse_numbers(ranks, "ranks"))))
    if not chosen or chosen[-1] >= cards:
        raise WorkbookError("rehearsal.ranks", ranks=list(chosen), cards=cards)
    return chosen


def outside_bytes(communicators: int) -> tuple[int, int]:
    """Return the least and the most that lies outside PyTorch on a card, in bytes."""
    low, high = OUTSIDE
    return int(low), int(max(high, low + communicators * COMMUNICATOR))
