"""The device's profiler as it was asked for: in a script's own process, in which this rides, or around a loop.
Imports nothing of the workbook.

Configuration (collecting/options.py, for_child): accelerator (npu | cuda | cpu), folder, wait, warmup, steps,
`what` and `npu` as the profilers name them, ranks (None: all), `lines` (line_sampler.py), limit_mib, `more_steps` that
go by behind the recording, where they are quick. A profiled step runs from one optimizer update to the next."""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import shutil
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from torch.optim import Optimizer

if TYPE_CHECKING:
    import torch


def _load_beside(name: str) -> ModuleType:
    """Load a file that lies beside this one, with those that it needs, under a name that no script uses: the script's
    process knows nothing of the workbook."""
    package = "_workbook_profiling"
    if package not in sys.modules:
        sys.modules[package] = ModuleType(package)
        sys.modules[package].__path__ = [str(Path(__file__).parent)]
    return importlib.import_module(f"{package}.{name}")


line_sampler = _load_beside("line_sampler")


def attach(observer: Any, config: dict[str, Any]) -> None:
    """Start before the first forward, when the script has chosen its device; mark a step at each update."""
    if config["ranks"] is not None and observer.rank not in config["ranks"]:
        return
    if config["lines"]:
        line_sampler.note_tools()
    running: list[Recording] = []

    def mark_step() -> None:
        if running:  # nothing where no module was called
            running[0].step()

    marks = Marks(mark_step)
    total = config["wait"] + config["warmup"] + config["steps"]

    def start_profiler(model: torch.nn.Module) -> None:
        estimate = room(model, config, observer.rank, observer.world_size)
        if estimate["refused"]:
            raise RuntimeError("the recording would need {needed_mib} MiB of {limit_mib} MiB".format(**estimate))
        profiler = make(config, observer.rank)
        profiler.start()
        running.append(profiler)

    def stop_profiler(status: str) -> None:
        if running:
            running[0].stop()

    def end_step(step: dict[str, Any]) -> None:
        if running and step["step"] == total == observer.limit and running[0].is_quick:
            observer.limit = total + config["more_steps"]
        marks.request_mark()

    observer.on_model(start_profiler)
    observer.on_step(end_step)
    observer.on_end(stop_profiler)


class Marks:
    """Marks a step when the update that ends it is over. torch.optim makes an event of each update, and the observer is
    called inside it (Optimizer.profile_hook_step, torch/optim/optimizer.py). torch_npu's parser finds only marks that
    begin inside no other event (get_step_range,
    torch_npu/profiler/analysis/prof_parse/_fwk_cann_relation_parser.py)."""

    def __init__(self, mark: Callable[[], None]) -> None:
        self._mark = mark
        self._inside = 0
        self._due = 0
        make: Callable[[Callable[..., object]], Callable[..., object]] = Optimizer.profile_hook_step
        Optimizer.profile_hook_step = staticmethod(lambda update: self._wrap_update(make(update)))

    def request_mark(self) -> None:
        """Mark the step now, or inside an update when that is over: one update may end two, as where it is seen that
        the first of two optimizers comes round again."""
        if self._inside:
            self._due += 1
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
                while self._due and not self._inside:
                    self._due -= 1
                    self._mark()

        return run_update


#: Events a step by what a model has, as training steps of the bundled scripts were counted, and bytes an event
PER_LEAF, PER_PARAMETER, BYTES, BYTES_STACK = 60, 12, 600, 1200
#: torch_npu's parser takes about so many times the raw data, in memory and on the disk
PARSING = 20
RESERVE_MIB = 512
#: Steps go on behind the recording where one takes so long at most
QUICK_NS = 300_000_000
MIB = 1 << 20


class Recording:
    """The device's profiler, and beside it, while steps are recorded, the lines that the host is at."""

    def __init__(self, profiler: torch.profiler.profile, config: dict[str, Any], rank: int) -> None:
        self._profiler = profiler
        self._lines = Path(config["folder"], f"rank{rank}.lines.json") if config["lines"] else None
        self._begin = config["wait"] + config["warmup"]
        self._end = self._begin + config["steps"]
        self._wait = config["wait"]
        self._steps = 0
        self._sampler: Any = None
        self._stopped: Any = None
        self._calm: list[tuple[int, int]] = []
        self._begun: Usage | None = None

    @property
    def complete(self) -> bool:
        """Return whether all steps that were asked for are recorded and written."""
        return bool(self._steps >= self._end)

    @property
    def is_quick(self) -> bool:
        """Return whether steps that are not recorded take so little that some more are."""
        return self._lines is not None and 0 < max((took for took, _ in self._calm), default=0) < QUICK_NS

    def start(self) -> None:
        """Start before the first step."""
        self._profiler.start()
        self._sample()

    def step(self) -> None:
        """End a step; of those before the profiler begins, and behind the one in whose wake it has ended, note how long
        they take, and wait for a core of that."""
        ended = read_usage()
        self._steps += 1
        if self._begun and (self._steps <= self._wait or self._steps > self._end + 1):
            self._calm.append((ended.at_ns - self._begun.at_ns, find_waited(self._begun, ended)))
        if self._steps == self._end:  # before the profiler writes what it has
            self._stop_sampling()
        if self._steps <= self._end:
            self._profiler.step()
        self._sample()
        self._begun = read_usage()

    def stop(self) -> None:
        """End the recording where not all steps came: what there is is written; else say what was told behind it."""
        if not self.complete:
            self._stop_sampling()
            self._profiler.stop()
        elif self._stopped is not None and self._lines is not None:
            self._stopped.write_samples(self._lines, self._calm)

    def _sample(self) -> None:
        if self._lines is not None and self._sampler is None and self._begin <= self._steps < self._end:
            self._sampler = line_sampler.LineSampler()
            self._sampler.start()

    def _stop_sampling(self) -> None:
        if self._sampler is not None and self._lines is not None:
            self._sampler.stop()
            self._sampler.write_samples(self._lines, self._calm)
            line_sampler.forget_tools()
            self._stopped, self._sampler = self._sampler, None


class Usage(NamedTuple):
    """When it was read; how long the thread had run and waited for a core until then, and each other of its process, by
    its number. Nanoseconds."""

    at_ns: int
    ran_ns: int
    waited_ns: int
    others: dict[str, tuple[int, int]]


def read_usage() -> Usage:
    """Read how this process's threads have run so far; what the system does not tell is 0."""
    others = {}
    with contextlib.suppress(OSError):
        for task in Path("/proc/self/task").iterdir():
            with contextlib.suppress(OSError, ValueError):  # a thread may end meanwhile
                ran, waited = (task / "schedstat").read_text().split()[:2]
                others[task.name] = int(ran), int(waited)
    _, own = others.pop(str(threading.get_native_id()), (0, 0))
    return Usage(time.time_ns(), time.thread_time_ns(), own, others)


def find_waited(begun: Usage, ended: Usage) -> int:
    """Return how long the thread could have gone on and did not, for it or the one that it rests for waited for a core:
    of the others that is the one that ran the longest."""
    own = ended.waited_ns - begun.waited_ns
    rested = max(0, ended.at_ns - begun.at_ns - (ended.ran_ns - begun.ran_ns) - own)
    others = [
        tuple(after - before for after, before in zip(usage, begun.others.get(thread, usage)))
        for thread, usage in ended.others.items()
    ]
    ran, waited = max(others, default=(0, 0))
    return own + min(max(0, rested - ran), waited)


def make(config: dict[str, Any], rank: int) -> Recording:
    """Make the recording, not yet started; its `step()` ends a step."""
    make_profiler = _make_npu_profiler if config["accelerator"] == "npu" else _make_torch_profiler
    return Recording(make_profiler(config, rank), config, rank)


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
