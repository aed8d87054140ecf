"""A launch plugin: what torch_npu's allocator did in a rehearsal, for whom, and what the device was asked.

Runs in the user's process by path and imports nothing of the workbook. Writes into the launch's folder

    memory.rank<R>.json   events of the allocator in order, the Python frames behind each, and marks: a mark stands
                          before the next allocation, whose number it has (`at`)
    work.rank<R>          a folder as the simulator's profiler writes it: kernels, copies, collectives of one step

Configuration: record_step (the step whose work is recorded), most_events (of the allocator), write_after_s (None, or
when to write down what there is, as the run is to be ended soon).
"""

from __future__ import annotations

import ctypes
import itertools
import json
import resource
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

#: ACL_PROF_TASK_TIME | ACL_PROF_HCCL_TRACE of acl_prof.h: operands of kernels, and collectives.
DATA_TYPES = 0x2 | 0x20
#: Frames kept of one allocation, from the innermost.
MOST_FRAMES = 40
#: So many allocations after the last time the allocator's history is taken from it: one of its events with its frames
#: takes a hundred times what is kept of it.
TAKEN_EVERY = 4096
#: Events that are made into text at once.
WRITTEN_AT_ONCE = 10_000


def attach(observer: Any, config: dict[str, Any]) -> None:
    """Record the allocator from the first use of the device on, and the work of step `record_step`."""
    watch = Watch(observer, config)
    torch.npu._lazy_call(watch.start_history)
    observer.on_model(watch.name_modules)
    register_module_forward_pre_hook(watch.enter_module)
    register_module_forward_hook(watch.leave_module, always_call=True)
    register_optimizer_step_pre_hook(watch.before_update)
    register_optimizer_step_post_hook(watch.after_update)
    observer.on_step(watch.end_step)
    observer.on_end(watch.write_all)
    if config.get("write_after_s"):
        timer = threading.Timer(config["write_after_s"], watch.write_early)
        timer.daemon = True
        timer.start()
    if config["record_step"] <= 1:
        observer.on_model(lambda model: watch.start_work())


class Watch:
    """One process of a rehearsal. Numbers of bytes are the allocator's own; `at` counts its allocations."""

    def __init__(self, observer: Any, config: dict[str, Any]) -> None:
        self.observer = observer
        self.config = config
        self.marks: list[list[Any]] = []
        self.names: dict[int, str] = {}
        self.stack: list[str] = []
        self.model: torch.nn.Module | None = None
        self.optimizers: list[torch.optim.Optimizer] = []
        self.work: Any = None
        self.steps: list[dict[str, int]] = []
        self.history = History(config["most_events"])
        self.started = time.perf_counter()

    def start_history(self) -> None:
        self.history.start()

    def count_allocations(self) -> int:
        if not torch.npu.is_initialized():
            return 0
        stats = torch.npu.memory_stats_as_nested_dict()
        return int(stats["allocation"]["all"]["allocated"]) if stats else 0

    def mark(self, kind: str, *what: object) -> None:
        count = self.count_allocations()
        self.marks.append([count, kind, *what])
        if count >= self.history.taken_at + TAKEN_EVERY:
            self.history.take(count)

    def name_modules(self, model: torch.nn.Module) -> None:
        """Take the names of the largest model seen: the one whose forward comes first is not always it."""
        self.model = model
        for name, module in model.named_modules():
            self.names.setdefault(id(module), name)

    def enter_module(self, module: torch.nn.Module, _: object) -> None:
        name = self.names.get(id(module))
        if name is None:
            largest = self.observer.model
            if largest is not None and largest is not self.model:
                self.name_modules(largest)
            name = self.names.setdefault(id(module), type(module).__name__)
        self.stack.append(name)
        self.mark("module", name)

    def leave_module(self, module: torch.nn.Module, *_: object) -> None:
        if self.stack:
            self.stack.pop()
        self.mark("module", self.stack[-1] if self.stack else None)

    def before_update(self, optimizer: torch.optim.Optimizer, *_: object) -> None:
        if all(optimizer is not known for known in self.optimizers):
            self.optimizers.append(optimizer)
        self.stack.clear()
        self.mark("owners", "gradients", list(self._list_gradients(optimizer)))
        self.mark("phase", "optimizer", type(optimizer).__name__)

    def after_update(self, *_: object) -> None:
        self.mark("phase", None)

    def end_step(self, step: dict[str, Any]) -> None:
        self._mark_owners()
        torch.npu.synchronize()
        stats = torch.npu.memory_stats()
        self.steps.append(
            {
                "peak": stats.get("allocated_bytes.all.peak", 0),
                "held": stats.get("allocated_bytes.all.current", 0),
                "reserved": stats.get("reserved_bytes.all.current", 0),
            }
        )
        self.mark("step", step["step"])
        self.stop_work()
        if step["step"] == self.config["record_step"] - 1:
            self.start_work()

    def _mark_owners(self) -> None:
        self.mark("owners", "weights", list(self._list_weights()))
        self.mark("owners", "optimizer", list(self._list_states()))

    def _list_weights(self) -> Iterator[tuple[int, str]]:
        model = self.observer.model
        if model is not None:
            for name, tensor in (*model.named_parameters(), *model.named_buffers()):
                yield from _address(tensor, name)
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                for number, tensor in enumerate(group["params"]):
                    yield from _address(tensor, f"parameter {number}")

    def _list_gradients(self, optimizer: torch.optim.Optimizer) -> Iterator[tuple[int, str]]:
        model = self.observer.model
        names = {id(tensor): name for name, tensor in model.named_parameters()} if model is not None else {}
        for group in optimizer.param_groups:
            for number, tensor in enumerate(group["params"]):
                if tensor.grad is not None:
                    yield from _address(tensor.grad, names.get(id(tensor), f"parameter {number}"))

    def _list_states(self) -> Iterator[tuple[int, str]]:
        for optimizer in self.optimizers:
            inner = getattr(optimizer, "optim", optimizer)  # ZeroRedundancyOptimizer keeps its own in `optim`
            for state in inner.state.values():
                for name, tensor in state.items() if isinstance(state, dict) else ():
                    if isinstance(tensor, torch.Tensor):
                        yield from _address(tensor, name)

    def start_work(self) -> None:
        """Begin to record what the device is asked to do."""
        if self.work is None:
            self.work = Work(self.observer.out / f"work.rank{self.observer.rank}", torch.npu.current_device())

    def stop_work(self) -> None:
        if self.work is not None and self.work.running:
            torch.npu.synchronize()
            self.work.stop()

    def write_early(self) -> None:
        """Write what the steps so far took, beside the run that goes on."""
        if self.steps:
            self._write("running")

    def write_all(self, status: str) -> None:
        """Write what there is, also of a run that ended without memory."""
        self.stop_work()
        if torch.npu.is_initialized():
            self._mark_owners()
            self._write(status)

    def _write(self, status: str) -> None:
        snapshot = self.history.take(self.count_allocations())
        device = torch.npu.current_device()
        usage = resource.getrusage(resource.RUSAGE_SELF)
        content = {
            "status": status,
            "rank": self.observer.rank,
            "world_size": self.observer.world_size,
            "device": device,
            "frames": self.history.list_frames(),
            "marks": self.marks,
            "stats": {
                name: value for name, value in torch.npu.memory_stats().items() if ".all." in name or "oom" in name
            },
            "steps": self.steps,
            "settings": str(snapshot.get("allocator_settings")),
            "fragments": describe_segments(snapshot["segments"], device),
            "host_peak_kib": usage.ru_maxrss,
            "cpu_s": usage.ru_utime + usage.ru_stime,
            "seconds": time.perf_counter() - self.started,
        }
        path = Path(self.observer.out) / f"memory.rank{self.observer.rank}.json"
        aside = path.with_name(f"{path.name}.part")
        with aside.open("w", encoding="utf-8") as out:
            out.write(json.dumps(content)[:-1] + ', "events": [')
            for start, text in self.history.format_events():
                out.write(f"{', ' if start else ''}{text}")
            out.write("]}")
        aside.replace(path)


class Work:
    """What the device is asked, recorded by the simulator's own profiler functions into a folder."""

    def __init__(self, folder: Path, device: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.acl = ctypes.CDLL("libascendcl.so")
        self.acl.aclprofCreateConfig.restype = ctypes.c_void_p
        path = str(folder).encode()
        self._ask("aclprofInit", path, ctypes.c_size_t(len(path)))
        devices = (ctypes.c_uint32 * 1)(device)
        config = self.acl.aclprofCreateConfig(devices, 1, 0xFF, None, ctypes.c_uint64(DATA_TYPES))
        self.config = ctypes.c_void_p(config)
        self._ask("aclprofStart", self.config)
        self.running = True

    def stop(self) -> None:
        self.running = False
        self._ask("aclprofStop", self.config)
        self._ask("aclprofFinalize")

    def _ask(self, function: str, *args: object) -> None:
        code = getattr(self.acl, function)(*args)
        if code:
            raise RuntimeError(f"{function} of the simulated NPU failed with {code}")


def _address(tensor: torch.Tensor, name: str) -> Iterator[tuple[int, str]]:
    """Yield where the tensor's storage begins on the device; of a sharded one that of this rank's part."""
    local = getattr(tensor, "_local_tensor", tensor)
    if local.device.type == "npu" and local.layout == torch.strided:
        address = local.untyped_storage().data_ptr()
        if address:
            yield address, name


class History:
    """What the allocator did: (action, address, bytes, number of its frames) in order, each distinct list of frames
    once. Taken from the allocator piece by piece; of more than `most` events the oldest are dropped."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._events: deque[tuple[str, int, int, int]] = deque(maxlen=most)
        self._numbers: dict[tuple[tuple[str, int, str], ...], int] = {}
        self._lock = threading.Lock()
        self.taken_at = 0

    def start(self) -> None:
        """Have the allocator record from now on; what it has recorded is gone."""
        torch.npu.memory._record_memory_history(enabled="all", context="alloc", stacks="python", max_entries=self._most)

    def take(self, count: int) -> dict[str, Any]:
        """Take what was recorded since the last time, and return the allocator's snapshot; `count`: its allocations."""
        with self._lock:
            snapshot: dict[str, Any] = torch.npu.memory._snapshot()
            self.start()
            self.taken_at = count
            device, traces = torch.npu.current_device(), snapshot.pop("device_traces")
            self.add(traces[device] if device < len(traces) else [])
            return snapshot

    def add(self, trace: Iterable[dict[str, Any]]) -> None:
        """Keep events as the allocator tells them."""
        for event in trace:
            frames = tuple(
                (frame["filename"], frame["line"], frame["name"]) for frame in event.get("frames", ())[:MOST_FRAMES]
            )
            number = self._numbers.setdefault(frames, len(self._numbers))
            address = event.get("addr", event.get("device_free", 0))
            self._events.append((event["action"], address, event["size"], number))

    def list_frames(self) -> list[list[list[Any]]]:
        """Return the distinct lists of frames, by number."""
        return [[list(frame) for frame in frames] for frames in self._numbers]

    def format_events(self) -> Iterator[tuple[int, str]]:
        """Yield the events as JSON without the list's brackets, a piece at once with the number of its first."""
        events = iter(self._events)
        for start in range(0, len(self._events), WRITTEN_AT_ONCE):
            piece = [*itertools.islice(events, WRITTEN_AT_ONCE)]
            yield start, json.dumps(piece)[1:-1]


def describe_segments(segments: list[dict[str, Any]], device: int) -> dict[str, int]:
    """Return bytes reserved and active at the end, and the largest piece that is free."""
    own = [segment for segment in segments if segment["device"] == device]
    free = [block["size"] for segment in own for block in segment["blocks"] if block["state"] == "inactive"]
    return {
        "reserved": sum(segment["total_size"] for segment in own),
        "active": sum(segment["active_size"] for segment in own),
        "segments": len(own),
        "largest_free": max(free, default=0),
    }
