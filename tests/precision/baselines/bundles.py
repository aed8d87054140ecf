"""Bundles made by hand, of a small capture's files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ascend_workbook.precision.baselines.bundle import Bundle, list_files, write_bundle
from ascend_workbook.precision.baselines.packing import pack_capture
from tests.precision.dumps import as_capture
from tests.precision.networks import convolutions

SIDE = {"weights": {"w": "float32[2]:0123456789abcdef"}, "batches": {"0": ["float32[4]:0123456789abcdef"]}}


def capture_of(folder: Path, *, losses: tuple[float, ...] = (2.0, 1.5), tier: str = "cuda", **options: Any) -> Path:
    """A complete capture of statistics with its run log; `options` as convolutions takes them, and of its `about`."""
    options.setdefault("side", SIDE)
    about = {name: options.pop(name) for name in ("args", "seed", "device", "side", "root") if name in options}
    convolutions(folder / "dump", **{"task": "statistics", **options})
    as_capture(folder, task=options.get("task", "statistics"), tier=tier, **{"device": "NVIDIA H200", **about})
    log(folder, losses, tier)
    return folder


def log(folder: Path, losses: tuple[float, ...], tier: str = "cuda") -> None:
    steps = [
        {"step": at, "loss": loss, "lr": 0.1, "grad_norm": 1.0, "micro_batches": 1, "time_s": 0.1}
        for at, loss in enumerate(losses, 1)
    ]
    meta = {"argv": ["/home/wanglei/secret-project/train.py"], "cwd": "/home/wanglei", "pid": 7, "tier": tier}
    content = {
        "schema": "ascend-workbook/gpulog/1",
        "status": "stopped_after",
        "meta": meta,
        "steps": steps,
        "skipped_steps": 0,
        "notes": [],
        "error": None,
    }
    (folder / "gpulog.json").write_text(json.dumps(content), encoding="utf-8")


def bundle_of(capture: Path, out: Path, **told: Any) -> Path:
    """The capture's files as a bundle."""
    files = pack_capture(capture)
    hardware = {"tier": "cuda", "name": "NVIDIA H200", "count": 1}
    facts = {
        "recorded": "2026-11-01",
        "hardware": hardware,
        "run": {"steps": 1},
        "statistics": True,
        "throughput": None,
        **told,
    }
    write_bundle(out, Bundle(**{**facts, "files": list_files(files)}), files)
    return out
