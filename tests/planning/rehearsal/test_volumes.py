"""What a rehearsal says is sent between cards, against public profiles of 910B cards: within half a percent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.migration.dry_run.original import prepare_training
from ascend_workbook.planning.rehearsal.runs import make_rehearsal
from ascend_workbook.planning.rehearsal.settings import make_cluster
from ascend_workbook.planning.strategy.choice import Strategy
from ascend_workbook.planning.strategy.memory import count_held
from ascend_workbook.planning.strategy.reading import known_models

ALEXNET = Path(__file__).parent / "children" / "alexnet.py"
MB = 1e6


def read_sent(profile: Path, kind: str) -> dict[str, float]:
    """Return the MB that a rank sent over its links in each exchange of a kind, in the profile's order."""
    path = profile / "ASCEND_PROFILER_OUTPUT" / "communication.json"
    (step,) = json.loads(path.read_text(encoding="utf-8")).values()
    exchanges: dict[str, Any] = step["collective"]
    sent = {
        name: exchange["Communication Bandwidth Info"].get("HCCS", {}).get("Transit Size(MB)", 0.0)
        for name, exchange in exchanges.items()
        if kind in name
    }
    return {name: size for name, size in sent.items() if size > 0.01}


def test_gradients_of_a_real_training(shared: Path, simulator_env: dict[str, str], tmp_path: Path) -> None:
    """Each bucket of DistributedDataParallel on rank 0 of 8, which runs alone."""
    real = read_sent(shared / "data" / "npu" / "alexnet_910b_level1" / "rank0_ascend_pt", "allReduce")
    cluster = make_cluster("910B3", 8, None, None)
    run = make_rehearsal(prepare_training(str(ALEXNET), [], 1), tmp_path, cluster, 2, seed=1).run_rank(0)
    assert run.result.ok and run.work is not None
    sent = [each.sent / MB for each in run.work.collectives if "allreduce" in each.name.lower()]
    assert [size for size in sent if size > 0.01] == pytest.approx(list(real.values()), rel=0.005)


def test_shards_of_a_real_pipeline(shared: Path) -> None:
    """Qwen3-0.6B, two stages on two replicas: the first stage's float32 gradients scattered, bfloat16 weights gathered,
    and the embedding that both ends have, summed."""
    profile = shared / "data" / "npu" / "pp2dp2_level2" / "rank_0_ascend_pt"
    model, strategy = known_models()["qwen3-0.6b"], Strategy(pipeline=2, data=2, zero=1)
    held = count_held(model, strategy, 0).all
    half = 1 / strategy.replicas
    assert sum(read_sent(profile, "reduceScatter").values()) == pytest.approx(4 * held * half / MB, rel=0.005)
    assert sum(read_sent(profile, "allGather").values()) == pytest.approx(2 * held * half / MB, rel=0.005)
    assert sum(read_sent(profile, "allReduce").values()) == pytest.approx(
        4 * model.embedding_parameters / MB, rel=0.005
    )
