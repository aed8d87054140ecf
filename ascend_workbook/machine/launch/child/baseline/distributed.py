"""torch.distributed: nccl means gloo, a DDP model lies on the CPU."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from types import ModuleType

import torch
import torch.distributed as dist

from . import places
from .places import NotStandIn

_nccl_groups: set[int] = set()


def install_distributed() -> None:
    if not dist.is_available():
        return
    import torch.distributed.distributed_c10d as c10d

    for name in ("init_process_group", "new_group"):
        _replace_everywhere(name, _start_with_gloo(getattr(c10d, name)), c10d)
    _replace_everywhere("all_reduce", _average_reduce(c10d.all_reduce), c10d)
    _replace_everywhere("get_backend", _as_nccl(c10d.get_backend), c10d)
    dist.is_nccl_available = c10d.is_nccl_available = lambda: True
    _map_ddp()
    _map_mesh()


def _replace_everywhere(name: str, function: object, c10d: ModuleType) -> None:
    setattr(dist, name, function)
    setattr(c10d, name, function)


def _choose_backend(asked: object) -> str:
    """Return gloo for nccl, for nothing, and for "cpu:gloo,cuda:nccl."""
    text = "" if asked is None else str(asked).lower()
    if text in ("", "nccl", "gloo") or "cuda:nccl" in text:
        return "gloo"
    return text


def _start_with_gloo(original: Callable[..., object]) -> Callable[..., object]:
    whole = original.__name__ == "init_process_group"

    @functools.wraps(original)
    def start_group(*args: object, **kwargs: object) -> object:
        if whole and args:
            kwargs["backend"], args = args[0], args[1:]
        asked = kwargs.get("backend")
        kwargs["backend"] = _choose_backend(asked) if whole or asked is not None else None
        kwargs.pop("device_id", None)
        kwargs.pop("pg_options", None)  # NCCL's
        group = original(*args, **kwargs)
        if asked is None or "nccl" in str(asked).lower():
            _nccl_groups.add(id(dist.group.WORLD if group is None else group))
        return group

    return start_group


def _as_nccl(original: Callable[..., object]) -> Callable[..., object]:
    """Tell a script that asks the backend it gave; torch itself hears the one in use."""

    @functools.wraps(original)
    def get_backend(group: object = None) -> object:
        asker = sys._getframe(1).f_globals.get("__name__", "")
        if not asker.startswith("torch.") and id(dist.group.WORLD if group is None else group) in _nccl_groups:
            return "nccl"
        return original(group)

    return get_backend


def _average_reduce(original: Callable[..., object]) -> Callable[..., object]:
    """Average over gloo, which cannot: NCCL's average is the sum divided by the number of ranks."""

    @functools.wraps(original)
    def all_reduce(
        tensor: torch.Tensor, op: object = dist.ReduceOp.SUM, group: object = None, async_op: bool = False
    ) -> object:
        if op != dist.ReduceOp.AVG:
            return original(tensor, op=op, group=group, async_op=async_op)
        if async_op:
            raise NotStandIn("torch.distributed.all_reduce(op=AVG, async_op=True)")
        original(tensor, op=dist.ReduceOp.SUM, group=group)
        tensor.div_(dist.get_world_size(group))
        return None

    return all_reduce


def _map_ddp() -> None:
    from torch.nn.parallel import DistributedDataParallel as DDP

    original = DDP.__init__

    @functools.wraps(original)
    def init_ddp(
        self: DDP,
        module: torch.nn.Module,
        device_ids: Iterable[object] | None = None,
        output_device: object = None,
        *args: object,
        **kw: object,
    ) -> None:
        for device in device_ids or ():
            places.index_of(device)
        original(self, module, None, None, *args, **kw)

    DDP.__init__ = init_ddp


def _map_mesh() -> None:
    import torch.distributed.device_mesh as device_mesh

    original = device_mesh.init_device_mesh

    @functools.wraps(original)
    def init_device_mesh(device_type: str, *args: object, **kwargs: object) -> object:
        return original("cpu" if device_type == "cuda" else device_type, *args, **kwargs)

    device_mesh.init_device_mesh = init_device_mesh
    if hasattr(dist, "init_device_mesh"):
        dist.init_device_mesh = init_device_mesh
