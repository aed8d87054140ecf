"""Holds the planner's times against throughput that Ascend publishes for pre-training.

    python -m tools.estimates.published                          # 910B1 and 910B3, 64 and 512 sequences a step
    python -m tools.estimates.published --chip 910B3 --batch 64

Strategies, batches and chips of the published runs are not told, so this asks what the planner's fastest strategy would
reach: at least 19 of the 21 rows have to lie within a factor of 1.5."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from ascend_workbook.estimates.basis import load_basis
from ascend_workbook.estimates.chips import find_chip
from ascend_workbook.estimates.ranges import Range
from ascend_workbook.planning.card import GIB
from ascend_workbook.planning.strategy.choice import Setting
from ascend_workbook.planning.strategy.model import Model
from ascend_workbook.planning.strategy.ranking import rank_strategies

ROWS = Path(__file__).with_name("published.json")
CARDS, MEMORY = 8, 64 * GIB
#: From this length on a step has fewer sequences, an eighth of them.
LONG = 8192
FACTOR, ENOUGH = 1.5, 19
DIMENSIONS = ("hidden", "layers", "heads", "kv_heads", "head_dim", "feed_forward", "vocabulary")


@dataclass(frozen=True)
class Compared:
    """A published row and what the planner says: tokens a second and card."""

    name: str
    published: float
    estimate: Range
    strategy: str

    @property
    def ratio(self) -> float:
        return self.estimate.middle / self.published

    @property
    def is_near(self) -> bool:
        return 1 / FACTOR <= self.ratio <= FACTOR

    @property
    def is_inside(self) -> bool:
        return self.estimate.low <= self.published <= self.estimate.high


def compare_row(row: Mapping[str, Any], chip: str, batch: int) -> Compared | None:
    """Return a row beside the planner's fastest strategy that fits, None where none does."""
    sequence, cards = row["sequence"], row["cards"]
    sizes = {name: row[name] for name in DIMENSIONS}
    model = Model(row["model"], **sizes, tied=row.get("tied", False), source=str(ROWS))
    sequences = max(cards, batch if sequence <= LONG else batch // 8)
    setting = Setting(model, cards, max(1, cards // CARDS), find_chip(chip), MEMORY, sequences, sequence)
    fitting = rank_strategies(setting, load_basis()).fitting
    if not fitting:
        return None
    fastest = min(fitting, key=lambda judged: judged.step.total.middle)
    whole, step = setting.tokens / cards, fastest.step.total
    estimate = Range(whole / step.high, whole / step.middle, whole / step.low)
    name = f"{row['model']} {sequence // 1024}K"
    return Compared(name, row["tokens_per_second_per_card"], estimate, str(fastest.strategy.degrees))


def judge_rows(chip: str, batch: int) -> bool:
    """Print every row; return whether enough lie within the factor."""
    rows = json.loads(ROWS.read_text(encoding="utf-8"))["rows"]
    compared = [row for row in (compare_row(row, chip, batch) for row in rows) if row is not None]
    print(f"{chip}, {batch} sequences a step, tokens a second and card:")
    for row in compared:
        figures = f"{row.estimate.middle:6.0f} ({row.estimate.low:.0f} to {row.estimate.high:.0f})"
        far = "" if row.is_near else "  far"
        print(f"  {row.name:18} published {row.published:6.0f} said {figures:24} {row.ratio:.2f} {row.strategy}{far}")
    near, inside = sum(row.is_near for row in compared), sum(row.is_inside for row in compared)
    ratios = sorted(row.ratio for row in compared)
    print(
        f"  {near} of {len(rows)} within a factor of {FACTOR}, {inside} inside their range; said/published "
        f"{ratios[0]:.2f} to {ratios[-1]:.2f}, median {median(ratios):.2f}"
    )
    return near >= ENOUGH


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 1 where too few rows are near."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--chip", action="append", help="910B1 and 910B3 unless named")
    parser.add_argument("--batch", type=int, action="append", help="sequences a step; 64 and 512 unless named")
    options = parser.parse_args(arguments)
    outcomes = [
        judge_rows(chip, batch) for chip in options.chip or ("910B1", "910B3") for batch in options.batch or (64, 512)
    ]
    return 0 if all(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
