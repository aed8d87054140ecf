"""How much two right computations of one operator may differ: one table, by dtype and by what the hardware rounds.

A dtype's unit is half the distance from 1 to the next number. Reduced formats round the *inputs* of convolutions
and matrix products: HF32 on Ascend keeps 11 bits of the fraction, TF32 on NVIDIA 10.
Sources: IEEE 754; torch.finfo; Ascend documentation of `torch.npu.conv.allow_hf32`; NVIDIA, TF32 in cuDNN/cuBLAS."""

from __future__ import annotations

from collections.abc import Iterable

#: Fraction bits that are kept, the hidden one counted.
BITS = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8, "float8_e4m3fn": 4, "float8_e5m2": 3}
BITS.update(complex128=53, complex64=24)
REDUCED_BITS = {"hf32": 12, "tf32": 11}
#: Units by which an operator may be off through the order of its sums. Measured against float64 on CPU kernels: every
#: operator of a small residual network and of a small GPT, forward and backward, is at most 11 units off. Sums of
#: 16-bit numbers are kept in 32 bits by every device here, so that only the result is rounded.
SUMMATION = 32.0
SUMMATION_OF_HALF = 4.0
HALF_BITS = 11
#: One rounding of every input stands for the roundings inside: this share of SUMMATION times its effect is honest.
ROUNDINGS = 0.5
#: A reduced format rounds inputs and nothing else; unlucky data may double what random rounding does, twice.
REDUCED_ROUNDINGS = 4.0
#: An operator that turns its input error into more than this many times as much is suspicious.
AMPLIFICATION = 10.0
#: No input error explains more than this: an output that has nothing to do with the other is 1.4 times its size off.
UNRELATED = 2.0
#: The same in backward where only extremes and norms are known, of the largest error so far and not of the input's,
#: which may be small by luck. Measured on four networks with other threads, HF32 and bfloat16: at most 0.7 in forward,
#: 28 in backward (behind the kink of a relu).
AMPLIFICATION_OF_STATISTICS = 100.0
# ruff: noqa: SIM905 - a column of names reads better without quotes
#: API names that a reduced format applies to.
CONVOLUTIONS = """
conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d Conv1d Conv2d Conv3d ConvTranspose1d
ConvTranspose2d ConvTranspose3d
""".split()
MATMULS = """
linear matmul mm bmm addmm baddbmm einsum __matmul__ Linear scaled_dot_product_attention MultiheadAttention
""".split()
#: APIs whose gradient jumps: an input error of e moves about that share of the elements over the edge, and the
#: relative L2 error of the gradient is about its square root.
KINKED = """
relu relu_ relu6 leaky_relu prelu hardtanh hardswish hardsigmoid hardshrink softshrink max_pool1d max_pool2d
max_pool3d adaptive_max_pool2d abs clamp clamp_min clamp_max amax amin maximum minimum l1_loss smooth_l1_loss
""".split()


def unit_roundoff(dtype: str) -> float:
    """Return half a unit in the last place, relative: 2^-24 for float32. Exact dtypes (integers, bool) give 0."""
    return 2.0 ** -BITS[dtype] if dtype in BITS else 0.0


def rounding_floor(dtypes: Iterable[str]) -> float:
    """Return the relative L2 error that rounding and the order of sums explain, for the coarsest of the dtypes."""
    return max((_summation_units(dtype) * unit_roundoff(dtype) for dtype in dtypes), default=0.0)


#: Initial weights that each device drew or computed itself differ by a few roundings of the functions that made them
#: (logarithm, erfinv): so many times the floor of float32; 16-bit numbers have been rounded once more.
OF_START = 5.0


def start_floor(dtype: str) -> float:
    """Return the relative L2 difference of initial weights that is still rounding: noise, and no other weights."""
    return (1.0 if BITS.get(dtype, 0) <= HALF_BITS else OF_START) * rounding_floor((dtype,))


def allowed_roundings(dtypes: Iterable[str]) -> float:
    """Return how many times the effect of one rounding of all inputs is honest, for the coarsest of the dtypes."""
    return ROUNDINGS * _summation_units(max(dtypes, key=unit_roundoff, default=""))


def _summation_units(dtype: str) -> float:
    return SUMMATION_OF_HALF if BITS.get(dtype, 0) <= HALF_BITS else SUMMATION


def reduced_format(api: str, numerics: dict[str, str]) -> str:
    """The reduced format that this API's inputs may be rounded to (`hf32`, `tf32`), or an empty string.

    `numerics` is what the captures recorded: {"conv": "hf32", "matmul": ""}."""
    if api in CONVOLUTIONS:
        return numerics.get("conv", "")
    return numerics.get("matmul", "") if api in MATMULS else ""


def reduced_floor(form: str) -> float:
    """Return the relative L2 error that rounding both inputs to the format explains, with a factor for unlucky data."""
    return REDUCED_ROUNDINGS * reduced_unit(form)


def reduced_unit(form: str) -> float:
    """Return half a unit in the last place of a reduced format; 0 for none."""
    return 2.0 ** -REDUCED_BITS[form] if form else 0.0
