"""A DataLoader by itself: how fast it makes batches with other workers, pinning and prefetching."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from typing import Any

from helpers.profiling.benchmark import configurations
from helpers.profiling.benchmark.facts import FAILED, LEAST_STEPS, Measured

#: What a DataLoader made anew takes over from the one that was given
KEPT = ("batch_sampler", "collate_fn", "worker_init_fn", "multiprocessing_context", "generator", "timeout")
OF_WORKERS = ("multiprocessing_context", "timeout")


def is_loader(target: Any) -> bool:
    from torch.utils.data import DataLoader

    return isinstance(target, DataLoader)


def measure(
    target: Any, loader: Sequence[str], steps: int, warmup: int
) -> tuple[tuple[Measured, ...], tuple[str, ...]]:
    """A row for every combination, and the names of what was varied."""
    axes = configurations.axes((), loader)
    rows = [_measured(target, one, steps, warmup) for one in configurations.combinations(axes)]
    return tuple(rows), tuple(axis.name for axis in axes)


def _measured(target: Any, one: configurations.Configuration, steps: int, warmup: int) -> Measured:
    batches = iter(_like(target, one.loader))
    times, samples = [], 0
    start = time.perf_counter()
    for batch in itertools.islice(batches, warmup + steps):
        now = time.perf_counter()
        times.append(now - start)
        samples = samples or _samples(batch)
        start = time.perf_counter()
    steady = tuple(times[warmup:])
    if len(steady) < LEAST_STEPS:
        told = {"say": "benchmark.few_steps", "args": {"done": len(times), "wanted": warmup + LEAST_STEPS}}
        return Measured(one.name or "-", one.settings, FAILED, told)
    return Measured(one.name or "-", one.settings, runs_s=(steady,), samples=samples or None)


def _like(target: Any, settings: dict[str, Any]) -> Any:
    """The same loader with these settings; prefetching goes with workers only."""
    workers = settings.get("num_workers", target.num_workers)
    kept = {name: getattr(target, name) for name in KEPT if workers or name not in OF_WORKERS}
    if target.batch_sampler is None:  # batches that the dataset makes itself
        kept |= {"batch_size": target.batch_size, "sampler": target.sampler}
        del kept["batch_sampler"]
    kept |= {"num_workers": workers, "pin_memory": settings.get("pin_memory", target.pin_memory)}
    if workers:
        kept["prefetch_factor"] = settings.get("prefetch_factor", target.prefetch_factor or 2)
    return type(target)(target.dataset, **kept)


def _samples(batch: Any) -> int:
    """Rows of the batch's first tensor."""
    if hasattr(batch, "shape"):
        return int(batch.shape[0]) if len(batch.shape) else 0
    inner = batch.values() if isinstance(batch, dict) else batch if isinstance(batch, (list, tuple)) else ()
    return next((found for found in map(_samples, inner) if found), 0)
