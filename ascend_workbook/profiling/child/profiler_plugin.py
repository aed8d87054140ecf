"""Rides in the training process: profiles steps with the profiler of the device. Imports nothing of the workbook.

Configuration: recorder.py's. A profiled step runs from one optimizer update to the next.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from torch.optim import Optimizer

if TYPE_CHECKING:
    import torch


def _load_sibling(name: str) -> ModuleType:
    """Load the module of this name beside this file."""
    path = Path(__file__).with_name(f"{name}.py")
    spec = importlib.util.spec_from_file_location(f"_workbook_{name}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


recorder = _load_sibling("recorder")


def attach(observer: Any, config: dict[str, Any]) -> None:
    """Start before the first forward, when the script has chosen its device; mark a step at each update."""
    if config["ranks"] is not None and observer.rank not in config["ranks"]:
        return
    running: list[torch.profiler.profile] = []
    marks = Marks(lambda: running[0].step())

    def start_profiler(model: torch.nn.Module) -> None:
        estimate = recorder.room(model, config, observer.rank, observer.world_size)
        if estimate["refused"]:
            raise RuntimeError("the recording would need {needed_mib} MiB of {limit_mib} MiB".format(**estimate))
        profiler = recorder.make(config, observer.rank)
        profiler.start()
        running.append(profiler)

    def stop_profiler(status: str) -> None:
        # a script that ended before all steps were recorded: what there is is written here
        if running and observer.steps_done < config["wait"] + config["warmup"] + config["steps"]:
            running[0].stop()

    observer.on_model(start_profiler)
    observer.on_step(lambda step: marks.request_mark())
    observer.on_end(stop_profiler)


class Marks:
    """Marks a step when the update that ends it is over.

    torch.optim makes an event of each update, and the observer is called inside it (Optimizer.profile_hook_step,
    torch/optim/optimizer.py). torch_npu's parser finds only marks that begin inside no other event (get_step_range,
    torch_npu/profiler/analysis/prof_parse/_fwk_cann_relation_parser.py).
    """

    def __init__(self, mark: Callable[[], None]) -> None:
        self._mark = mark
        self._inside = 0
        self._due = False
        make: Callable[[Callable[..., object]], Callable[..., object]] = Optimizer.profile_hook_step
        Optimizer.profile_hook_step = staticmethod(lambda update: self._wrap_update(make(update)))

    def request_mark(self) -> None:
        """Mark the step now, or inside an update when that is over."""
        if self._inside:
            self._due = True
        else:
            self._mark()

    def _wrap_update(self, update: Callable[..., object]) -> Callable[..., object]:
        """Wrap an update so that a mark requested inside it comes behind it."""

        @functools.wraps(update)
        def run_update(*args: object, **kwargs: object) -> object:
            self._inside += 1
            try:
                return update(*args, **kwargs)
            finally:
                self._inside -= 1
                if self._due and not self._inside:
                    self._due = False
                    self._mark()

        return run_update
