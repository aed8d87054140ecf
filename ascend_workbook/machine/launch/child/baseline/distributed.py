"""torch.distributed: nccl means gloo, a DDP model lies on the CPU."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

import torch
import torch.distributed as dist

from ..replacing import replaces
from . import places
from .places import NotStandIn

_nccl_groups: set[int] = set()


def install_distributed() -> None:
    if not dist.is_available():
        return
    import torch.distributed.device_mesh as device_mesh
    import torch.distributed.distributed_c10d as c10d
    from torch.nn.parallel import DistributedDataParallel as DDP

    replaces(c10d, "init_process_group", "new_group")(_start_with_gloo)
    replaces(c10d, "all_reduce")(_average_reduce)
    replaces(c10d, "get_backend")(_tell_backend)
    replaces(c10d, "isend")(_send_and_hold)
    for name in ("init_process_group", "new_group", "all_reduce", "get_backend", "isend"):
        setattr(dist, name, getattr(c10d, name))
    dist.is_nccl_available = c10d.is_nccl_available = lambda: True

    @replaces(DDP, "__init__")
    def init_ddp(
        original: Callable[..., None],
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

    @replaces(device_mesh, "init_device_mesh")
    def init_device_mesh(original: Callable[..., object], device_type: str, *args: object, **kwargs: object) -> object:
        return original("cpu" if device_type == "cuda" else device_type, *args, **kwargs)

    if hasattr(dist, "init_device_mesh"):
        dist.init_device_mesh = device_mesh.init_device_mesh


def _start_with_gloo(original: Callable[..., object], *args: object, **kwargs: object) -> object:
    """Start a group with gloo for nccl, for nothing, and for "cpu:gloo,cuda:nccl"."""
    whole = original.__name__ == "init_process_group"
    if whole and args:
        kwargs["backend"], args = args[0], args[1:]
    asked = kwargs.get("backend")
    text = "" if asked is None else str(asked).lower()
    if whole or asked is not None:
        kwargs["backend"] = "gloo" if text in ("", "nccl", "gloo") or "cuda:nccl" in text else text
    kwargs.pop("device_id", None)
    kwargs.pop("pg_options", None)  # NCCL's
    group = original(*args, **kwargs)
    if not text or "nccl" in text:
        _nccl_groups.add(id(dist.group.WORLD if group is None else group))
    return group


def _tell_backend(original: Callable[..., object], group: object = None) -> object:
    """Tell a script that asks the backend it gave; torch itself hears the one in use."""
    asker = sys._getframe(2).f_globals.get("__name__", "")
    if not asker.startswith("torch.") and id(dist.group.WORLD if group is None else group) in _nccl_groups:
        return "nccl"
    return original(group)


def _send_and_hold(original: Callable[..., object], tensor: torch.Tensor, *args: object, **kwargs: object) -> object:
    """Send a view of the memory, which gloo then holds until it is sent: NCCL's stream still reads it where the script
    gives it away behind the call, as Megatron's pipelines do (`tensor.data = torch.empty(1)`)."""
    return original(tensor.detach(), *args, **kwargs)


def _average_reduce(
    original: Callable[..., object],
    tensor: torch.Tensor,
    op: object = dist.ReduceOp.SUM,
    group: object = None,
    async_op: bool = False,
) -> object:
    """Average over gloo, which cannot: NCCL's average is the sum divided by the number of ranks."""
    if op != dist.ReduceOp.AVG:
        return original(tensor, op=op, group=group, async_op=async_op)
    if async_op:
        raise NotStandIn("torch.distributed.all_reduce(op=AVG, async_op=True)")
    original(tensor, op=dist.ReduceOp.SUM, group=group)
    tensor.div_(dist.get_world_size(group))
    return None
