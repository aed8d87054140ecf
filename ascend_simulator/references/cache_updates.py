"""Writing keys and values into a cache: npu_kv_rmsnorm_rope_cache(_v2), npu_scatter_pa_kv_cache, npu_scatter_list.

Formulas, layouts and limits: npu_kv_rmsnorm_rope_cache.md, npu_scatter_pa_kv_cache.md (registry.DOCUMENTS);
npu_scatter_list: test/test_custom_ops/test_scatter_list.py of https://gitcode.com/Ascend/op-plugin.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .numeric import as_wide
from .registry import HALVES, Arguments, reference, takes
from .rotary import rotate_half

RMS, ROPE = 512, 64
PAGED = ("PA", "PA_BNSD", "PA_NZ", "PA_BLK_BNSD", "PA_BLK_NZ")
CACHE = (*HALVES, torch.int8)
LATENT = {
    **dict.fromkeys(("kv", "gamma", "cos", "sin"), HALVES),
    "index": (torch.int64,),
    **dict.fromkeys(("k_cache", "ckv_cache"), CACHE),
    **dict.fromkeys(("k_rope_scale", "c_kv_scale"), (torch.float32,)),
}
SCATTERED = (*HALVES, torch.float32, torch.int8, torch.uint8, torch.int16, torch.int32)
INTEGERS = (torch.int32, torch.int64)


@reference("npu::npu_kv_rmsnorm_rope_cache", dtypes=LATENT, writes=("k_cache", "ckv_cache"))
@reference("npu::npu_kv_rmsnorm_rope_cache_v2", dtypes=LATENT, writes=("k_cache", "ckv_cache"))
@takes(
    "Tensor kv, Tensor gamma, Tensor cos, Tensor sin, Tensor index, Tensor k_cache, Tensor ckv_cache, *, "
    'Tensor? k_rope_scale=None, Tensor? c_kv_scale=None, float epsilon=1e-5, str cache_mode="Norm", '
    "bool is_output_kv=False"
)
def npu_kv_rmsnorm_rope_cache(call: Arguments) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(k_cache, ckv_cache, the rotated (B, 1, S, 64), the normalised (B, 1, S, 512)) of kv (B, 1, S, 576).

    The last two are memory nobody wrote, nan, where they are not asked for.
    """
    _check_latent(call)
    first, last = as_wide(call.kv).split([RMS, ROPE], -1)
    latent = first * (first.square().mean(-1, keepdim=True) + call.epsilon).rsqrt() * as_wide(call.gamma)
    pairs = torch.cat((last[..., ::2], last[..., 1::2]), -1)
    rope = pairs * as_wide(call.cos) + rotate_half(pairs, "half") * as_wide(call.sin)
    caches = []
    for cache, rows, scale in ((call.k_cache, rope, call.k_rope_scale), (call.ckv_cache, latent, call.c_kv_scale)):
        stored = rows if scale is None else (rows * scale).round().clamp(-128, 127)
        caches.append(_store_rows(cache, stored.to(cache.dtype), call.index, call.cache_mode))
    returned = call.is_output_kv and call.cache_mode != "Norm"
    results = [x.to(call.kv.dtype) if returned else call.kv.new_full(x.shape, torch.nan) for x in (rope, latent)]
    return caches[0], caches[1], results[0], results[1]


def _check_latent(call: Arguments) -> None:
    name, kv, gamma, mode = "npu_kv_rmsnorm_rope_cache", call.kv, call.gamma, call.cache_mode
    k_cache, ckv_cache, k_scale, kv_scale = call.k_cache, call.ckv_cache, call.k_rope_scale, call.c_kv_scale
    if mode != "Norm" and mode not in PAGED:
        raise RuntimeError(f"{name} supports cache_mode Norm, {', '.join(PAGED)}, but got {mode}")
    if kv.dim() != 4 or kv.shape[1] != 1 or kv.shape[3] != RMS + ROPE or gamma.shape != (RMS,):
        raise RuntimeError(f"{name} takes kv (B, 1, S, 576) and gamma (512), got {list(kv.shape)}, {list(gamma.shape)}")
    if k_cache.shape[-1] != ROPE or ckv_cache.shape[-1] != RMS:
        raise RuntimeError(f"{name}: caches {list(k_cache.shape)} and {list(ckv_cache.shape)}")
    if (k_scale is None) != (kv_scale is None):
        raise RuntimeError(f"{name}: k_rope_scale and c_kv_scale must be given together")
    expected = kv.dtype if k_scale is None else torch.int8
    if k_cache.dtype != expected or ckv_cache.dtype != expected:
        raise RuntimeError(f"{name}: caches of {expected} expected, but got {k_cache.dtype} and {ckv_cache.dtype}")


def _store_rows(cache: Tensor, rows: Tensor, index: Tensor, mode: str) -> Tensor:
    """Return the cache with rows (B, 1, S, D) at what index says; a negative index stores nothing."""
    batch, _, length, size = rows.shape
    if mode == "Norm":
        if index.shape != (batch, length):
            raise RuntimeError(f"cache_mode Norm takes index ({batch}, {length}), but got {list(index.shape)}")
        slots = torch.arange(batch, device=cache.device)[:, None] * cache.shape[2] + index
        slots = torch.where((index >= 0) & (index < cache.shape[2]), slots, -1)
        return scatter_rows(cache.flatten(0, 2), rows.flatten(0, 2), slots.flatten()).view_as(cache)
    block = cache.shape[1]
    if "BLK" in mode:
        pages = -(-length // block)
        position = torch.arange(length, device=cache.device)
        starts = index.reshape(batch, pages)[:, position // block]
        slots = torch.where(starts >= 0, starts // block * block + position % block, -1).flatten()
    else:
        slots = index
    if slots.numel() != batch * length:
        raise RuntimeError(f"cache_mode {mode}: index {list(index.shape)} for {batch} entries of length {length}")
    if not mode.endswith("NZ"):
        return scatter_rows(cache.flatten(0, 2), rows.flatten(0, 2), slots).view_as(cache)
    part = 16 if cache.dtype != torch.int8 else 32
    parts = cache.reshape(cache.shape[0], size // part, block, part)
    return scattered_into_parts(parts, rows.reshape(-1, size), slots).reshape(cache.shape)


def scattered_into_parts(cache: Tensor, rows: Tensor, slots: Tensor) -> Tensor:
    """Return a copy of cache (blocks, D / part, block, part), FRACTAL_NZ's order, with row i (D) at slots[i]."""
    stored, block = slots >= 0, cache.shape[2]
    _check_slots(slots, cache.shape[0] * block)
    result, places = cache.clone(), slots[stored].long()
    result[places // block, :, places % block] = rows[stored].unflatten(-1, (cache.shape[1], -1))
    return result


def _check_slots(slots: Tensor, count: int) -> None:
    if bool((slots >= count).any()):
        raise RuntimeError(f"the cache has {count} places, but {int(slots.max())} is asked for")


def scatter_rows(cache: Tensor, rows: Tensor, slots: Tensor) -> Tensor:
    """Return a copy of cache (places, ...) with row i at slots[i]."""
    stored = slots >= 0
    _check_slots(slots, cache.shape[0])
    result = cache.clone()
    result[slots[stored].long()] = rows[stored]
    return result


@reference(
    "npu::npu_scatter_pa_kv_cache",
    dtypes={"key": SCATTERED, "value": SCATTERED, "slot_mapping": INTEGERS},
    writes=("key_cache", "value_cache"),
)
@takes(
    'Tensor key, Tensor value, Tensor key_cache, Tensor value_cache, Tensor slot_mapping, *, str? cache_mode="PA_NZ"'
)
def npu_scatter_pa_kv_cache(call: Arguments) -> tuple[Tensor, Tensor]:
    """Tokens (T, N, D) into caches (blocks, N * D / part, block, part), or with Norm (blocks, block, N, D)."""
    if call.cache_mode not in (None, "Norm", "PA_NZ"):
        raise RuntimeError(f"npu_scatter_pa_kv_cache supports cache_mode Norm and PA_NZ, but got {call.cache_mode}")
    if call.key.dim() != 3 or call.value.dim() != 3:
        raise NotImplementedError("the NPU simulator lacks npu_scatter_pa_kv_cache with key of 4 dimensions")
    if {call.value.dtype, call.key_cache.dtype, call.value_cache.dtype} != {call.key.dtype}:
        raise RuntimeError("npu_scatter_pa_kv_cache: key, value and their caches must have one dtype")
    first, second = (
        scattered_into_parts(cache, rows.flatten(1), call.slot_mapping)
        if call.cache_mode == "PA_NZ"
        else scatter_rows(cache.flatten(0, 1), rows, call.slot_mapping).view_as(cache)
        for cache, rows in ((call.key_cache, call.key), (call.value_cache, call.value))
    )
    return first, second


def _check_update(tensor: Tensor, place: int, update: Tensor, axis: int) -> None:
    name = "npu_scatter_list"
    if update.dtype != tensor.dtype:
        raise RuntimeError(f"{name}: updates of {update.dtype} for a tensor of {tensor.dtype}")
    if tensor.dim() != update.dim() or not 0 <= place < tensor.shape[axis]:
        raise RuntimeError(f"{name}: index {place} into {list(tensor.shape)} along the axis {axis}")
    if tensor.select(axis, place).shape != update.select(axis, 0).shape:
        raise RuntimeError(f"{name}: an update {list(update.shape)} for a tensor {list(tensor.shape)}, axis {axis}")


@reference("npu::npu_scatter_list")
@reference("npu::npu_scatter_list_", writes=("input",))
@takes('Tensor[] input, Tensor indices, Tensor updates, Tensor? mask=None, str reduce="update", int axis=-2')
def npu_scatter_list(call: Arguments) -> list[Tensor]:
    """Copies of the tensors, with updates[i] of length 1 along the axis at indices[i] of tensor i."""
    if call.reduce != "update" or call.axis not in (-1, -2):
        raise RuntimeError(
            f"npu_scatter_list supports reduce update, and axis -1 and -2, got {call.reduce} and {call.axis}"
        )
    if (
        call.indices.shape != (len(call.input),)
        or call.updates.shape[0] != len(call.input)
        or call.updates.shape[call.axis] != 1
    ):
        raise NotImplementedError(
            f"the NPU simulator lacks npu_scatter_list with indices {list(call.indices.shape)} and updates of length "
            f"{call.updates.shape[call.axis]} along the axis"
        )
    if call.mask is not None and not bool(call.mask.all()):
        raise NotImplementedError("the NPU simulator lacks npu_scatter_list with a mask that hides")
    result = [tensor.clone() for tensor in call.input]
    for tensor, place, update in zip(result, call.indices.tolist(), call.updates):
        _check_update(tensor, place, update, call.axis)
        tensor.select(call.axis, place).copy_(update.select(call.axis, 0))
    return result
