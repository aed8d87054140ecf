"""Rides in the training process: profiles steps with the profiler of the device. Imports nothing of the workbook.

Configuration: accelerator (npu | cuda | cpu), folder, warmup, steps, shapes, memory, stack (booleans).
A profiled step runs from one optimizer update to the next.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch.optim import Optimizer


def attach(observer: Any, config: dict[str, Any]) -> None:
    """Starts before the first forward, when the script has chosen its device; marks a step at each update."""
    running: list[Any] = []
    marks = Marks(lambda: running[0].step())

    def begin(model: Any) -> None:
        profiler = (_npu if config["accelerator"] == "npu" else _torch)(config, observer.rank)
        profiler.start()
        running.append(profiler)

    def end(status: str) -> None:
        # a script that ended before all steps were recorded: what there is is written here
        if running and observer.steps_done < config["warmup"] + config["steps"]:
            running[0].stop()

    observer.on_model(begin)
    observer.on_step(lambda step: marks.due())
    observer.on_end(end)


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
        make: Callable[[Callable[..., Any]], Callable[..., Any]] = Optimizer.profile_hook_step
        Optimizer.profile_hook_step = staticmethod(lambda update: self._around(make(update)))

    def due(self) -> None:
        if self._inside:
            self._due = True
        else:
            self._mark()

    def _around(self, update: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(update)
        def step(*args: Any, **kwargs: Any) -> Any:
            self._inside += 1
            try:
                return update(*args, **kwargs)
            finally:
                self._inside -= 1
                if self._due and not self._inside:
                    self._due = False
                    self._mark()

        return step


def _torch(config: dict[str, Any], rank: int) -> Any:
    """torch.profiler, for CUDA and the CPU; one Chrome trace a rank."""
    from torch import profiler

    activities = [profiler.ProfilerActivity.CPU]
    if config["accelerator"] == "cuda":
        activities.append(profiler.ProfilerActivity.CUDA)
    target = Path(config["folder"]) / f"rank{rank}.pt.trace.json"
    return profiler.profile(
        activities=activities,
        schedule=profiler.schedule(wait=0, warmup=config["warmup"], active=config["steps"], repeat=1),
        on_trace_ready=lambda done: done.export_chrome_trace(str(target)),
        **_recorded(config),
    )


def _npu(config: dict[str, Any], rank: int) -> Any:
    """torch_npu.profiler; one `*_ascend_pt` folder a rank.

    Its enums and booleans are checked loosely: a wrong name is a warning and a default. At level 0, the
    default, AI Core metrics are dropped without a word.
    """
    from torch_npu import profiler

    details = profiler._ExperimentalConfig(
        profiler_level=profiler.ProfilerLevel.Level1,
        aic_metrics=profiler.AiCMetrics.PipeUtilization,
        export_type=[profiler.ExportType.Text],
    )
    return profiler.profile(
        activities=[profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.NPU],
        schedule=profiler.schedule(wait=0, warmup=config["warmup"], active=config["steps"], repeat=1),
        on_trace_ready=profiler.tensorboard_trace_handler(config["folder"], worker_name=f"rank{rank}"),
        experimental_config=details,
        **_recorded(config),
    )


def _recorded(config: dict[str, Any]) -> dict[str, bool]:
    return {"record_shapes": config["shapes"], "profile_memory": config["memory"], "with_stack": config["stack"]}
