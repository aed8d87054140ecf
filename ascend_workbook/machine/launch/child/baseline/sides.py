"""On which side a tensor lies: here all lie on the CPU, yet a GPU script keeps two kinds of them.

It decides from which random stream a draw comes that is "like" a tensor or written into one, and whether moving a
tensor is a copy. Storages are marked, so that views, detached tensors and parameters share their tensor's side. What an
operator makes of them is not marked: `on_gpu` then assumes what GPU scripts do, and says so in `assumed`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
import torch.utils.data.dataloader as dataloader
from torch.overrides import _get_current_function_mode_stack
from torch.utils._device import DeviceContext
from torch.utils._pytree import tree_leaves

from ..replacing import replaces
from . import places

#: Marks of storages that are gone are dropped each time so many were made.
SWEEP_EVERY = 4096

_storage_of = torch.Tensor.__base__.untyped_storage
_marks: dict[int, tuple[object, bool]] = {}
_marked, _loading = 0, 0
#: Whether anything was put on the GPU yet.
_placed = False
#: Whether the side last asked for was assumed.
assumed = False


def install_sides() -> None:
    """Watch data loaders: what is drawn inside them is drawn on the CPU, and their batches lie there."""

    @replaces(dataloader._BaseDataLoaderIter, "__next__")
    def fetch_batch(original: Callable[..., object], self: object) -> object:
        global _loading
        _loading += 1
        try:
            batch = original(self)
        finally:
            _loading -= 1
        mark(tree_leaves(batch), gpu=False)
        return batch


def mark(tensors: Iterable[object], *, gpu: bool) -> None:
    """Remember the side of these tensors' storages; other things among them are passed over."""
    global _marked, _placed
    for tensor in tensors:
        storage = _find_storage(tensor)
        if storage is None:
            continue
        # while the weak reference lives, no other storage comes to lie at this address
        _marks[storage._cdata] = (storage._weak_ref(), gpu)
        _placed = _placed or gpu
        _marked += 1
        if _marked % SWEEP_EVERY == 0:
            _sweep()


def side_of(tensor: object) -> bool | None:
    """Return whether a tensor lies on the GPU; None where its storage is not marked."""
    storage = _find_storage(tensor)
    known = None if storage is None else _marks.get(storage._cdata)
    return None if known is None else known[1]


def on_gpu(*tensors: object) -> bool:
    """Return whether an operator of these tensors runs on the GPU: where none is marked, outside of data loaders, it
    does as soon as anything was put there."""
    global assumed
    assumed = False
    inputs = [tensor for tensor in tensors if isinstance(tensor, torch.Tensor)]
    sides = [side_of(tensor) for tensor in inputs]
    if True in sides:
        return True
    if False in sides and not any(tensor.grad_fn is not None for tensor in inputs):
        return False
    return _assume_side(sure=any(tensor.requires_grad for tensor in inputs))


def is_gpu(device: object) -> bool:
    """Return whether `device=` means the GPU. A `torch.device("cpu")` is most often what a tensor said, which lies on
    the GPU as far as the script knows; the text "cpu" is the script's own."""
    global assumed
    assumed = False
    if isinstance(device, torch.device) and device.type == "cpu":
        return _assume_side(sure=False)
    return places.is_cuda(device)


def _assume_side(*, sure: bool) -> bool:
    global assumed
    if _loading or dataloader.get_worker_info() is not None or not _placed:
        return False
    assumed = not sure
    return True


def default_is_gpu() -> bool:
    """Return whether `torch.set_default_device("cuda")` or `with torch.device("cuda"):` is in force."""
    if not torch._C._len_torch_function_stack():
        return False
    contexts = [mode for mode in _get_current_function_mode_stack() if isinstance(mode, DeviceContext)]
    return bool(contexts) and bool(getattr(contexts[-1], "stands_for_cuda", False))


def _find_storage(tensor: object) -> torch.UntypedStorage | None:
    if not isinstance(tensor, torch.Tensor):
        return None
    try:
        return _storage_of(tensor)
    except (NotImplementedError, RuntimeError):  # sparse, or a wrapper without memory of its own
        return None


def _sweep() -> None:
    free, expired = torch.UntypedStorage._free_weak_ref, torch.UntypedStorage._expired
    for place in [place for place, (reference, _) in _marks.items() if expired(reference)]:
        free(_marks.pop(place)[0])
