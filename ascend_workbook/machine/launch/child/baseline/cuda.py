"""The module torch.cuda: what is answered, what does nothing, and what raises."""

from __future__ import annotations

import types
from typing import Any

import torch
import torch.cuda
import torch.cuda.amp.common

from . import clock, memory, places, random
from .places import NotStandIn

#: Answered as an Ampere GPU: scripts ask in order to decide on bfloat16 and TF32.
CAPABILITY = (8, 0)
NAME = "CPU standing in for CUDA"
#: Legacy tensor types of torch.cuda that have a namesake in torch.
TYPES = ("Float", "Double", "Half", "BFloat16", "Byte", "Char", "Short", "Int", "Long", "Bool")


def install_cuda() -> None:
    answers = {**_device_answers(), **_seed_answers(), **clock.clock_answers(), **memory.memory_answers()}
    for module in (torch.cuda, torch.cuda.memory, torch.cuda.random, torch.cuda.streams):
        _replace_answers(module, answers)
    for kind in TYPES:
        setattr(torch.cuda, f"{kind}Tensor", getattr(torch, f"{kind}Tensor"))
    _refuse_the_rest(answers)
    torch.cuda.jiterator._create_jit_fn = _make_refusal("torch.cuda.jiterator")
    torch.cuda.jiterator._create_multi_output_jit_fn = _make_refusal("torch.cuda.jiterator")
    torch.cuda._lazy_init = _reached_cuda
    torch.cuda.amp.common.amp_definitely_not_available = lambda: False
    torch.cuda.nvtx.range_push = torch.cuda.nvtx.mark = lambda message: 0
    torch.cuda.nvtx.range_pop = lambda: 0
    torch.cuda.profiler.start = torch.cuda.profiler.stop = lambda: None
    _map_accelerator()
    _data_parallel()
    _matmul_precision()


def _device_answers() -> dict[str, Any]:
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
        "get_device_properties": lambda device=None: _device_properties(),
        "is_bf16_supported": lambda including_emulation=True: True,
        "is_tf32_supported": lambda: True,
        "get_arch_list": lambda: ["sm_80"],
        "can_device_access_peer": lambda device, peer: False,
    }


def _seed_answers() -> dict[str, Any]:
    stream = random.cuda_generator
    return {
        "manual_seed": _set_seed,
        "manual_seed_all": _set_seed,
        "seed": _seed_anew,
        "seed_all": _seed_anew,
        "initial_seed": lambda: stream().initial_seed(),
        "get_rng_state": lambda device="cuda": stream().get_state(),
        "get_rng_state_all": lambda: [stream().get_state() for _ in range(places.device_count())],
        "set_rng_state": _set_state,
        "set_rng_state_all": _set_states,
        "default_generators": (stream(),),
    }


def _set_device(device: Any) -> None:
    places.set_current(places.index_of(device))


def _set_seed(seed: int) -> None:
    random.cuda_generator().manual_seed(int(seed))


def _seed_anew() -> None:
    random.cuda_generator().seed()


def _set_state(state: torch.Tensor, device: Any = "cuda") -> None:
    random.cuda_generator().set_state(state)


def _set_states(states: Any) -> None:
    _set_state(states[0])


def _replace_answers(module: Any, answers: dict[str, Any]) -> None:
    for name, answer in answers.items():
        if module is torch.cuda or hasattr(module, name):
            setattr(module, name, answer)


#: Names of torch.cuda that work here as they are.
KEPT = {"is_current_stream_capturing", "check_error", "cudaStatus", "is_in_bad_fork", "OutOfMemoryError"}


def _refuse_the_rest(answers: dict[str, Any]) -> None:
    """Let every other public function of torch.cuda raise and say its name."""
    for name, thing in list(vars(torch.cuda).items()):
        public = not name.startswith("_") and name not in answers and name not in KEPT
        if public and isinstance(thing, types.FunctionType) and thing.__module__.startswith("torch.cuda"):
            setattr(torch.cuda, name, _make_refusal(f"torch.cuda.{name}"))
    for name in ("CUDAGraph", "graph", "MemPool", "CUDAPluggableAllocator"):
        # still a class: libraries write `torch.cuda.CUDAGraph | None`
        setattr(torch.cuda, name, type(name, (), {"__init__": _make_refusal(f"torch.cuda.{name}")}))
    torch.cuda.is_current_stream_capturing = lambda: False


def _make_refusal(feature: str) -> Any:
    def raise_refusal(*args: Any, **kwargs: Any) -> Any:
        raise NotStandIn(feature)

    return raise_refusal


def _reached_cuda() -> None:
    raise NotStandIn("a call that asks for a CUDA device in a way not mapped to the CPU")


class Device:
    """`with torch.cuda.device(1):`."""

    def __init__(self, device: Any) -> None:
        self.idx = places.index_of(device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = places.set_current(self.idx)

    def __exit__(self, *error: Any) -> None:
        places.set_current(self.prev_idx)


def _device_properties() -> Any:
    return types.SimpleNamespace(
        name=NAME,
        major=CAPABILITY[0],
        minor=CAPABILITY[1],
        total_memory=memory.host_bytes(),
        multi_processor_count=1,
        warp_size=32,
        is_integrated=True,
    )


def _map_accelerator() -> None:
    """Let torch.accelerator, the device-neutral interface, see the same device."""
    module = getattr(torch, "accelerator", None)
    if module is None:
        return
    answers = {
        "is_available": lambda: True,
        "device_count": places.device_count,
        "current_accelerator": lambda check_available=False: torch.device("cuda"),
        "current_device_index": places.current_device,
        "current_device_idx": places.current_device,
        "set_device_index": _set_device,
        "set_device_idx": _set_device,
        **clock.clock_answers(),
        **memory.memory_answers(),
    }
    for name, answer in answers.items():
        if hasattr(module, name):
            setattr(module, name, answer)


def _data_parallel() -> None:
    """Let DataParallel call the module itself with one device; its check of parameter devices would refuse the CPU."""

    def run_on_one_device(self: Any, *args: Any, **kwargs: Any) -> Any:
        if len(self.device_ids) > 1:
            raise NotStandIn("torch.nn.DataParallel over several devices")
        return self.module(*args, **kwargs)

    torch.nn.DataParallel.forward = run_on_one_device


def _matmul_precision() -> None:
    """Keep TF32 and "medium" precision as settings and do not apply them: the baseline computes in full float32."""
    setting = {"precision": "highest"}

    def set_precision(precision: str) -> None:
        if precision not in ("highest", "high", "medium"):
            raise RuntimeError(f"float32_matmul_precision must be highest, high or medium, not {precision!r}")
        setting["precision"] = precision

    torch.set_float32_matmul_precision = set_precision
    torch.get_float32_matmul_precision = lambda: setting["precision"]
