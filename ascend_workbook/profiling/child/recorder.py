"""The device's profiler as it was asked for: in a script's own process, or around a loop. Imports nothing of ours.

Configuration (collecting/options.py, for_child): accelerator (npu | cuda | cpu), folder, wait, warmup, steps,
`what` and `npu` as the profilers name them, ranks (None: all), limit_mib.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

#: Events a step by what a model has, as training steps of the bundled scripts were counted, and bytes an event
PER_LEAF, PER_PARAMETER, BYTES, BYTES_STACK = 60, 12, 600, 1200
#: torch_npu's parser takes about so many times the raw data, in memory and on the disk
PARSING = 20
RESERVE_MIB = 512
MIB = 1 << 20


def make(config: dict[str, Any], rank: int) -> torch.profiler.profile:
    """Make the profiler, not yet started; its `step()` ends a step."""
    return (_make_npu_profiler if config["accelerator"] == "npu" else _make_torch_profiler)(config, rank)


def room(model: torch.nn.Module, config: dict[str, Any], rank: int, ranks: int) -> dict[str, float]:
    """Estimate what the recording of all ranks will need, by the size of the model, and what there is, in MiB. An
    estimate: operators outside of modules are not seen."""
    leaves = sum(1 for module in model.modules() if not any(True for _ in module.children()))
    parameters = sum(1 for _ in model.parameters())
    events = (PER_LEAF * leaves + PER_PARAMETER * parameters) * (config["steps"] + config["warmup"])
    event_bytes = BYTES_STACK if config["what"]["with_stack"] else BYTES
    factor = PARSING if config["accelerator"] == "npu" else 1
    many = ranks if config["ranks"] is None else len(config["ranks"])
    needed = events * event_bytes * factor * many / MIB
    free = shutil.disk_usage(config["folder"]).free / MIB
    limit = max(0.0, free - RESERVE_MIB) if config["limit_mib"] is None else min(config["limit_mib"], free)
    estimate = {"needed_mib": round(needed, 1), "free_mib": round(free), "limit_mib": round(limit, 1)}
    estimate["refused"] = needed > limit
    Path(config["folder"], f"rank{rank}.room.json").write_text(json.dumps(estimate), encoding="utf-8")
    return estimate


def _make_torch_profiler(config: dict[str, Any], rank: int) -> torch.profiler.profile:
    """torch.profiler, for CUDA and the CPU; one Chrome trace a rank. FLOPs are in no trace: they lie beside it."""
    from torch import profiler

    activities = [profiler.ProfilerActivity.CPU]
    if config["accelerator"] == "cuda":
        activities.append(profiler.ProfilerActivity.CUDA)
    folder = Path(config["folder"])

    def export_trace(done: torch.profiler.profile) -> None:
        done.export_chrome_trace(str(folder / f"rank{rank}.pt.trace.json"))
        if config["what"]["with_flops"]:
            flops = {event.key: event.flops for event in done.key_averages() if event.flops}
            content = {"steps": config["steps"], "flops": flops}
            (folder / f"rank{rank}.flops.json").write_text(json.dumps(content), encoding="utf-8")

    schedule = profiler.schedule(wait=config["wait"], warmup=config["warmup"], active=config["steps"], repeat=1)
    return profiler.profile(activities=activities, schedule=schedule, on_trace_ready=export_trace, **config["what"])


def drop_unset(asked: dict[str, Any]) -> dict[str, Any]:
    """Drop what asks for nothing (0 is something): older torch_npu do not know all names."""
    nothing = {"data_simplification": True, "gc_detect_threshold": None}
    return {name: value for name, value in asked.items() if value is not nothing.get(name, False)}


def _make_npu_profiler(config: dict[str, Any], rank: int) -> torch.profiler.profile:
    """Make torch_npu.profiler; it writes one `*_ascend_pt` folder a rank."""
    from torch_npu import profiler

    asked = drop_unset(config["npu"])
    asked["profiler_level"] = getattr(profiler.ProfilerLevel, asked["profiler_level"])
    asked["aic_metrics"] = getattr(profiler.AiCMetrics, asked["aic_metrics"])
    asked["export_type"] = [getattr(profiler.ExportType, export_type) for export_type in asked["export_type"]]
    return profiler.profile(
        activities=[profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.NPU],
        schedule=profiler.schedule(wait=config["wait"], warmup=config["warmup"], active=config["steps"], repeat=1),
        on_trace_ready=profiler.tensorboard_trace_handler(config["folder"], worker_name=f"rank{rank}"),
        experimental_config=profiler._ExperimentalConfig(**asked),
        **config["what"],
    )
