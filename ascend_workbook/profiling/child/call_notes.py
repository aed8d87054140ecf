"""Calls whose lines are noted while steps are recorded, in the place of torch's own: such as wait for the device or for
other processes, modules, functions with a gradient of their own, and gradients that are emptied unused. Imports nothing
of the workbook."""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
import time
import weakref
from collections.abc import Iterable
from types import CodeType, FrameType
from typing import Any

from .code_places import find_caller, is_own, is_own_class

#: Calls whose lines are noted: of torch.Tensor, of torch.distributed, of the devices' modules and their classes
READS = ("item", "tolist", "nonzero", "cpu", "numpy", "to", "__bool__", "__float__", "__int__")
SELECTING = ("nonzero", "masked_select")
#: Of these only such as are given a mask on a device: how many elements it chooses must be known
INDEXING = ("__getitem__", "__setitem__")
COLLECTIVES = (
    *("all_reduce", "all_gather", "all_gather_into_tensor", "reduce_scatter", "reduce_scatter_tensor"),
    *("broadcast", "all_to_all_single", "barrier"),
    *("all_gather_object", "gather_object", "broadcast_object_list", "scatter_object_list"),
)
#: Passes through the graph of what was computed
PASSES = ("backward", "grad")
#: Beside a module's call: the call before it at this line was of another module of its class, on the same tensor
SAME_INPUT = "module on the same input"
#: Beside a module's call: it was called before on the same tensor; the last of each module's that are remembered
AGAIN, MOST_INPUTS = "module again on the same input", 8
#: Beside that: with the same weights, and nothing in it is left to chance
SAME = "module again with the same result"
#: Beside the call that empties gradients: the shapes of those that no update had used, of parameters that updates use
UNUSED = "unused gradients: "
#: Of these only such as bring a tensor to the host are noted
MOVE = "Tensor.to"
DEVICES, OF_DEVICE, OF_CLASSES = ("npu", "cuda"), ("synchronize", "empty_cache"), ("Event", "Stream")


class Notes:
    """Notes calls of the thread that makes it, from `start` to `stop`; `calls` has a row each: when it began, how long
    it took, the code and the instruction that called, and its names."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self._thread_id = threading.get_ident()
        self._replaced: list[tuple[Any, str, Any, bool]] = []
        self._modules: dict[int, int] = {}
        self._inputs: dict[tuple[CodeType, int], tuple[int, type, Any]] = {}
        self._seen: dict[int, list[tuple[Any, tuple[Any, ...], list[int]]]] = {}
        self._updates = 0
        self._versions: dict[int, int] = {}
        self._owners: weakref.WeakSet[Any] = weakref.WeakSet()
        self._used: dict[int, tuple[Any, int]] = {}
        self._hook: Any = None

    def start(self) -> None:
        """Replace calls that wait by such as note their lines; a module that is not loaded is not."""
        torch = sys.modules.get("torch")
        asked: list[tuple[Any, tuple[str, ...]]] = [
            (getattr(torch, "Tensor", None), (*READS, *INDEXING)),
            (torch, SELECTING),
            (sys.modules.get("torch.distributed"), COLLECTIVES),
            (getattr(torch, "autograd", None), PASSES),
        ]
        for device in (getattr(torch, name, None) for name in DEVICES):
            asked += [(device, OF_DEVICE), *((getattr(device, name, None), ("synchronize",)) for name in OF_CLASSES)]
        for owner, names in asked:
            for name in names if owner is not None else ():
                call = getattr(owner, name, None)
                if call is not None:
                    self._replaced.append((owner, name, call, name in vars(owner)))
                    short = f"{owner.__name__.rpartition('.')[2]}.{name}"
                    setattr(owner, name, self._note_call(call, short))
        self._note_modules(torch)
        self._note_functions(torch)
        self._note_unused(torch)

    def stop(self) -> None:
        """Take back what was replaced."""
        for owner, name, original, own in reversed(self._replaced):
            setattr(owner, name, original) if own else delattr(owner, name)
        self._replaced.clear()
        if self._hook is not None:
            self._hook.remove()

    def list_never_used(self) -> str:
        """Return the shapes of the gradients of modules' parameters that no update has used, where others are. One that
        was written to is updated by hand."""
        parameters: dict[int, Any] = {}
        for owner in self._owners:
            with contextlib.suppress(Exception):  # it is the script's own code that answers
                parameters.update((id(parameter), parameter) for parameter in owner.parameters())
        unused = [
            value.grad
            for number, value in parameters.items()
            if self._used
            and number not in self._used
            and number in self._versions
            and _version_of(value) == self._versions[number]
        ]
        return _list_shapes([grad for grad in unused if grad is not None])

    def _note_modules(self, torch: Any) -> None:
        """Replace how modules are called by what notes the lines of the script that do, and where its own classes are
        called: one name a module."""
        owner = getattr(getattr(torch, "nn", None), "Module", None)
        if owner is None:
            return
        call, calls, ours, numbers = owner.__call__, self.calls, self._thread_id, self._modules
        is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", bool)  # torch 2.3
        own_classes: dict[type, bool] = {}

        @functools.wraps(call)
        def call_and_note(module: Any, *args: Any, **kwargs: Any) -> Any:
            if is_compiling():
                return call(module, *args, **kwargs)
            frame: FrameType = sys._getframe(1)
            own = own_classes.get(type(module))
            if own is None:
                own = own_classes[type(module)] = is_own_class(type(module))
            if threading.get_ident() != ours or not (own or is_own(frame.f_code)):
                return call(module, *args, **kwargs)
            frame = find_caller(frame)
            again = self._note_again(module, args, kwargs)
            at, begin = frame.f_lasti, time.time_ns()
            result = call(module, *args, **kwargs)
            names = [f"module#{numbers.setdefault(id(module), len(numbers))}{' own' * own}"]
            if self._is_same_input((frame.f_code, at), module, args):
                names.append(SAME_INPUT)
            names += again
            calls.append((begin, time.time_ns() - begin, frame.f_code, at, *names))
            return result

        self._replaced.append((owner, "__call__", call, True))
        owner.__call__ = call_and_note

    def _note_functions(self, torch: Any) -> None:
        """Note the lines that apply the script's own functions with a gradient of their own."""
        owner = getattr(getattr(torch, "autograd", None), "Function", None)
        if owner is None or "apply" not in vars(owner):
            return
        apply, calls, ours = vars(owner)["apply"], self.calls, self._thread_id
        is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", bool)

        def apply_and_note(kind: Any, *args: Any, **kwargs: Any) -> Any:
            if is_compiling() or threading.get_ident() != ours or not is_own_class(kind):
                return apply.__func__(kind, *args, **kwargs)
            frame = find_caller(sys._getframe(1))
            at, begin = frame.f_lasti, time.time_ns()
            result = apply.__func__(kind, *args, **kwargs)
            calls.append((begin, time.time_ns() - begin, frame.f_code, at, "autograd.Function"))
            return result

        self._replaced.append((owner, "apply", apply, True))
        owner.apply = classmethod(apply_and_note)

    def _is_same_input(self, place: tuple[CodeType, int], module: Any, args: tuple[Any, ...]) -> bool:
        """Return whether the call before at this place was of another module of this class on the same tensor."""
        before = self._inputs.get(place)
        try:
            self._inputs[place] = (id(module), type(module), weakref.ref(args[0]))
        except (IndexError, TypeError):  # called by names, or on what is no tensor
            self._inputs.pop(place, None)
            return False
        if before is None:
            return False
        number, kind, tensor = before
        return number != id(module) and kind is type(module) and tensor() is args[0]

    def _note_again(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
        """Return the notes of a module that is called again on a tensor. What a module or a tensor of the script's own
        makes of being asked is no failure of its call."""
        try:
            self._keep_versions(module)
            # what it is given beside one tensor may be another each time
            return self._find_again(module, args) if len(args) == 1 and not kwargs else []
        except Exception:  # noqa: BLE001 - it is the script's own code that answers
            return []

    def _keep_versions(self, module: Any) -> None:
        """Keep how often a module's parameters were written to when it is first called. A lazy one has no version."""
        if module in self._owners:
            return
        self._owners.add(module)
        for parameter in module.parameters():
            with contextlib.suppress(ValueError):
                self._versions[id(parameter)] = _version_of(parameter)

    def _find_again(self, module: Any, args: tuple[Any, ...]) -> list[str]:
        """Return the notes of a module that is called again on the same tensor, which was not written to in between,
        in the same mode and with no update in between.
        From the second such call on it is known whether its weights are those of the call before."""
        seen = self._seen.setdefault(id(module), [])
        first = next(iter(module.parameters()), None)  # of one that is updated by hand
        version = (_version_of(args[0]), self._updates, module.training, None if first is None else _version_of(first))
        tensor = weakref.ref(args[0])
        for before, its_version, weights in seen:
            if before() is args[0] and its_version == version:
                now = [_version_of(each) for each in (*module.parameters(), *module.buffers())]
                same = weights == now and not _is_random(module)
                weights[:] = now
                return [AGAIN, SAME] if same else [AGAIN]
        seen.append((tensor, version, [-1]))
        del seen[:-MOST_INPUTS]
        return []

    def _note_unused(self, torch: Any) -> None:
        """Note where gradients are emptied that no update has used."""
        register = getattr(sys.modules.get("torch.optim.optimizer"), "register_optimizer_step_pre_hook", None)
        if register is None:  # not loaded, or older than torch 2.0
            return
        self._hook = register(lambda optimizer, *_: self._note_update(optimizer))
        for owner in (torch.optim.Optimizer, torch.nn.Module):
            self._replaced.append((owner, "zero_grad", owner.zero_grad, True))
            owner.zero_grad = self._note_emptying(owner.zero_grad)

    def _note_update(self, optimizer: Any) -> None:
        self._updates += 1
        self._keep_used(_list_parameters(optimizer))

    def _keep_used(self, parameters: Iterable[Any]) -> None:
        for parameter in parameters:
            if parameter.grad is not None:
                self._used[id(parameter)] = (weakref.ref(parameter.grad), parameter.grad._version)

    def _note_emptying(self, empty: Any) -> Any:
        @functools.wraps(empty)
        def empty_and_note(owner: Any, *args: Any, **kwargs: Any) -> Any:
            parameters = [parameter for parameter in _list_parameters(owner) if id(parameter) in self._used]
            grads = [(self._used[id(parameter)], parameter.grad) for parameter in parameters]
            grads = [(used, grad) for used, grad in grads if grad is not None]
            unused = [grad for (used, version), grad in grads if used() is not grad or version != grad._version]
            name = UNUSED + _list_shapes(unused)
            begin = time.time_ns()
            result = empty(owner, *args, **kwargs)
            if unused and threading.get_ident() == self._thread_id:
                frame = find_caller(sys._getframe(1))
                self.calls.append((begin, time.time_ns() - begin, frame.f_code, frame.f_lasti, name))
            self._keep_used(parameters)
            return result

        return empty_and_note

    def _note_call(self, call: Any, name: str) -> Any:
        calls, ours = self.calls, self._thread_id
        is_index = name.rpartition(".")[2] in INDEXING

        @functools.wraps(call)
        def call_and_note(*args: Any, **kwargs: Any) -> Any:
            begin = time.time_ns()
            result = call(*args, **kwargs)
            if threading.get_ident() == ours and (
                (name != MOVE or _comes_to_host(args[0], result)) and (not is_index or _holds_mask(args[1]))
            ):
                frame = find_caller(sys._getframe(1))
                calls.append((begin, time.time_ns() - begin, frame.f_code, frame.f_lasti, name))
            return result

        return call_and_note


def _version_of(tensor: Any) -> int:
    """Return how often a tensor was written to; of one made in inference mode it is not known."""
    return -1 if tensor.is_inference() else int(tensor._version)


def _is_random(module: Any) -> bool:
    """Return whether a module drops values by chance in its mode, or a part of it does: dropout has its part as `p` or
    `dropout`, stochastic depth as `drop_prob`."""
    parts = [each for each in module.modules() if each.training]
    chances = (getattr(each, name, 0) for each in parts for name in ("p", "dropout", "drop_prob"))
    return any(isinstance(chance, float) and chance > 0 for chance in chances)


def _list_shapes(tensors: list[Any]) -> str:
    return " ".join(str(list(tensor.shape)).replace(" ", "") for tensor in tensors)


def _list_parameters(owner: Any) -> list[Any]:
    """Return the parameters of an optimizer or a module."""
    groups = getattr(owner, "param_groups", None)
    return (
        list(owner.parameters()) if groups is None else [parameter for group in groups for parameter in group["params"]]
    )


def _comes_to_host(tensor: Any, result: Any) -> bool:
    return bool(result.device.type == "cpu" != tensor.device.type)


def _is_on_device(index: Any) -> bool:
    """Return whether an index is on a device; NumPy's arrays, of older versions, know of none."""
    return getattr(getattr(index, "device", None), "type", "cpu") != "cpu"


def _holds_mask(index: Any) -> bool:
    """Return whether an index is, or has in it, a tensor of booleans on a device."""
    parts = index if isinstance(index, tuple) else (index,)
    return any("bool" in str(getattr(part, "dtype", "")) and _is_on_device(part) for part in parts)
