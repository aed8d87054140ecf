"""One card of a training of any model and strategy, made from the dimensions: what a plan rehearses for its memory.

    python replica.py JOBS.json

JOBS is a list of [SPEC, PEAK.json]. A SPEC has a model's dimensions (hidden, layers of this card, heads, kv_heads,
head_dim, feed_forward, vocabulary, tied, gated, rotary, normed_queries, biased_queries; of experts: experts,
chosen_experts, expert_width, shared_width; latent), the strategy (framework, tensor, context, expert, replicas,
expert_replicas, sequence_parallel, recompute, micro, zero, pipeline, chunks; deepspeed: its configuration) and where
the card stands (stage, first, last, micro_batches, sequence). PEAK gets the bytes allocated and reserved.

Each job runs in a child of this process, which has imported PyTorch once and not touched the device. Runs in a process
of its own by path and imports nothing of the workbook but its neighbours here."""

from __future__ import annotations

import json
import os
import sys
import traceback
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
import torch_npu  # noqa: F401


def run_job(spec: dict[str, Any], path: Path) -> None:
    """Train as the spec says and write the peak."""
    if spec["framework"] in ("mindspeed", "megatron"):
        from replica_megatron import train
    else:
        from replica_sharded import train
    train(SimpleNamespace(**spec))
    stats = torch.npu.memory_stats()
    peak = {name: stats[f"{name}_bytes.all.peak"] for name in ("allocated", "reserved")}
    path.write_text(json.dumps(peak), encoding="utf-8")


def main(jobs: Path) -> None:
    """Run one job after another, each in a child; one that fails leaves no peak, and its error."""
    for spec, path in json.loads(jobs.read_text(encoding="utf-8")):
        child = os.fork()
        if child:
            os.waitpid(child, 0)
            continue
        try:
            run_job(spec, Path(path))
        except BaseException:  # noqa: BLE001 - a child must never return into this loop
            traceback.print_exc()
            os._exit(1)
        os._exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
