"""Configurations that are published as running must not be called too large; with less memory spared many would be.

A launch line that leaves a dimension to another file is no witness: its parameters differ by more than a third from the
number in its name.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.estimates.chips import find_chip
from ascend_workbook.planning.card import GIB
from ascend_workbook.planning.strategy.choice import FULL, NONE, Setting, Strategy, strategy_of_arguments
from ascend_workbook.planning.strategy.memory import estimate_memory
from ascend_workbook.planning.strategy.shell import read_launch
from tests.conftest import ROOT

ROWS: list[dict[str, Any]] = json.loads((ROOT / "tests/data/planning/published.json").read_text())["rows"]
NAMED = re.compile(r"_(\d+(?:(?:point|p|\.)\d+)?)b(?:_|\b)")


def read_row(row: dict[str, Any]) -> tuple[Setting, Strategy] | None:
    """Return the setting and strategy of a published configuration; None of one that leaves a dimension out."""
    words = [f"--{name} {value}".strip() for name, value in row["arguments"].items() if name[0].islower()]
    text = " ".join(words)
    variables = "\n".join(f"{name}={value}" for name, value in row["arguments"].items() if name[0].isupper())
    model, stated = read_launch(Path(row["file"]), f"{variables}\ntorchrun pretrain.py {text}\n")
    named = NAMED.search(row["file"].lower())
    billions = float(re.sub("point|p", ".", named.group(1))) if named else model.parameters / 1e9
    if not 0.65 < model.parameters / 1e9 / billions < 1.35:
        return None
    found = strategy_of_arguments(stated.arguments, 8)
    assert found is not None
    strategy, cards = found
    batch, sequence = (int(stated.number(name) or 0) for name in ("global_batch", "sequence"))
    setting = Setting(model, cards, max(1, cards // 8), find_chip("910B3"), 64 * GIB, batch or cards, sequence or 4096)
    return setting, strategy


def spare_less(strategy: Strategy) -> Iterator[Strategy]:
    """Yield the strategies that spare memory one step less."""
    if strategy.recompute != NONE:
        yield replace(strategy, recompute=NONE)
    if strategy.zero and strategy.data > 1:
        yield replace(strategy, zero=0)
    if strategy.tensor > 1:
        yield replace(strategy, tensor=strategy.tensor // 2, data=strategy.data * 2, expert_tensor=1)
    if strategy.pipeline > 1:
        yield replace(strategy, pipeline=strategy.pipeline // 2, data=strategy.data * 2, stage_layers=())
    yield replace(strategy, micro=strategy.micro * 2)


def judge_half(half: str) -> tuple[Counter[str], Counter[str]]:
    """Count the verdicts of a half, and of what spares one step less."""
    verdicts: Counter[str] = Counter()
    less: Counter[str] = Counter()
    for row in ROWS:
        pair = read_row(row) if row["half"] == half else None
        if pair is None:
            continue
        setting, strategy = pair
        verdicts[estimate_memory(setting, strategy).judge(64 * GIB)] += 1
        others = {estimate_memory(setting, other).judge(64 * GIB) for other in spare_less(strategy)}
        less["none" if others == {"fits"} else "not" if "not" in others else "unsure"] += 1
    return verdicts, less


def test_the_halves_are_whole() -> None:
    assert Counter(row["half"] for row in ROWS) == {"working": 44, "held": 44}
    assert len({row["file"] for row in ROWS}) == 88


@pytest.mark.parametrize("half, judged", [("working", 42), ("held", 41)])
def test_what_runs_is_not_called_too_large(half: str, judged: int) -> None:
    verdicts, less = judge_half(half)
    assert sum(verdicts.values()) == judged and not verdicts["not"]
    assert verdicts["fits"] > 0.6 * judged
    assert less["not"] + less["unsure"] > 0.75 * judged and less["not"] > 0.4 * judged


def test_no_script_recomputes_what_it_cannot() -> None:
    full = [row for row in ROWS if row["arguments"].get("recompute-granularity") == FULL]
    assert len(full) > 20 and all(row["arguments"].get("recompute-method") in ("uniform", "block") for row in full)
