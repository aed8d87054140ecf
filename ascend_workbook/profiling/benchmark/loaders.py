"""A DataLoader by itself: how fast it makes batches with other workers, pinning and prefetching."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from typing import Any

from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.profiling.benchmark import configurations
from ascend_workbook.profiling.benchmark.facts import FAILED, LEAST_STEPS, Measured

#: What a DataLoader made anew takes over from the one that was given
KEPT = ("batch_sampler", "collate_fn", "worker_init_fn", "multiprocessing_context", "generator", "timeout")
OF_WORKERS = ("multiprocessing_context", "timeout")


def is_loader(target: Any) -> bool:
    """Return whether the target is a DataLoader."""
    from torch.utils.data import DataLoader

    return isinstance(target, DataLoader)


def measure_loader(
    target: Any, loader: Sequence[str], steps: int, warmup: int
) -> tuple[tuple[Measured, ...], tuple[str, ...]]:
    """Measure the loader in every combination: a row for each, and the names of what was varied."""
    axes = configurations.parse_axes((), loader)
    rows = [
        _measure_configuration(target, configuration, steps, warmup)
        for configuration in configurations.combine_axes(axes)
    ]
    return tuple(rows), tuple(axis.name for axis in axes)


def _measure_configuration(
    target: Any, configuration: configurations.Configuration, steps: int, warmup: int
) -> Measured:
    """Time the batches of the loader with one configuration's settings."""
    batches = iter(_copy_loader(target, configuration.loader))
    times, samples = [], 0
    start = time.perf_counter()
    for batch in itertools.islice(batches, warmup + steps):
        now = time.perf_counter()
        times.append(now - start)
        samples = samples or _count_samples(batch)
        start = time.perf_counter()
    steady = tuple(times[warmup:])
    if len(steady) < LEAST_STEPS:
        few_steps = Sentence("benchmark.few_steps", done=len(times), wanted=warmup + LEAST_STEPS)
        return Measured(configuration.name or "-", configuration.settings, FAILED, few_steps)
    return Measured(configuration.name or "-", configuration.settings, runs_s=(steady,), samples=samples or None)


def _copy_loader(target: Any, settings: dict[str, Any]) -> Any:
    """Make the same loader with these settings; prefetching goes with workers only."""
    workers = settings.get("num_workers", target.num_workers)
    arguments = {name: getattr(target, name) for name in KEPT if workers or name not in OF_WORKERS}
    if target.batch_sampler is None:  # batches that the dataset makes itself
        arguments |= {"batch_size": target.batch_size, "sampler": target.sampler}
        del arguments["batch_sampler"]
    arguments |= {"num_workers": workers, "pin_memory": settings.get("pin_memory", target.pin_memory)}
    if workers:
        arguments["prefetch_factor"] = settings.get("prefetch_factor", target.prefetch_factor or 2)
    return type(target)(target.dataset, **arguments)


def _count_samples(batch: Any) -> int:
    """Count the rows of the batch's first tensor."""
    if hasattr(batch, "shape"):
        return int(batch.shape[0]) if len(batch.shape) else 0
    inner = batch.values() if isinstance(batch, dict) else batch if isinstance(batch, (list, tuple)) else ()
    return next((count for count in map(_count_samples, inner) if count), 0)
