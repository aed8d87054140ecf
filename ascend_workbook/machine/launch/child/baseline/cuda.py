"""The module torch.cuda: what is answered, what does nothing, and what raises.

Streams and events: everything happens at once and in order, so they only keep the time. Memory: the CPU's is not a
GPU's, so every figure is 0 and asking is noted.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import os
import time
import types
from collections.abc import Callable

import torch
import torch.cuda
import torch.cuda.amp.common

from . import places, random
from .places import NotStandIn

#: Answered as an Ampere GPU: scripts ask in order to decide on bfloat16 and TF32.
CAPABILITY = (8, 0)
NAME = "CPU standing in for CUDA"
#: Legacy tensor types of torch.cuda that have a namesake in torch.
TYPES = ("Float", "Double", "Half", "BFloat16", "Byte", "Char", "Short", "Int", "Long", "Bool")
FIGURES = (
    *("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved"),
    *("memory_cached", "max_memory_cached", "memory_usage", "utilization", "temperature", "power_draw", "clock_rate"),
    "device_memory_used",
)
NOTHING = (
    *("empty_cache", "ipc_collect", "reset_peak_memory_stats", "reset_max_memory_allocated"),
    *("reset_max_memory_cached", "reset_accumulated_memory_stats", "set_per_process_memory_fraction"),
)


def install_cuda(note: Callable[..., None]) -> None:
    """Replace torch.cuda and torch.accelerator; `note` takes a remark for each figure that was not measured."""
    both = {**_clock_answers(), **_memory_answers(note)}
    answers = {**_device_answers(), **_seed_answers(), **both}
    for module in (torch.cuda, torch.cuda.memory, torch.cuda.random, torch.cuda.streams):
        for name, answer in answers.items():
            if module is torch.cuda or hasattr(module, name):
                setattr(module, name, answer)
    for kind in TYPES:
        setattr(torch.cuda, f"{kind}Tensor", getattr(torch, f"{kind}Tensor"))
    # every other public function of torch.cuda raises and says its name
    for name, thing in list(vars(torch.cuda).items()):
        public = not name.startswith("_") and name not in answers and name not in KEPT
        if public and isinstance(thing, types.FunctionType) and thing.__module__.startswith("torch.cuda"):
            setattr(torch.cuda, name, _make_refusal(f"torch.cuda.{name}"))
    for name in ("CUDAGraph", "graph", "MemPool", "CUDAPluggableAllocator"):
        # still a class: libraries write `torch.cuda.CUDAGraph | None`
        setattr(torch.cuda, name, type(name, (), {"__init__": _make_refusal(f"torch.cuda.{name}")}))
    torch.cuda.is_current_stream_capturing = lambda: False
    torch.cuda.jiterator._create_jit_fn = _make_refusal("torch.cuda.jiterator")
    torch.cuda.jiterator._create_multi_output_jit_fn = _make_refusal("torch.cuda.jiterator")
    torch.cuda._lazy_init = _make_refusal("a call that asks for a CUDA device in a way not mapped to the CPU")
    torch.cuda.amp.common.amp_definitely_not_available = lambda: False
    torch.cuda.nvtx.range_push = torch.cuda.nvtx.mark = lambda message: 0
    torch.cuda.nvtx.range_pop = lambda: 0
    torch.cuda.profiler.start = torch.cuda.profiler.stop = lambda: None

    def set_matmul_precision(precision: str) -> None:
        if precision not in ("highest", "high", "medium"):
            raise RuntimeError(f"float32_matmul_precision must be highest, high or medium, not {precision!r}")
        if precision != "highest":
            note("matmul_precision_left_out", precision=precision)
        _matmul_precision.append(precision)

    torch.set_float32_matmul_precision = set_matmul_precision
    torch.get_float32_matmul_precision = lambda: _matmul_precision[-1]
    # its check of parameter devices would refuse the CPU
    torch.nn.DataParallel.forward = _run_on_one_device
    for name, answer in {**_accelerator_answers(), **both}.items():
        if hasattr(getattr(torch, "accelerator", None), name):
            setattr(torch.accelerator, name, answer)


def _device_answers() -> dict[str, object]:
    return {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "init": lambda: None,
        "device_count": places.device_count,
        "current_device": places.current_device,
        "set_device": _set_device,
        "device": Device,
        "device_of": lambda tensor: Device(None),
        "get_device_name": lambda device=None: NAME,
        "get_device_capability": lambda device=None: CAPABILITY,
        "get_device_properties": lambda device=None: types.SimpleNamespace(
            name=NAME,
            major=CAPABILITY[0],
            minor=CAPABILITY[1],
            total_memory=_host_bytes(),
            multi_processor_count=1,
            warp_size=32,
            is_integrated=True,
        ),
        "is_bf16_supported": lambda including_emulation=True: True,
        "is_tf32_supported": lambda: True,
        "get_arch_list": lambda: ["sm_80"],
        "can_device_access_peer": lambda device, peer: False,
    }


def _seed_answers() -> dict[str, object]:
    stream = random.CUDA

    def set_seed(seed: int) -> None:
        stream.manual_seed(int(seed))

    def seed_anew() -> None:
        stream.seed()

    def set_state(state: torch.Tensor, device: object = "cuda") -> None:
        stream.set_state(state)

    return {
        "manual_seed": set_seed,
        "manual_seed_all": set_seed,
        "seed": seed_anew,
        "seed_all": seed_anew,
        "initial_seed": stream.initial_seed,
        "get_rng_state": lambda device="cuda": stream.get_state(),
        "get_rng_state_all": lambda: [stream.get_state() for _ in range(places.device_count())],
        "set_rng_state": set_state,
        "set_rng_state_all": lambda states: set_state(states[0]),
        "default_generators": (stream,) * places.device_count(),
    }


def _set_device(device: object) -> None:
    places.set_current(places.index_of(device))


#: Names of torch.cuda that work here as they are.
KEPT = {"is_current_stream_capturing", "check_error", "cudaStatus", "is_in_bad_fork", "OutOfMemoryError"}


def _make_refusal(feature: str) -> Callable[..., None]:
    def raise_refusal(*args: object, **kwargs: object) -> None:
        raise NotStandIn(feature)

    return raise_refusal


class Device:
    """`with torch.cuda.device(1):`."""

    def __init__(self, device: object) -> None:
        self.idx = places.index_of(device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = places.set_current(self.idx)

    def __exit__(self, *error: object) -> None:
        places.set_current(self.prev_idx)


def _accelerator_answers() -> dict[str, object]:
    """Return what torch.accelerator, the device-neutral interface, answers: it sees the same device."""
    return {
        "is_available": lambda: True,
        "device_count": places.device_count,
        "current_accelerator": lambda check_available=False: torch.device("cuda"),
        "current_device_index": places.current_device,
        "current_device_idx": places.current_device,
        "set_device_index": _set_device,
        "set_device_idx": _set_device,
    }


def _run_on_one_device(self: torch.nn.DataParallel, *args: object, **kwargs: object) -> object:
    """Call the module itself, as DataParallel does with one device."""
    if len(self.device_ids) > 1:
        raise NotStandIn("torch.nn.DataParallel over several devices")
    return self.module(*args, **kwargs)


#: TF32 and "medium" precision are kept as settings and not applied: the baseline computes in full float32.
_matmul_precision = ["highest"]


class Stream:
    """Work is done when it is given."""

    def __init__(self, device: object = None, priority: int = 0, **kwargs: object) -> None:
        self.device_index = places.index_of(device)
        self.priority = priority
        self.cuda_stream = 0

    def wait_stream(self, stream: object) -> None: ...

    def wait_event(self, event: object) -> None: ...

    def synchronize(self) -> None: ...

    def query(self) -> bool:
        return True

    def is_capturing(self) -> bool:
        return False

    def record_event(self, event: Event | None = None) -> Event:
        event = event or Event()
        event.record(self)
        return event

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *error: object) -> None: ...


class Event:
    """Reads the clock when recorded."""

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, **kwargs: object
    ):
        self._timing = enable_timing
        self._recorded_s: float | None = None

    def record(self, stream: object = None) -> None:
        self._recorded_s = time.perf_counter()

    def wait(self, stream: object = None) -> None: ...

    def synchronize(self) -> None: ...

    def query(self) -> bool:
        return True

    def elapsed_time(self, end_event: Event) -> float:
        """Return milliseconds."""
        if not (self._timing and end_event._timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._recorded_s is None or end_event._recorded_s is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return (end_event._recorded_s - self._recorded_s) * 1e3


def enter_stream(stream: object) -> contextlib.AbstractContextManager[object]:
    """Enter nothing: on the CPU there is one order of work."""
    return contextlib.nullcontext(stream)


def _clock_answers() -> dict[str, object]:
    """Return torch.cuda's streams and events by their names."""
    stream = Stream()
    return {
        "Stream": Stream,
        "ExternalStream": Stream,
        "Event": Event,
        "StreamContext": enter_stream,
        "stream": enter_stream,
        "set_stream": lambda stream: None,
        "current_stream": lambda device=None: stream,
        "default_stream": lambda device=None: stream,
        "synchronize": lambda device=None: None,
    }


def _host_bytes() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _memory_answers(note: Callable[..., None]) -> dict[str, object]:
    """Return torch.cuda's memory functions by their names."""

    def answer_zero(name: str, device: object = None) -> int:
        note("memory_not_measured", call=f"torch.cuda.{name}")
        return 0

    def memory_stats(device: object = None) -> dict[str, int]:
        answer_zero("memory_stats")
        return collections.defaultdict(int)

    answers: dict[str, object] = {name: functools.partial(answer_zero, name) for name in FIGURES}
    answers.update({name: lambda *args, **kwargs: None for name in NOTHING})
    answers.update(
        memory_stats=memory_stats,
        memory_stats_as_nested_dict=memory_stats,
        memory_summary=lambda device=None, abbreviated=False: "memory: not measured (CPU standing in for CUDA)\n",
        mem_get_info=lambda device=None: (os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), _host_bytes()),
    )
    return answers
