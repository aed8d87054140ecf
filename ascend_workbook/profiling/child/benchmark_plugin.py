"""Rides in the training process: times its steps, counts the samples it loads, and notes the most memory it took.

Configuration: accelerator (npu | cuda | cpu), loader (arguments of every DataLoader that are set otherwise),
autocast (bool: the model's forward under bfloat16), and where they are set memory_fraction (of the device's memory
that the process may take) and gc_threshold (of Python's collector; 0: off). Writes `benchmark.rank<R>.json` when the
run ends. Imports nothing of the workbook."""

from __future__ import annotations

import functools
import gc
import inspect
import json
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter, _SingleProcessDataLoaderIter

MIB = 1 << 20


def attach(observer: Any, config: dict[str, Any]) -> None:
    """Time the steps of the run: a step runs from one update to the next; what the observer itself does in between
    belongs to none."""
    columns: dict[str, list[float]] = {"times_s": [], "loading_s": [], "samples": [], "tokens": []}
    amounts = {"loading_s": 0.0, "samples": 0.0, "tokens": 0.0}
    mark = [0.0]

    def clock() -> float:
        if config["accelerator"] != "cpu":  # the device has then done all that was handed to it
            getattr(torch, config["accelerator"]).synchronize()
        return time.perf_counter()

    def start_timing(model: torch.nn.Module) -> None:
        if "memory_fraction" in config:
            getattr(torch, config["accelerator"]).set_per_process_memory_fraction(config["memory_fraction"])
        if config["autocast"]:
            _under_autocast(model, config["accelerator"])
        mark[0] = clock()

    def record_step(_: object) -> None:
        columns["times_s"].append(clock() - mark[0])
        for name in amounts:
            columns[name].append(amounts[name])
            amounts[name] = 0
        mark[0] = clock()

    def write_result(status: str) -> None:
        unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss: bytes there, KiB on Linux
        host = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / MIB
        device = (
            None
            if config["accelerator"] == "cpu"
            else getattr(torch, config["accelerator"]).max_memory_allocated() / MIB
        )
        content = {"status": status, **columns, "host_peak_mib": host, "device_peak_mib": device}
        path = observer.out / f"benchmark.rank{observer.rank}.json"
        aside = path.with_name(f"{path.name}.part")
        aside.write_text(json.dumps(content), encoding="utf-8")
        aside.replace(path)

    if "gc_threshold" in config:
        gc.set_threshold(config["gc_threshold"], 50, 50)  # a threshold of 0 switches it off
    _watch_loading(amounts)
    if config["loader"]:
        _set_loaders(config["loader"])
    observer.on_model(start_timing)
    observer.on_step(record_step)
    observer.on_end(write_result)


def _watch_loading(amounts: dict[str, float]) -> None:
    """Note how long each batch was waited for, and what was in it. Below `__next__`, which torch_npu replaces anew with
    each loop over a loader (profiler/_add_mstx_patch.py)."""

    def wrap_next(original: Callable[[object], object]) -> Callable[[object], object]:
        @functools.wraps(original)
        def load_next(self: object) -> object:
            start = time.perf_counter()
            batch = original(self)
            amounts["loading_s"] += time.perf_counter() - start
            _count_samples(batch, amounts)
            return batch

        return load_next

    for kind in (_SingleProcessDataLoaderIter, _MultiProcessingDataLoaderIter):
        kind._next_data = wrap_next(kind._next_data)


def _count_samples(batch: object, amounts: dict[str, float]) -> None:
    """Add the batch's samples and tokens to the amounts."""
    first = _first_tensor(batch)
    if first is None or not first.dim():
        return
    amounts["samples"] += first.shape[0]
    amounts["tokens"] += first.numel() if _is_text(batch, first) else 0


def _is_text(batch: object, first: torch.Tensor) -> bool:
    """Return whether these are token numbers of (batch, sequence): named so, or with targets of this shape. Other
    integers may be features."""
    if not _are_numbers(first):
        return False
    if isinstance(batch, dict):
        return batch.get("input_ids") is first
    if not isinstance(batch, (list, tuple)) or len(batch) != 2:
        return False
    targets = batch[1]
    return isinstance(targets, torch.Tensor) and _are_numbers(targets) and targets.shape == first.shape


def _are_numbers(tensor: torch.Tensor) -> bool:
    """Return whether the tensor has integers in two dimensions."""
    return tensor.dim() == 2 and tensor.dtype in (torch.int64, torch.int32, torch.int16, torch.uint8, torch.int8)


def _first_tensor(batch: object) -> torch.Tensor | None:
    """Return the batch's first tensor, None where it has none."""
    if isinstance(batch, torch.Tensor):
        return batch
    if isinstance(batch, dict):
        named = [batch[name] for name in ("input_ids", "inputs") if name in batch]
        batch = named or list(batch.values())
    if isinstance(batch, (list, tuple)):
        return next((tensor for tensor in map(_first_tensor, batch) if tensor is not None), None)
    return None


def _set_loaders(settings: dict[str, object]) -> None:
    """Give every DataLoader that is made these arguments; those that go with workers only are dropped without them."""
    original = DataLoader.__init__
    signature = inspect.signature(original)

    @functools.wraps(original)
    def init_loader(self: DataLoader[object], *args: object, **kwargs: object) -> None:
        bound = signature.bind(self, *args, **kwargs)
        bound.arguments.update(settings)
        if not bound.arguments.get("num_workers"):
            for name in ("prefetch_factor", "persistent_workers", "timeout", "multiprocessing_context"):
                bound.arguments.pop(name, None)
        original(*bound.args, **bound.kwargs)

    DataLoader.__init__ = init_loader


def _under_autocast(model: torch.nn.Module, accelerator: str) -> None:
    """Run the model's forward in bfloat16 where autocast takes it; what it returns is float32 again, for the loss."""
    forward = model.forward

    @functools.wraps(forward)
    def mixed_forward(*args: object, **kwargs: object) -> object:
        with torch.autocast(accelerator, dtype=torch.bfloat16):
            return _widen_value(forward(*args, **kwargs))

    model.forward = mixed_forward


def _widen_value(value: object) -> object:
    """Return the value with every bfloat16 tensor in it as float32."""
    if isinstance(value, torch.Tensor):
        return value.float() if value.dtype == torch.bfloat16 else value
    if isinstance(value, dict):
        for name in list(value):
            value[name] = _widen_value(value[name])
        return value
    if type(value) is list:
        return [_widen_value(item) for item in value]
    return tuple(map(_widen_value, value)) if type(value) is tuple else value
