"""Rehearses strategies of a plan: one card of each fullest stage, shapes only.

The training is child/replica.py, made from the model's dimensions: in Megatron's style, with PyTorch's own fully_shard
or DistributedDataParallel, or with DeepSpeed where it is installed. Held against two stages of a real pipeline training
(tests/planning/test_replicas.py): within half a percent of what torch_npu's allocator held on the cards."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from ascend_workbook.machine import bounded
from ascend_workbook.machine import device as devices
from ascend_workbook.planning.strategy.arguments import write_deepspeed
from ascend_workbook.planning.strategy.choice import DEEPSPEED, Savings, Setting, Strategy
from ascend_workbook.planning.strategy.memory import layers_of_stage, list_stages

REPLICA = Path(__file__).parent / "child" / "replica.py"
#: Seconds that one card may take, and the MiB of a card without a limit.
TIMEOUT_S, UNLIMITED_MIB = 180.0, 1 << 24
ALLOCATOR = "expandable_segments:True"


def can_rehearse(setting: Setting, strategy: Strategy) -> bool:
    """Return whether there is a replica of it: of degrees that divide, without savings that a launch script names."""
    model = setting.model
    widths = [model.heads, *([model.feed_forward] if model.dense_layers or not model.experts else [])]
    widths += [model.shared_width] if model.experts else []
    divides = not any(size % strategy.tensor for size in widths)
    if model.experts:
        divides &= not model.experts % strategy.expert and strategy.expert_tensor == 1
    return divides and strategy.savings == Savings() and not strategy.stage_layers


def describe_stage(setting: Setting, strategy: Strategy, stage: int) -> dict[str, object]:
    """Describe one card of a stage as the replica takes it."""
    model = setting.model
    dense_layers, expert_layers = layers_of_stage(model, strategy, stage)
    return {
        **{name: getattr(model, name) for name in ("hidden", "heads", "kv_heads", "head_dim", "feed_forward")},
        **{name: getattr(model, name) for name in ("tied", "gated", "rotary", "normed_queries", "biased_queries")},
        **{name: getattr(model, name) for name in ("experts", "chosen_experts", "expert_width", "shared_width")},
        **{name: getattr(strategy, name) for name in ("tensor", "context", "expert", "replicas", "expert_replicas")},
        **{name: getattr(strategy, name) for name in ("recompute", "micro", "zero", "pipeline", "chunks")},
        **{name: getattr(strategy, name) for name in ("framework", "sequence_parallel")},
        "latent": asdict(model.latent) if model.latent is not None else None,
        "vocabulary": -(-model.vocabulary // strategy.tensor) * strategy.tensor,
        "dense_layers": dense_layers,
        "expert_layers": expert_layers,
        "stage": stage,
        "first": stage == 0,
        "last": stage == strategy.pipeline - 1,
        "micro_batches": strategy.micro_batches(setting),
        "sequence": setting.sequence,
        "deepspeed": write_deepspeed(setting, strategy) if strategy.framework == DEEPSPEED else None,
    }


def rehearse_stages(jobs: Sequence[tuple[Setting, Strategy, int]], python: str = sys.executable) -> list[float | None]:
    """Return for a card of each stage the bytes that PyTorch would reserve; None where the rehearsal failed.

    Raises WorkbookError where there is no simulated NPU."""
    with tempfile.TemporaryDirectory(prefix="replica-") as name:
        folder = Path(name)
        paths = [folder / f"peak{number}.json" for number in range(len(jobs))]
        specs = [(describe_stage(*job), str(path)) for job, path in zip(jobs, paths)]
        workers = max(1, min(len(jobs), os.cpu_count() or 1))
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(lambda first: _run_jobs(folder, specs[first::workers], first, python), range(workers)))
        return [_read_peak(path) for path in paths]


def _run_jobs(folder: Path, specs: Sequence[object], number: int, python: str) -> None:
    """Run replicas one after another, in children of one process."""
    jobs = folder / f"jobs{number}.json"
    jobs.write_text(json.dumps(specs), encoding="utf-8")
    env = {
        **devices.child_environment("npu-simulated"),
        "ASCEND_WORKBOOK_SIM_SHAPES_ONLY": "1",
        "ASCEND_WORKBOOK_SIM_ALONE": "1",
        "ASCEND_WORKBOOK_SIM_DEVICES": "8",
        "ASCEND_WORKBOOK_SIM_MEMORY_MIB": str(UNLIMITED_MIB),
        "PYTORCH_NPU_ALLOC_CONF": ALLOCATOR,
        "OMP_NUM_THREADS": "1",
    }
    bounded.run_bounded([python, str(REPLICA), str(jobs)], env=env, timeout_s=TIMEOUT_S * len(specs), cwd=str(folder))


def _read_peak(path: Path) -> float | None:
    try:
        return float(json.loads(path.read_text(encoding="utf-8"))["reserved"])
    except (OSError, ValueError):
        return None


def rehearse_strategies(setting: Setting, strategies: Sequence[Strategy]) -> list[float | None]:
    """Return for each strategy the bytes that PyTorch would reserve on its fullest card, None where there is no replica
    of it. The stages are rehearsed that the formula looks at."""
    numbered = [
        (number, stage)
        for number, strategy in enumerate(strategies)
        if can_rehearse(setting, strategy)
        for stage in list_stages(strategy)
    ]
    peaks = rehearse_stages([(setting, strategies[number], stage) for number, stage in numbered])
    results: list[float | None] = [None] * len(strategies)
    failed = {number for (number, _), peak in zip(numbered, peaks) if peak is None}
    for (number, _), peak in zip(numbered, peaks):
        if peak is not None and number not in failed:
            results[number] = max(peak, results[number] or 0.0)
    return results
