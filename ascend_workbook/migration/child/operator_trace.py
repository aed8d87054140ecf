"""A launch plugin: lists every operator of one training step, with its data types and the line that calls it.

Runs in the user's process by path and imports nothing of the workbook. A TorchDispatchMode is entered for the traced
steps only. It stands below autograd and autocast, so what it sees is what reaches a device's kernels. An operator that
an NPU makes of others is expanded with the very kernel that would run there, and the others are seen in its place.

Writes `operators.json` into the launch's folder.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch._C import DispatchKey
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils import _python_dispatch

RESULT = "operators.json"
#: Operators that only mark a place for profilers and compilers.
MARKS = ("profiler", "prim", "prims")
#: Ours, around the user's training: what they call belongs to no step.
OURS = ("gauges.py", "hooks.py", "losses.py", "observer.py")
#: By state, the kernel that makes the operator of others.
PARTS = {
    "composite": DispatchKey.CompositeImplicitAutograd,
    "explicit": DispatchKey.CompositeExplicitAutograd,
    "out": DispatchKey.CompositeExplicitAutogradNonFunctional,
    "out_fallback": DispatchKey.CompositeExplicitAutogradNonFunctional,
}
#: Taken on the CPU only, where an NPU takes another way to the same result.
CPU_CHOICE = re.compile(r"_for_cpu|mkldnn|nnpack|onednn")
#: aten only keeps a place here, in which torch_npu's own attention answers (simulator: native/kernels/attention.h).
FUSED_ATTENTION = re.compile(r"aten::_scaled_dot_product_fused_attention_overrideable")
#: The simulator computes the NPU's attention with the CPU's kernel (simulator: native/kernels/attention.cpp).
ON_NPU = {
    "aten::_scaled_dot_product_flash_attention_for_cpu": "npu::npu_fusion_attention_v3",
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward": "npu::npu_fusion_attention_grad_v3",
}


class Support:
    """How an operator runs on an NPU: native, composite, explicit, out, collective, cpu_choice, fallback, unsupported,
    unknown.

    Read from the dispatcher of the torch_npu in this process, or from a table (`states`) where there is none."""

    def __init__(self, states: dict[str, str], fake: bool) -> None:
        self.live = "torch_npu" in sys.modules
        # an output that is made for a kernel to fill is on another device than fake tensors are
        filled = {"out": "native", "out_fallback": "fallback"} if fake else {}
        self._states = {name: filled.get(state, state) for name, state in states.items()}
        self._recorded: dict[str, str] = {}
        self.fake = fake

    def read_record(self) -> None:
        """The simulator has its record once the device is awake."""
        if self.live:
            torch.npu.init()
            self._recorded = _simulators_record()

    @cache  # noqa: B019 - one for the process
    def find_state(self, name: str) -> str:
        if name.startswith("c10d::"):
            return "collective"
        if self.live:
            return self._state_by_dispatcher(name)
        if CPU_CHOICE.search(name):
            return "cpu_choice"
        if name in self._states:
            return self._states[name]
        return "unknown" if name.startswith("aten::") else self._made_of_others(name) or "unknown"

    def _state_by_dispatcher(self, name: str) -> str:
        if self._recorded.get(name) == "fallback":  # the simulator counts these by a kernel of its own
            return "fallback"
        if FUSED_ATTENTION.match(name) or _has_kernel(name, "PrivateUse1"):
            falls_back = re.search(r"^PrivateUse1: .*cpu_?fallback", torch._C._dispatch_dump(name), re.M | re.I)
            return "fallback" if falls_back else "native"
        others = self._made_of_others(name)
        return others or ("fallback" if _has_kernel(name, "CPU") else "unsupported")

    @staticmethod
    def _made_of_others(name: str) -> str:
        """Look for the kernel that makes it of others, in the dispatcher's own order of precedence."""
        for state in ("out", "explicit", "composite"):
            if _has_kernel(name, PARTS[state].name):
                return state
        return ""


def _has_kernel(name: str, key: str) -> bool:
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(name, key))


def _simulators_record() -> dict[str, str]:
    """What the simulator notes of torch_npu's operators before it puts its own in their place; empty without it."""
    try:
        library = ctypes.CDLL("libnpu_sim_kernels.so", mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError:
        return {}
    library.npu_sim_operators.restype = ctypes.c_char_p
    text: bytes = library.npu_sim_operators()
    return {words[0]: words[1] for words in map(str.split, text.decode().splitlines())}


class Trace(_python_dispatch.TorchDispatchMode):  # type: ignore[misc]
    """Counts operators while it is entered. `root` is the folder of the user's sources."""

    def __init__(self, root: str, support: Support) -> None:
        super().__init__()
        self.calls: dict[tuple[Any, ...], dict[str, Any]] = {}
        self.in_optimizer = False
        self.on = False
        self._root = root.rstrip(os.sep) + os.sep
        self._support = support
        self._inside: list[str] = []
        self._forward: dict[int, tuple[str, int] | None] = {}
        self._pid = os.getpid()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        where = self._find_user_line(sys._getframe().f_back)  # autograd's thread may have no frame below
        if not self.on or func.namespace in MARKS or where == "ours" or os.getpid() != self._pid:
            return func(*args, **kwargs)
        name = func.name()
        state = self._support.find_state(name)
        step_part, place, of_forward = self._attribute_call(where)
        key = PARTS.get(state) if name not in self._inside else None
        within = self._inside[-1] if self._inside else ""
        result = func(*args, **kwargs) if key is None else self._made_of_others(func, name, key, args, kwargs)
        if name != within:  # an operator that ends in itself is one call
            values = [args, kwargs, result]
            shown = ON_NPU.get(name, name) if self._support.live and not _is_host(values) else name
            self._count_call((shown, state, step_part, within), values, place, of_forward)
        return result

    def _made_of_others(self, func: Any, name: str, key: Any, args: Any, kwargs: Any) -> Any:
        """With fake tensors only to see the parts: a kernel in C++ takes them for tensors on the device meta."""
        self._inside.append(name)
        try:
            with self:
                result_of_parts = func._op_dk(key, *args, **kwargs)
        except (RuntimeError, TypeError):
            return func(*args, **kwargs)  # it raises again where the fault is the script's
        finally:
            self._inside.pop()
        return func(*args, **kwargs) if self._support.fake else result_of_parts

    def _attribute_call(self, where: tuple[str, int] | None) -> tuple[str, tuple[str, int] | None, bool]:
        """Part of the step, place, and whether that is the forward operator's: a node has its sequence number."""
        node = torch._C._current_autograd_node()
        if node is not None:
            forward = self._forward.get(node._sequence_nr())
            return "backward", forward or where, forward is not None
        if self.in_optimizer:
            return "optimizer", where, False
        self._forward.setdefault(torch._C._autograd._get_sequence_nr() - 1, where)
        return "forward", where, False

    def _count_call(
        self, key: tuple[Any, ...], values: object, place: tuple[str, int] | None, of_forward: bool
    ) -> None:
        tensors = list(_walk_tensors(values))
        dtypes = tuple(sorted({str(tensor.dtype).replace("torch.", "") for tensor in tensors}))
        host = _is_host(tensors)
        first = str(tensors[0].dtype).replace("torch.", "") if tensors else ""
        new = {"count": 0, "place": place, "of_forward": of_forward}
        self.calls.setdefault((*key, dtypes, host, first), new)["count"] += 1

    def _find_user_line(self, frame: FrameType | None) -> Any:
        """Find (file below the root, line) of the user's innermost frame; "ours"; None where there is none."""
        while frame is not None and _is_wrapper(frame.f_code.co_filename):
            frame = frame.f_back
        if frame is not None and _is_ours(frame.f_code.co_filename):
            return "ours"
        while frame is not None:
            name = frame.f_code.co_filename
            if name.startswith(self._root) and "site-packages" not in name:
                return name[len(self._root) :], frame.f_lineno
            frame = frame.f_back
        return None

    def list_calls(self) -> list[dict[str, Any]]:
        names = ("operator", "state", "step_part", "within", "dtypes", "host", "first_dtype")
        return [{**dict(zip(names, key)), **entry} for key, entry in self.calls.items()]


def _is_host(values: object) -> bool:
    tensors = list(_walk_tensors(values))
    return bool(tensors) and all(tensor.device.type == "cpu" for tensor in tensors)


@cache
def _is_ours(path: str) -> bool:
    return path.endswith(tuple(f"launch{os.sep}child{os.sep}{name}" for name in OURS))


@cache
def _is_wrapper(path: str) -> bool:
    """PyTorch puts a call of its own around a mode's __torch_dispatch__."""
    return f"{os.sep}torch{os.sep}_dynamo{os.sep}" in path or path.endswith(f"{os.sep}torch{os.sep}_compile.py")


def _walk_tensors(value: object) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _walk_tensors(item)
    elif isinstance(value, dict):
        yield from _walk_tensors(list(value.values()))


def attach(observer: Any, config: dict[str, Any]) -> None:
    """Traces steps `warmup`+1 to `warmup`+`steps` of rank 0; with `warmup` 0 from the first forward on."""
    if observer.rank:
        return
    support = Support(config["states"], config["fake"])
    trace = Trace(config["root"], support)
    optimizers: dict[int, torch.optim.Optimizer] = {}
    numbers: list[int] = []

    def before_optimizer_step(optimizer: torch.optim.Optimizer, args: object, kwargs: object) -> None:
        trace.in_optimizer = True
        optimizers[id(optimizer)] = optimizer

    def after_optimizer_step(optimizer: torch.optim.Optimizer, args: object, kwargs: object) -> None:
        trace.in_optimizer = False

    def begin_tracing(*_: object) -> None:
        support.read_record()
        trace.on = True
        trace.__enter__()

    def step_ended(step: dict[str, Any]) -> None:
        if trace.on:
            numbers.append(step["step"])
        if step["step"] == config["warmup"]:
            begin_tracing()
        if step["step"] == config["warmup"] + config["steps"]:
            leave_tracing()

    def leave_tracing() -> None:
        if trace.on and _python_dispatch._get_current_dispatch_mode() is trace:
            trace.__exit__(None, None, None)
        trace.on = False  # below a mode of the script's own it stays, and only passes on

    def write_trace(status: str) -> None:
        leave_tracing()
        torch_npu = getattr(sys.modules.get("torch_npu"), "__version__", "")
        trace_content = {
            "steps": numbers,
            "live": support.live,
            "versions": {"torch": torch.__version__, "torch_npu": torch_npu},
            "state_bytes": _state_bytes(list(optimizers.values()), observer.models),
            "calls": trace.list_calls(),
        }
        (Path(observer.out) / RESULT).write_text(json.dumps(trace_content), encoding="utf-8")

    register_optimizer_step_pre_hook(before_optimizer_step)
    register_optimizer_step_post_hook(after_optimizer_step)
    if config["warmup"] == 0:
        observer.on_model(begin_tracing)
    observer.on_step(step_ended)
    observer.on_end(write_trace)


def _state_bytes(optimizers: list[torch.optim.Optimizer], models: list[torch.nn.Module]) -> dict[str, int]:
    """What training holds from step to step: all parameters, gradients of the trained, the optimiser's own tensors."""
    trained = {id(p): p for optimizer in optimizers for group in optimizer.param_groups for p in group["params"]}
    parameters = {**trained, **{id(p): p for model in models for p in model.parameters()}}
    own = [value for optimizer in optimizers for state in optimizer.state.values() for value in _walk_tensors(state)]
    size = sum(p.numel() * p.element_size() for p in parameters.values())
    return {
        "parameters": size,
        "gradients": sum(p.numel() * p.element_size() for p in trained.values() if p.requires_grad),
        "optimizer": sum(tensor.numel() * tensor.element_size() for tensor in own),
    }
