"""What is published of an Ascend chip: cores, clock, memory, links."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError

CHIPS = Path(__file__).with_name("chips.json")
#: Multiplications and additions of one cube in one cycle: 16 x 16 x 16 of each for 16-bit floats
CUBE_OPERATIONS = 2 * 16 * 16 * 16


@dataclass(frozen=True)
class Chip:
    """One device as a training sees it (of a 910C one of its two dies). `link_bytes_s`: one direction to one other card
    of the node; `bfloat16_part`: which part of its speed in float16 the cubes are told to reach in bfloat16; `source`:
    where each figure is published."""

    name: str
    memory_bytes: int
    cube_cores: int
    vector_cores: int
    clock_ghz: float
    bandwidth_bytes_s: float
    cache_bytes: int
    link_bytes_s: float
    link_latency_s: float
    node_cards: int
    bfloat16_part: float = 1.0
    source: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def cube_flops(self) -> float:
        """Return the operations a second of all cubes in 16-bit floats, as cores and clock give them."""
        return self.cube_cores * self.clock_ghz * 1e9 * CUBE_OPERATIONS


def find_chip(name: str) -> Chip:
    """Return the chip of this name: `910B3`, `Ascend910B3`, `ascend 910b3`. Raises WorkbookError with the list."""
    chips, names = _read_chips()
    chip = names.get(_fold(name))
    if chip is None:
        raise WorkbookError("estimates.unknown_chip", name=name, chips=[known.name for known in chips])
    return chip


def known_chips() -> tuple[Chip, ...]:
    """Return the chips that have figures."""
    return _read_chips()[0]


@cache
def _read_chips() -> tuple[tuple[Chip, ...], dict[str, Chip]]:
    chips, names = [], {}
    for record in json.loads(CHIPS.read_text(encoding="utf-8"))["chips"]:
        chip = Chip(**{key: value for key, value in record.items() if key != "aliases"})
        chips.append(chip)
        names.update({_fold(name): chip for name in (chip.name, *record["aliases"])})
    return tuple(chips), names


def _fold(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower()).removeprefix("ascend")
