"""CUDA's autocast for tensors on the CPU.

The CPU has an autocast with other lists and another dtype. Its kernels (dispatch key AutocastCPU) are
replaced by ones that follow CUDA's lists, at the same place in the dispatcher, so that operators called from
C++ are met too; then "cuda" is mapped to "cpu" wherever autocast is entered or asked about.

Source: https://pytorch.org/docs/stable/amp.html#cuda-op-specific-behavior and, for the exact overloads,
aten/src/ATen/autocast_mode.h (AT_FORALL_LOWER_PRECISION_FP, AT_FORALL_FP32, AT_FORALL_FP32_SET_OPT_DTYPE,
AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE, AT_FORALL_PROMOTE). The installed torch knows which operators it has
registered for CUDA's autocast; one that is not listed here is refused.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable

import torch
import torch.amp.autocast_mode as mode

from ..replacing import replaces
from .places import NotStandIn

# ruff: noqa: SIM905 - a column of names reads better without quotes
#: Run in float16 or bfloat16.
LOWER = """
_convolution _convolution.deprecated _scaled_dot_product_flash_attention _thnn_fused_gru_cell
_thnn_fused_lstm_cell addbmm addmm addmv addr baddbmm bmm chain_matmul conv1d conv2d conv3d conv_tbc
conv_transpose1d conv_transpose2d.input conv_transpose3d.input convolution cudnn_convolution
cudnn_convolution_transpose einsum gru_cell linalg_multi_dot linalg_vecdot linear lstm_cell matmul mm mv prelu
rnn_relu_cell rnn_tanh_cell scaled_dot_product_attention
""".split()

#: Of these, those made of several steps whose results CUDA rounds one by one.
ROUNDED_WITHIN = {"chain_matmul", "linalg_multi_dot", "gru_cell", "lstm_cell", "rnn_relu_cell", "rnn_tanh_cell"}

#: Run in float32.
FLOAT32 = """
_upsample_bicubic2d_aa _upsample_bilinear2d_aa _upsample_nearest_exact1d _upsample_nearest_exact2d
_upsample_nearest_exact3d acos asin binary_cross_entropy_with_logits cdist cosh cosine_embedding_loss
cosine_similarity dist erfinv exp expm1 frobenius_norm.dim group_norm hinge_embedding_loss huber_loss kl_div
l1_loss layer_norm log log10 log1p log2 logsumexp margin_ranking_loss mse_loss multi_margin_loss
multilabel_margin_loss native_layer_norm nll_loss nll_loss2d nuclear_norm nuclear_norm.dim pdist
poisson_nll_loss pow.Scalar pow.Tensor_Scalar pow.Tensor_Tensor reciprocal renorm rms_norm rsqrt sinh
smooth_l1_loss soft_margin_loss softplus tan triplet_margin_loss upsample_bicubic2d upsample_bilinear2d
upsample_linear1d upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_trilinear3d
""".split()

#: Asked for a float32 result by their own `dtype`, unless the caller names one.
FLOAT32_RESULT = """
cumprod cumsum linalg_matrix_norm linalg_matrix_norm.str_ord linalg_vector_norm log_softmax.int prod
prod.dim_int softmax.int sum sum.dim_IntList
""".split()

#: Sent to another overload that takes the dtype of the result.
OTHER_OVERLOAD = {"norm.Scalar": "norm.ScalarOpt_dtype", "norm.ScalarOpt_dim": "norm.ScalarOpt_dim_dtype"}

#: All floating-point arguments brought to the widest type among them.
WIDEST = """
addcdiv addcmul atan2 bilinear cross dot grid_sampler index_put scatter_add tensordot vdot
""".split()

#: Refused with this explanation.
REFUSED = {
    "binary_cross_entropy": "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast. "
    "Use torch.nn.functional.binary_cross_entropy_with_logits or torch.nn.BCEWithLogitsLoss."
}

#: Kernels of CUDA's own libraries, which the CPU never runs.
NOT_ON_CPU = {"cudnn_convolution", "cudnn_convolution_transpose", "_thnn_fused_gru_cell", "_thnn_fused_lstm_cell"}

_KEY = torch._C.DispatchKey.AutocastCPU
_WITHOUT = torch._C.DispatchKeySet(_KEY)
_get_dtype = torch.get_autocast_dtype
_is_enabled = torch.is_autocast_enabled
_library: list[torch.library.Library] = []
_cache: dict[int, tuple[weakref.ref[torch.Tensor], torch.Tensor]] = {}
_default_dtype = torch.float16
_note: Callable[..., None] = lambda code, **args: None  # noqa: E731


def install_autocast(note: Callable[..., None]) -> None:
    """Put CUDA's autocast in the place of the CPU's; `note` takes a remark at the first region."""
    global _note
    _note = note
    library = torch.library.Library("aten", "IMPL", "AutocastCPU")
    cuda = operators_with_kernel("AutocastCUDA")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="(?s).*Overriding a previously registered kernel")  # on purpose
        for name in sorted((cuda | operators_with_kernel("AutocastCPU")) - NOT_ON_CPU):
            kernel = _make_kernel(name) if name in cuda else torch.library.fallthrough_kernel
            try:
                library.impl(name, kernel, allow_override=True)
            except TypeError:  # torch before 2.8 overrides without being asked, with a warning
                library.impl(name, kernel)
    _library.append(library)  # its kernels go when it goes
    replaces(mode.autocast, "__init__")(_init_context)
    replaces(torch, "clear_autocast_cache")(_clear_cache)
    _map_queries()
    # `custom_fwd(device_type="cuda")` looks for CUDA tensors to cast
    replaces(mode, "custom_fwd", "custom_bwd")(
        lambda original, *args, **kw: original(*args, **{**kw, "device_type": "cpu"})
    )
    torch.amp.custom_fwd = torch.cuda.amp.custom_fwd = torch.cuda.amp.autocast_mode.custom_fwd = mode.custom_fwd
    torch.amp.custom_bwd = torch.cuda.amp.custom_bwd = torch.cuda.amp.autocast_mode.custom_bwd = mode.custom_bwd


def operators_with_kernel(key: str) -> set[str]:
    """Return the aten operators with a kernel of their own for a dispatch key, `mm` or `sum.dim_IntList`."""
    names = (name for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::"))
    return {name[6:] for name in names if torch._C._dispatch_has_kernel_for_dispatch_key(name, key)}


def _make_kernel(name: str) -> Callable[..., object]:
    """Make what CUDA's autocast does with one operator."""
    if name in LOWER:
        return _low_precision(name)
    if name in FLOAT32:
        return _cast_to_wanted(name, lambda args: torch.float32)
    if name in WIDEST:
        return _cast_to_wanted(name, _choose_widest)
    if name in FLOAT32_RESULT:
        return _float32_result(name)
    if name in OTHER_OVERLOAD:
        return _other_overload(OTHER_OVERLOAD[name])

    def raise_refusal(*args: object, **kwargs: object) -> object:
        if name in REFUSED:
            raise RuntimeError(REFUSED[name])
        raise NotStandIn(f"CUDA's autocast of aten::{name}, unknown to this version of the workbook,")

    return raise_refusal


def _find_operator(name: str) -> torch._ops.OpOverload:
    packet, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, packet), overload or "default")


def _cast_to_wanted(name: str, wanted: Callable[[list[object]], torch.dtype]) -> Callable[..., object]:
    operator = _find_operator(name)

    def run_casting(*args: object, **kwargs: object) -> object:
        with torch._C._ExcludeDispatchKeyGuard(_WITHOUT):
            dtype = wanted([*args, *kwargs.values()])
            cast = [_cast_value(value, dtype) for value in args]
            return operator(*cast, **{key: _cast_value(value, dtype) for key, value in kwargs.items()})

    return run_casting


def _low_precision(name: str) -> Callable[..., object]:
    """Make a kernel with arguments and result in low precision and sums in float32 between, as tensor cores do.

    The arguments are rounded, widened again (which is exact) and given to the float32 operator, whose result
    is rounded; backward goes the same way. CPU kernels for float16 are also tens of times slower.
    """
    if name in ROUNDED_WITHIN:
        return _cast_to_wanted(name, lambda args: _get_dtype("cpu"))
    operator = _find_operator(name)

    def run_low_precision(*args: object, **kwargs: object) -> object:
        with torch._C._ExcludeDispatchKeyGuard(_WITHOUT):
            low = _get_dtype("cpu")
            args = tuple(_cast_value(_cast_value(value, low), torch.float32) for value in args)
            kwargs = {key: _cast_value(_cast_value(value, low), torch.float32) for key, value in kwargs.items()}
            return _cast_value(operator(*args, **kwargs), low)

    return run_low_precision


def _float32_result(name: str) -> Callable[..., object]:
    operator = _find_operator(name)
    names = [argument.name for argument in operator._schema.arguments]
    place = names.index("dtype")

    def run_float32_result(*args: object, **kwargs: object) -> object:
        dtype = args[place] if len(args) > place else kwargs.get("dtype")
        if dtype is None and _is_eligible(args[0]):
            args = args[:place]
            kwargs["dtype"] = torch.float32
        with torch._C._ExcludeDispatchKeyGuard(_WITHOUT):
            return operator(*args, **kwargs)

    return run_float32_result


def _other_overload(name: str) -> Callable[..., object]:
    operator = _find_operator(name)
    count = len(operator._schema.arguments) - 1

    def run_other_overload(tensor: torch.Tensor, *args: object, **kwargs: object) -> object:
        defaults = [argument.default_value for argument in operator._schema.arguments[1 + len(args) : count]]
        dtype = torch.float32 if _is_eligible(tensor) else tensor.dtype
        with torch._C._ExcludeDispatchKeyGuard(_WITHOUT):
            return operator(tensor, *args, *defaults, dtype=dtype)

    return run_other_overload


def _is_eligible(value: object) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point() and value.dtype != torch.float64


def _choose_widest(values: list[object]) -> torch.dtype:
    """Return float32 where any argument is, else the low precision of autocast."""
    flat = [item for value in values for item in (value if isinstance(value, (list, tuple)) else (value,))]
    wide = any(isinstance(item, torch.Tensor) and item.dtype == torch.float32 for item in flat)
    return torch.float32 if wide else _get_dtype("cpu")


def _cast_value(value: object, dtype: torch.dtype) -> object:
    if isinstance(value, (list, tuple)):
        return [_cast_value(item, dtype) for item in value]
    if not isinstance(value, torch.Tensor) or not _is_eligible(value) or value.dtype == dtype:
        return value
    # A weight is cast once per autocast region: with several uses its gradients then add up in low precision
    low = dtype != torch.float32 and value.dtype == torch.float32
    if not (low and value.requires_grad and value.is_leaf and value._base is None and torch.is_grad_enabled()):
        return value.to(dtype)
    if not torch.is_autocast_cache_enabled():
        return value.to(dtype)
    known = _cache.get(id(value))
    if known is None or known[0]() is not value or known[1].dtype != dtype:
        known = _cache[id(value)] = (weakref.ref(value), value.to(dtype))
    return known[1]


def _init_context(
    original: Callable[..., None],
    self: mode.autocast,
    device_type: str,
    dtype: torch.dtype | None = None,
    enabled: bool = True,
    cache_enabled: bool | None = None,
) -> None:
    if device_type in ("cuda", "cpu"):
        device_type, dtype = "cpu", _current_dtype() if dtype is None else dtype
        if enabled:
            _note("autocast_as_cuda")
    original(self, device_type, dtype, enabled, cache_enabled)


def _clear_cache(original: Callable[[], None]) -> None:
    _cache.clear()
    original()


def _current_dtype() -> torch.dtype:
    """Return the dtype of the region, outside of one the dtype set for CUDA: float16 by default."""
    return _get_dtype("cpu") if _is_enabled("cpu") else _default_dtype


def _map_queries() -> None:
    set_enabled, set_dtype = torch.set_autocast_enabled, torch.set_autocast_dtype

    def is_autocast_enabled(device_type: str = "cuda") -> bool:
        return bool(_is_enabled("cpu" if device_type == "cuda" else device_type))

    def get_autocast_dtype(device_type: str = "cuda") -> torch.dtype:
        return _current_dtype() if device_type in ("cuda", "cpu") else _get_dtype(device_type)

    def set_autocast_enabled(*args: object) -> None:
        enabled = args[-1]
        set_enabled("cpu" if len(args) == 1 or args[0] == "cuda" else args[0], enabled)

    def set_autocast_dtype(device_type: str, dtype: torch.dtype) -> None:
        global _default_dtype
        if device_type == "cuda":
            _default_dtype, device_type = dtype, "cpu"
        set_dtype(device_type, dtype)

    torch.is_autocast_enabled, torch.get_autocast_dtype = is_autocast_enabled, get_autocast_dtype
    torch.set_autocast_enabled, torch.set_autocast_dtype = set_autocast_enabled, set_autocast_dtype
    torch.get_autocast_gpu_dtype = get_autocast_dtype
    torch.set_autocast_gpu_dtype = lambda dtype: set_autocast_dtype("cuda", dtype)
