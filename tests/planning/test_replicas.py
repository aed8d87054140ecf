"""The replica of a stage, against what torch_npu's allocator held on real cards, and by hand."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from ascend_workbook.estimates.chips import find_chip
from ascend_workbook.planning import replicas
from ascend_workbook.planning.strategy.choice import DEEPSPEED, FULL, Setting, Strategy
from ascend_workbook.planning.strategy.reading import read_model

MIB = 1 << 20


def make_setting(model: str, cards: int, batch: int, **changes: object) -> Setting:
    dimensions, _ = read_model(model)
    dimensions = replace(dimensions, **changes)  # type: ignore[arg-type]
    return Setting(dimensions, cards, 1, find_chip("910B3"), 64 * 2.0**30, batch, 4096)


#: The training of the public profile: pipeline of two, two replicas, distributed optimizer, micro batches of one.
QWEN = Strategy(pipeline=2, data=2, zero=1)


def read_reserved(profile: Path) -> float:
    """Return the most MiB that PyTorch reserved, of memory_record.csv."""
    with (profile / "ASCEND_PROFILER_OUTPUT" / "memory_record.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["Component"].startswith("PTA")]
    return max(float(row["Total Reserved(MB)"]) for row in rows)


@pytest.mark.parametrize(("stage", "rank"), [(0, 0), (1, 2)])
def test_a_stage_takes_what_it_took_on_a_card(
    shared: Path, simulator_env: dict[str, str], stage: int, rank: int
) -> None:
    """Two stages of Qwen3-0.6B on 910B cards, the one with the head too: within 1 % (the bar is 3 %)."""
    real = read_reserved(shared / "data" / "npu" / "pp2dp2_level2" / f"rank_{rank}_ascend_pt")
    peak = replicas.rehearse_stage(make_setting("qwen3-0.6b", 4, 8), QWEN, stage)
    assert peak is not None and peak / MIB == pytest.approx(real, rel=0.01)


def test_recomputing_takes_less(simulator_env: dict[str, str]) -> None:
    setting = make_setting("qwen3-0.6b", 4, 8, layers=4)
    whole = Strategy(pipeline=2, data=2, zero=1)
    peaks = replicas.rehearse_strategies(setting, [whole, replace(whole, recompute=FULL)])
    assert peaks[0] is not None and peaks[1] is not None and peaks[1] < peaks[0]


def test_a_card_of_a_stage_by_hand() -> None:
    setting = make_setting("llama-7b", 16, 64)
    strategy = Strategy(tensor=2, pipeline=4, data=2, zero=1)
    spec = replicas.describe_stage(setting, strategy, 0)
    assert (spec["layers"], spec["alive"], spec["first"], spec["last"]) == (8, 4, True, False)
    assert replicas.describe_stage(setting, strategy, 3)["alive"] == 1
    assert replicas.describe_stage(setting, replace(strategy, chunks=2), 0)["alive"] == (4 - 1) * 2 + 4 + 1
    json.dumps(spec)


def test_what_has_no_replica_is_not_rehearsed() -> None:
    setting = make_setting("llama-7b", 8, 64)
    assert replicas.can_rehearse(setting, Strategy(data=8, zero=1))
    assert not replicas.can_rehearse(setting, Strategy(data=8, zero=2, framework=DEEPSPEED))
    assert not replicas.can_rehearse(setting, Strategy(tensor=3))
    assert not replicas.can_rehearse(make_setting("llama-7b", 8, 64, experts=8), Strategy(data=8))
    assert replicas.rehearse_strategies(setting, [Strategy(data=8, zero=2, framework=DEEPSPEED)]) == [None]


def test_a_replica_that_fails_gives_no_number(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "replica.py"
    broken.write_text("raise SystemExit(1)")
    monkeypatch.setattr(replicas, "REPLICA", broken)
    monkeypatch.setattr(replicas.devices, "child_environment", lambda tier: {})
    assert replicas.rehearse_stage(make_setting("llama-7b", 8, 64), Strategy(data=8), 0) is None
