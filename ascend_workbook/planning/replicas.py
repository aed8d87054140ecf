"""Rehearses strategies of a plan: one card of each fullest stage, as a training in Megatron's style, shapes only.

The training is child/replica.py, made from the model's dimensions. Held against two stages of a real pipeline training
(tests/planning/test_replicas.py): within half a percent of what torch_npu's allocator held on the cards."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ascend_workbook.machine import bounded
from ascend_workbook.machine import device as devices
from ascend_workbook.planning.strategy.choice import Savings, Setting, Strategy
from ascend_workbook.planning.strategy.memory import count_alive, layers_of_stage

REPLICA = Path(__file__).parent / "child" / "replica.py"
#: Seconds that one card may take, and the MiB of a card without a limit.
TIMEOUT_S, UNLIMITED_MIB = 180.0, 1 << 24
ALLOCATOR = "expandable_segments:True"


def can_rehearse(setting: Setting, strategy: Strategy) -> bool:
    """Return whether there is a replica of it: of equal dense layers that divide, in Megatron's way."""
    model = setting.model
    dense = not model.experts and model.latent is None
    divides = not any(size % strategy.tensor for size in (model.heads, model.feed_forward))
    return strategy.megatron and dense and divides and strategy.savings == Savings()


def describe_stage(setting: Setting, strategy: Strategy, stage: int) -> dict[str, object]:
    """Describe one card of a stage as the replica takes it."""
    model = setting.model
    micro_batches = strategy.micro_batches(setting)
    alive = round(count_alive(strategy, stage, micro_batches) * strategy.chunks)
    layers, _ = layers_of_stage(model, strategy, stage)
    return {
        **{name: getattr(model, name) for name in ("hidden", "heads", "kv_heads", "head_dim", "feed_forward")},
        **{name: getattr(model, name) for name in ("gated", "normed_queries", "biased_queries")},
        **{name: getattr(strategy, name) for name in ("tensor", "context", "replicas", "sequence_parallel")},
        **{name: getattr(strategy, name) for name in ("recompute", "micro", "zero", "chunks")},
        "vocabulary": -(-model.vocabulary // strategy.tensor) * strategy.tensor,
        "layers": -(-layers // strategy.chunks) * strategy.chunks,
        "first": stage == 0,
        "last": stage == strategy.pipeline - 1,
        "alive": max(1, alive),
        "micro_batches": micro_batches,
        "sequence": setting.sequence,
    }


def rehearse_stage(setting: Setting, strategy: Strategy, stage: int, python: str = sys.executable) -> float | None:
    """Return the bytes that PyTorch would reserve on a card of the stage; None where the rehearsal failed.

    Raises WorkbookError where there is no simulated NPU."""
    with tempfile.TemporaryDirectory(prefix="replica-") as name:
        folder = Path(name)
        (folder / "spec.json").write_text(json.dumps(describe_stage(setting, strategy, stage)), encoding="utf-8")
        env = {
            **devices.child_environment("npu-simulated"),
            "ASCEND_WORKBOOK_SIM_SHAPES_ONLY": "1",
            "ASCEND_WORKBOOK_SIM_MEMORY_MIB": str(UNLIMITED_MIB),
            "PYTORCH_NPU_ALLOC_CONF": ALLOCATOR,
            "OMP_NUM_THREADS": "1",
        }
        command = [python, str(REPLICA), str(folder / "spec.json"), str(folder / "peak.json")]
        done = bounded.run_bounded(command, env=env, timeout_s=TIMEOUT_S, cwd=name)
        try:
            peak = json.loads((folder / "peak.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return float(peak["reserved"]) if done.code == 0 else None


def rehearse_strategies(setting: Setting, strategies: Sequence[Strategy]) -> list[float | None]:
    """Return for each strategy the bytes that PyTorch would reserve on its fullest card, None where there is no replica
    of it. The first, second and last stage are rehearsed, as the formula looks at them."""
    jobs = [
        (number, strategy, stage)
        for number, strategy in enumerate(strategies)
        if can_rehearse(setting, strategy)
        for stage in _list_stages(strategy)
    ]
    with ThreadPoolExecutor(max(1, os.cpu_count() or 1)) as pool:
        peaks = list(pool.map(lambda job: rehearse_stage(setting, job[1], job[2]), jobs))
    results: list[float | None] = [None] * len(strategies)
    failed = {job[0] for job, peak in zip(jobs, peaks) if peak is None}
    for (number, _, _), peak in zip(jobs, peaks):
        if peak is not None and number not in failed:
            results[number] = max(peak, results[number] or 0.0)
    return results


def _list_stages(strategy: Strategy) -> Iterator[int]:
    yield from sorted({0, strategy.pipeline - 1})
