"""What a rehearsal is asked: how many cards of which chip, which ranks, what to assume."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ascend_workbook.estimates.chips import Chip, find_chip
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.machine.number_lists import parse_numbers
from ascend_workbook.planning.card import GIB, OUTSIDE, parse_memory, seen_bytes

DISTINCT, ALL = "distinct", "all"
#: Steps that run: the optimizer's state is made in the first, so that only the second holds all there is.
STEPS = 2


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
    size = seen_bytes(parse_memory(memory, known))
    if size <= OUTSIDE[1]:
        raise WorkbookError("rehearsal.small", given=str(memory), least=round(OUTSIDE[1] / GIB, 1))
    return Cluster(known, cards, count, size)


def choose_ranks(ranks: str | Sequence[int], cards: int) -> tuple[int, ...] | str:
    """Return the ranks to rehearse, or DISTINCT. Raises WorkbookError for a rank that is not there."""
    if ranks == DISTINCT:
        return DISTINCT if cards > 1 else (0,)
    chosen = tuple(range(cards)) if ranks == ALL else tuple(sorted(set(parse_numbers(ranks, "ranks"))))
    if not chosen or chosen[-1] >= cards:
        raise WorkbookError("rehearsal.ranks", ranks=list(chosen), cards=cards)
    return chosen
