"""Rides in the training process of several ranks: every collective, what it was given and what it gave. Loaded by path.

`ranks.rank<R>.json` holds the process groups, the meshes, and one record a call: operation, group, dtype, shapes, the
parameter whose memory it works on, the script's line, and of each piece that is sent or received a checksum, the norm
and a sketch. Functions of torch.distributed are taken, and the functional ones that DTensor calls; what C++ does by
itself is not seen: of DistributedDataParallel each parameter's own gradient is kept instead, before it is averaged."""

from __future__ import annotations

import base64
import functools
import json
import math
import os
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.distributed as dist

if TYPE_CHECKING:
    from ascend_workbook.machine.launch.child.observer import Observer

#: Frames of this file stand between the program's line and torch's.
PASSES_THROUGH = True
SCHEMA = "ascend-workbook/ranks/1"
#: Calls that are kept: of one step, and before the first.
MOST_CALLS = 2000
WATCHED = "_workbook_watched"

_base = torch.Tensor.__base__
_detach, _to, _reshape, _numpy = _base.detach, _base.to, _base.reshape, _base.numpy

# How the arguments of each function lie: names of what is given and of what is received, and whether each is one
# tensor that holds a piece per rank ("split"), a list of pieces, or one piece.
ONE, SPLIT, LIST = "one", "split", "list"
FUNCTIONS: dict[str, tuple[str, str, str, str, str]] = {
    "all_reduce": ("all_reduce", "tensor", ONE, "tensor", ONE),
    "broadcast": ("broadcast", "tensor", ONE, "tensor", ONE),
    "reduce": ("reduce", "tensor", ONE, "tensor", ONE),
    "all_gather": ("all_gather", "tensor", ONE, "tensor_list", LIST),
    "all_gather_into_tensor": ("all_gather", "input_tensor", ONE, "output_tensor", SPLIT),
    "_all_gather_base": ("all_gather", "input_tensor", ONE, "output_tensor", SPLIT),
    "reduce_scatter": ("reduce_scatter", "input_list", LIST, "output", ONE),
    "reduce_scatter_tensor": ("reduce_scatter", "input", SPLIT, "output", ONE),
    "_reduce_scatter_base": ("reduce_scatter", "input", SPLIT, "output", ONE),
    "all_to_all": ("all_to_all", "input_tensor_list", LIST, "output_tensor_list", LIST),
    "all_to_all_single": ("all_to_all", "input", SPLIT, "output", SPLIT),
    "gather": ("gather", "tensor", ONE, "gather_list", LIST),
    "scatter": ("scatter", "scatter_list", LIST, "tensor", ONE),
    "send": ("send", "tensor", ONE, "", ONE),
    "recv": ("recv", "", ONE, "tensor", ONE),
    "isend": ("send", "tensor", ONE, "", ONE),
    "irecv": ("recv", "", ONE, "tensor", ONE),
}
#: The positional arguments of each, in order.
SIGNATURES = {
    "all_reduce": "tensor op group async_op",
    "broadcast": "tensor src group async_op group_src",
    "reduce": "tensor dst op group async_op group_dst",
    "all_gather": "tensor_list tensor group async_op",
    "all_gather_into_tensor": "output_tensor input_tensor group async_op",
    "_all_gather_base": "output_tensor input_tensor group async_op",
    "reduce_scatter": "output input_list op group async_op",
    "reduce_scatter_tensor": "output input op group async_op",
    "_reduce_scatter_base": "output input op group async_op",
    "all_to_all": "output_tensor_list input_tensor_list group async_op",
    "all_to_all_single": "output input output_split_sizes input_split_sizes group async_op",
    "gather": "tensor gather_list dst group async_op group_dst",
    "scatter": "tensor scatter_list src group async_op group_src",
    "send": "tensor dst group tag group_dst",
    "recv": "tensor src group tag group_src",
    "isend": "tensor dst group tag group_dst",
    "irecv": "tensor src group tag group_src",
}
#: Functional ones: (operation, how pieces are given, how they are received).
FUNCTIONAL = {
    "all_reduce": ("all_reduce", ONE, ONE),
    "all_gather_tensor": ("all_gather", ONE, SPLIT),
    "reduce_scatter_tensor": ("reduce_scatter", SPLIT, ONE),
}


class Collectives:
    """Recorded by the capture, which tells of iterations. `state` names parameters and says which steps are kept."""

    def __init__(self, observer: Observer, state: Any, sketching: ModuleType, groups: Callable[[], list[list[int]]]):
        self.observer, self.state, self.sketching, self.groups = observer, state, sketching, groups
        self.calls: list[dict[str, Any]] = []
        self.counts: dict[int, int] = {}
        self.inside = False
        self.begun = False
        self.left_out = 0
        self.error = ""
        self.local: dict[int, dict[str, Any]] = {}
        self.hooked: set[int] = set()
        #: Tells where this rank stands; None in tests of the recording alone.
        self.standing: Any = None
        self.around: dict[str, Any] = {"groups": [], "backend": "", "wrapped": []}

    def install(self) -> None:
        """Watch the functions of torch.distributed; again, where msprobe put back those that it found."""
        for name in FUNCTIONS:
            original = getattr(dist, name, None)
            if original is None or hasattr(original, WATCHED):
                continue
            watched = self._watch(name, original)
            for owner in (dist, dist.distributed_c10d):
                if getattr(owner, name, None) is original:
                    setattr(owner, name, watched)
        import torch.distributed._functional_collectives as functional

        for name in FUNCTIONAL:
            original = getattr(functional, name, None)
            if original is not None and not hasattr(original, WATCHED):
                setattr(functional, name, self._watch_functional(name, original))

    def begin_iteration(self) -> None:
        """Before the first forward of an iteration: DistributedDataParallel's own gradients are kept from here on."""
        self.begun = True
        self._look_around()
        for model in self.observer.models:
            if isinstance(model, torch.nn.parallel.DistributedDataParallel) and id(model) not in self.hooked:
                self.hooked.add(id(model))
                for parameter in model.parameters():
                    if parameter.requires_grad:
                        parameter.register_hook(functools.partial(self._keep_gradient, parameter))

    def write(self, path: Path) -> None:
        """Write what was recorded."""
        content = {
            "schema": SCHEMA,
            "error": self.error,
            "rank": self.observer.rank,
            "world_size": self.observer.world_size,
            **self.around,
            "left_out": self.left_out,
            "calls": self.calls,
            "local": [
                {"step": step, "gradients": {name: self._pack_local(value) for name, value in own.items()}}
                for step, own in sorted(self.local.items())
            ],
        }
        aside = path.with_name(f"{path.name}.part")
        aside.write_text(json.dumps(content), encoding="utf-8")
        os.replace(aside, path)  # noqa: PTH105

    # Inside

    def _look_around(self) -> None:
        """Read the groups that there are; at its end a script may have destroyed them."""
        if dist.is_initialized():
            groups = [{"ranks": members} for members in self.groups()]
            self.around = {"groups": groups, "backend": str(dist.get_backend()), "wrapped": self._describe_wrappers()}

    def _describe_wrappers(self) -> list[dict[str, Any]]:
        wrapped = []
        for model in self.observer.models:
            if isinstance(model, torch.nn.parallel.DistributedDataParallel):
                members = list(dist.get_process_group_ranks(model.process_group))
                wrapped.append({"kind": "ddp", "ranks": members})
        return wrapped

    def _keep_gradient(self, parameter: torch.nn.Parameter, gradient: torch.Tensor) -> None:
        if not self._records() or self.inside:
            return
        try:
            names = self.state._parameters()
            name = names.get(id(parameter))
            if name is None:
                return
            own = self.local.setdefault(self.state.iteration, {})
            values = self._values(gradient)
            if name not in own:
                held = parameter.grad
                began = held is None or not bool(np.any(self._values(held)))
                own[name] = {"sketch": 0.0, "count": 0, "clean": began, "dtype": str(gradient.dtype)}
            with np.errstate(all="ignore"):
                own[name]["sketch"] = own[name]["sketch"] + self.sketching.sketch(values)
            own[name]["count"] += 1
        except Exception as error:  # noqa: BLE001 - an error of the recording's own never ends the script
            self.error = self.error or f"{type(error).__name__}: {error}"[:300]

    def _pack_local(self, gradient: dict[str, Any]) -> list[Any]:
        text = base64.b64encode(np.asarray(gradient["sketch"]).astype("<f4").tobytes()).decode("ascii")
        return [gradient["dtype"].rpartition(".")[2], gradient["count"], gradient["clean"], text]

    def _records(self) -> bool:
        if self.error or not self.observer.active:
            return False
        return not self.begun or self.state.active

    def _watch(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        operation, source, how_given, received, how_received = FUNCTIONS[name]
        order = SIGNATURES[name].split()

        @functools.wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            if self.inside:
                return original(*args, **kwargs)
            named = {**dict(zip(order, args)), **kwargs}
            self._enter(operation, named)
            result = record_call(named, args, kwargs)
            self._leave()
            return result

        def record_call(named: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if not self._records():
                return original(*args, **kwargs)
            record = self._begin(operation, named, named.get(source), how_given)
            self.inside = True
            try:
                result = original(*args, **kwargs)
            finally:
                self.inside = False
            if record is None:
                return result
            outputs = named.get(received) if received else None
            if result is not None and hasattr(result, "wait"):
                record["async"] = True
                return Waited(result, functools.partial(self._end, record, named, outputs, how_received))
            self._end(record, named, outputs, how_received)
            return result

        setattr(call, WATCHED, True)
        return call

    def _watch_functional(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        operation, how_given, how_received = FUNCTIONAL[name]

        @functools.wraps(original)
        def call(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            if self.inside or not self._records() or not isinstance(tensor, torch.Tensor):
                return original(tensor, *args, **kwargs)
            named: dict[str, Any] = {**kwargs}
            texts = [value for value in args if isinstance(value, str)]
            named.setdefault("op", kwargs.get("reduceOp", texts[0] if texts else "sum"))
            dims = [value for value in args if isinstance(value, int) and not isinstance(value, bool)]
            dim = kwargs.get("gather_dim", kwargs.get("scatter_dim", dims[0] if dims else 0))
            group = kwargs.get("group", next((v for v in args if not isinstance(v, (str, int))), None))
            named["group"] = group
            self._enter(operation, named)
            self.inside = True
            try:
                result = original(tensor, *args, **kwargs)
            finally:
                self.inside = False
            source = tensor.movedim(dim, 0) if how_given == SPLIT and dim else tensor
            record = self._begin(operation, named, source, how_given)
            if record is not None:
                self.inside = True
                try:
                    plain = result.wait() if hasattr(result, "wait") else result
                finally:
                    self.inside = False
                received = plain.movedim(dim, 0) if how_received == SPLIT and dim else plain
                self._end(record, named, received, how_received)
            self._leave()
            return result

        setattr(call, WATCHED, True)
        return call

    def _enter(self, operation: str, named: dict[str, Any]) -> None:
        """Tell that the script is in a collective. What fails there leaves it told."""
        if self.standing is not None:
            members = _members(named.get("group"))
            if members is not None and self.observer.rank in members:
                step = self.state.iteration if self.begun else -1
                self.standing.enter(operation, members, step, _find_peer(named, members))

    def _leave(self) -> None:
        """It came back."""
        if self.standing is not None:
            self.standing.leave()

    def _begin(self, operation: str, named: dict[str, Any], source: Any, how: str) -> dict[str, Any] | None:
        """The record of a call, with what it is given; None where it is not kept."""
        step = self.state.iteration if self.begun else -1
        if self.counts.get(step, 0) >= MOST_CALLS:
            self.left_out += 1
            return None
        try:
            members = _members(named.get("group"))
            if members is None or self.observer.rank not in members:
                return None
            self.counts[step] = self.counts.get(step, 0) + 1
            record: dict[str, Any] = {
                "op": operation,
                "step": step,
                "group": members,
                "reduce": _name_reduction(named.get("op")) if "reduce" in operation else "",
                "place": self.find_place(),
                "names": self._name_memory(source),
                "in": self._pack_pieces(source, how, len(members), named.get("input_split_sizes")),
            }
            peer = _find_peer(named, members)
            if peer is not None:
                record["peer"] = peer
            self.calls.append(record)
            return record
        except Exception as error:  # noqa: BLE001 - an error of the recording's own never ends the script
            self.error = self.error or f"{type(error).__name__}: {error}"[:300]
            return None

    def _end(self, record: dict[str, Any], named: dict[str, Any], received: Any, how: str) -> None:
        try:
            if received is not None:
                sizes = named.get("output_split_sizes")
                record["out"] = self._pack_pieces(received, how, len(record["group"]), sizes)
                record["names"] = record["names"] or self._name_memory(received)
        except Exception as error:  # noqa: BLE001 - an error of the recording's own never ends the script
            self.error = self.error or f"{type(error).__name__}: {error}"[:300]

    def find_place(self) -> str:
        """The script's line that called."""
        place: str = self.find_line()
        return place

    find_line: Callable[[], str] = staticmethod(lambda: "")

    def _name_memory(self, value: Any) -> list[str]:
        """The parameters whose values or gradients lie in the memory that a call works on."""
        tensors = [value] if isinstance(value, torch.Tensor) else list(value or ())
        pointers = {tensor.data_ptr() for tensor in tensors if isinstance(tensor, torch.Tensor) and tensor.numel()}
        names = self.state._parameters()
        named = []
        for key, parameter in self.state._all.items():
            plain = _local(parameter)
            if plain.numel() and plain.data_ptr() in pointers:
                named.append(names.get(key, "?"))
            elif parameter.grad is not None and _local(parameter.grad).data_ptr() in pointers:
                named.append(f"{names.get(key, '?')}.grad")
        return named

    def _pack_pieces(self, value: Any, how: str, count: int, sizes: Iterable[int] | None) -> list[list[Any]]:
        if value is None:
            return []
        if how == LIST:
            pieces = list(value)
        elif how == SPLIT:
            pieces = list(value.split(list(sizes))) if sizes else list(value.chunk(count)) if value.numel() else [value]
        else:
            pieces = [value]
        return [self._pack(piece) for piece in pieces]

    def _pack(self, value: torch.Tensor) -> list[Any]:
        """[dtype, shape, CRC-32 of the bytes, norm, sketch and sample in base64 of float32]."""
        values = self._values(value)
        with np.errstate(all="ignore"):
            numbers = np.concatenate([self.sketching.sketch(values), self.sketching.sample(values)]).astype("<f4")
            norm = math.sqrt(float(np.square(values).sum()))
        text = base64.b64encode(numbers.tobytes()).decode("ascii")
        dtype = str(value.dtype).rpartition(".")[2]
        checksum = f"{zlib.crc32(values.tobytes()):08x}"
        return [dtype, list(value.shape), checksum, norm if math.isfinite(norm) else None, text]

    def _values(self, value: torch.Tensor) -> Any:
        return self.state._values(value)


class Waited:
    """Work that has not ended, which records what it gave once it is waited for."""

    def __init__(self, work: Any, end: Callable[[], None]) -> None:
        self._work, self._end = work, end

    def wait(self, *args: Any, **kwargs: Any) -> Any:
        """As the work's own."""
        result = self._work.wait(*args, **kwargs)
        end, self._end = self._end, lambda: None
        end()
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._work, name)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self._work)


def _find_peer(named: dict[str, Any], members: list[int]) -> int | None:
    """The rank that a call sends to or receives from, or whose tensor it hands on."""
    for end in ("src", "dst"):
        if named.get(end) is not None:
            return int(named[end])
        if named.get(f"group_{end}") is not None:
            return members[int(named[f"group_{end}"])]
    return None


def _local(value: Any) -> torch.Tensor:
    local: torch.Tensor = value.to_local() if hasattr(value, "to_local") else value
    return local


def _members(group: Any) -> list[int] | None:
    """The ranks of a group, however it is named."""
    if isinstance(group, tuple) and len(group) == 2 and hasattr(group[0], "get_group"):
        group = group[0].get_group(group[1])
    elif hasattr(group, "get_group"):
        group = group.get_group()
    elif isinstance(group, list):
        return [int(rank) for rank in group]
    elif isinstance(group, str):
        group = dist.distributed_c10d._resolve_process_group(group)
    return list(dist.get_process_group_ranks(group if group is not None else dist.group.WORLD))


def _name_reduction(operation: Any) -> str:
    """`sum`, `avg`, `max`; of one that is not named, sum."""
    text = str(operation).rpartition(".")[2].lower() if operation is not None else "sum"
    return text or "sum"
