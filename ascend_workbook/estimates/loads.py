"""What a CANN kernel has to do, from its shapes alone: the bytes it moves, the multiplications of its cubes.

Nothing here knows a chip or a time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, lru_cache

#: Bytes of an element, as CANN's tables name types; an operand of none of these is absent.
ITEM_BYTES = {
    "FLOAT": 4.0,
    "FLOAT32": 4.0,
    "FLOAT16": 2.0,
    "BF16": 2.0,
    "BFLOAT16": 2.0,
    "DOUBLE": 8.0,
    "INT64": 8.0,
    "INT32": 4.0,
    "INT16": 2.0,
    "INT8": 1.0,
    "INT4": 0.5,
    "UINT64": 8.0,
    "UINT32": 4.0,
    "UINT16": 2.0,
    "UINT8": 1.0,
    "UINT1": 0.125,
    "BOOL": 1.0,
    "COMPLEX64": 8.0,
    "COMPLEX128": 16.0,
    "HIFLOAT8": 1.0,
    "FLOAT8_E4M3FN": 1.0,
    "FLOAT8_E5M2": 1.0,
}
#: The family of a kernel is that of the first of these beginnings that its type has; with none it is elementwise.
FAMILIES = (
    ("attention_grad", ("FlashAttentionScoreGrad", "FlashAttentionUnpaddingScoreGrad")),
    ("attention", ("FlashAttention", "FusedInferAttention", "PromptFlash", "IncreFlash", "UnpadFlash")),
    ("convolution_grad", ("Conv2DBackprop", "Conv3DBackprop", "Conv2dBackprop", "Conv3dBackprop")),
    ("convolution", ("Conv2D", "Conv3D", "DepthwiseConv")),
    ("matmul", ("MatMul", "BatchMatMul", "GroupedMatmul", "GroupedMatMul", "QuantBatchMatmul", "Gemm")),
    ("optimizer", ("ApplyAdam", "ApplyMomentum", "FusedAdam", "ApplyFusedEma")),
    ("foreach", ("Foreach",)),
    ("pool", ("MaxPool", "AvgPool", "AdaptiveAvgPool", "AdaptiveMaxPool")),
    ("random", ("DSA", "StatelessDrop", "StatelessRandom", "StatelessBernoulli", "DropOutGen")),
    ("fill", ("ZerosLike", "OnesLike", "MemSet", "Fill", "Range")),
    (
        "gather",
        ("Gather", "Slice", "StridedSlice", "Index", "Embedding", "Scatter", "AsStrided", "BroadcastTo", "Tile"),
    ),
    ("gather", ("ViewCopy", "MoeToken", "Concat", "Split", "Pack")),
    ("norm_grad", ("RmsNormGrad", "LayerNormGrad", "LayerNormV3Grad", "LayerNormXBackprop", "LayerNormBetaGamma")),
    (
        "norm_grad",
        ("SoftmaxGrad", "LogSoftmaxGrad", "ScaledMaskedSoftmaxGrad", "BNTrainingUpdateGrad", "GroupNormGrad"),
    ),
    ("norm_grad", ("BNTrainingReduceGrad", "BatchNormGrad", "BatchNormV3Grad", "NLLLossGrad")),
    ("norm", ("RmsNorm", "AddRmsNorm", "LayerNorm", "AddLayerNorm", "GroupNorm", "BatchNorm", "BN", "Softmax")),
    ("norm", ("LogSoftmax", "ScaledMaskedSoftmax", "NLLLoss")),
    ("reduce", ("Reduce", "LpNorm", "Arg", "Square", "Sort", "NonZero", "TopK", "Cumsum")),
    ("layout", ("TransData", "Transpose")),
)
ELEMENTWISE = "elementwise"
#: Families whose time the cubes may decide
CUBE_FAMILIES = ("matmul", "attention", "attention_grad", "convolution", "convolution_grad")
#: Where a family was never measured, the one whose numbers stand for it
PARENTS = {
    "attention": "matmul",
    "attention_grad": "matmul",
    "convolution": "matmul",
    "convolution_grad": "convolution",
    "norm_grad": "norm",
    "pool": "norm",
}
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Kernel:
    """One CANN kernel: its type and operands. Shapes are () for a scalar; an operand whose type is empty is absent.
    `formats`: of the inputs, where they are known."""

    type: str
    inputs: tuple[Shape, ...]
    input_types: tuple[str, ...]
    outputs: tuple[Shape, ...]
    output_types: tuple[str, ...]
    formats: tuple[str, ...] = ()


@dataclass(frozen=True)
class Product:
    """A matrix product: `batch` times (rows x depth) x (depth x columns). `turned`: the left operand lies as depth x
    rows, as a weight's gradient has it."""

    batch: int
    rows: int
    columns: int
    depth: int
    turned: bool = False

    @property
    def operations(self) -> float:
        return 2.0 * self.batch * self.rows * self.columns * self.depth

    def count_bytes(self, item: float, item_out: float) -> float:
        """Return the bytes of both operands and the result, each once. Shared profiles have operands whose sizes were
        changed, beside the product's own."""
        operands = self.depth * (self.rows + self.columns) * item
        return self.batch * (operands + self.rows * self.columns * item_out)


@dataclass(frozen=True)
class Load:
    """What a kernel has to do: `bytes` over the memory, `elements` on the vector units, `operations` on the cubes with
    items of `item_bytes`; the product where it is one; `spilled`: bytes that cubes and vector cores write for one
    another, through the cache, while neither works."""

    family: str
    bytes: float
    elements: float
    operations: float = 0.0
    item_bytes: float = 4.0
    product: Product | None = None
    bfloat16: bool = False
    spilled: float = 0.0


@lru_cache(maxsize=2**16)
def measure_kernel(kernel: Kernel) -> Load:
    """Return what the kernel has to do."""
    family = family_of(kernel.type)
    moved = count_bytes(kernel)
    elements = float(max(map(math.prod, (*kernel.inputs, *kernel.outputs)), default=0))
    if family not in CUBE_FAMILIES:
        return Load(family, moved, elements)
    sizes = [item_bytes(name) for name in kernel.input_types[:2]]
    item = max(min(sizes, default=4.0), 1.0) or 4.0
    bfloat16 = any(name.upper().endswith(("BF16", "BFLOAT16")) for name in kernel.input_types[:2])
    if family == "matmul":
        product = find_product(kernel)
        if product is None:
            return Load(family, moved, elements, item_bytes=item, bfloat16=bfloat16)
        if not kernel.type.startswith("Grouped"):  # those read the weights of all groups
            moved = min(moved, product.count_bytes(item, _item_of_output(kernel, item)))
        return Load(family, moved, elements, product.operations, item, product, bfloat16)
    if family.startswith("attention"):
        operations, spilled = count_attention(kernel)
        return Load(family, moved, elements, operations, item, bfloat16=bfloat16, spilled=spilled)
    return Load(family, moved, elements, count_convolution(kernel), item, bfloat16=bfloat16)


@cache
def family_of(kind: str) -> str:
    """Return the family of a kernel's type."""
    return next((family for family, beginnings in FAMILIES if kind.startswith(beginnings)), ELEMENTWISE)


@cache
def item_bytes(name: str) -> float:
    """Return the bytes of an element of this type, 0 where there is none: `FLOAT`, `DT_BF16`, `torch.float16`."""
    return ITEM_BYTES.get(name.upper().replace("DT_", ""), 0.0)


def _size(shape: Shape, name: str) -> float:
    return math.prod(shape) * item_bytes(name)


def _sizes(shapes: tuple[Shape, ...], names: tuple[str, ...]) -> list[float]:
    return [_size(shape, name) for shape, name in zip(shapes, names)]


def count_bytes(kernel: Kernel) -> float:
    """Return the bytes that the kernel has to read and write. Some write only, some read as much as they write."""
    ins, outs = _sizes(kernel.inputs, kernel.input_types), _sizes(kernel.outputs, kernel.output_types)
    read, written = math.fsum(ins), math.fsum(outs)
    family = family_of(kernel.type)
    if family == "fill":
        return written or read
    if kernel.type.startswith("ApplyAdam"):  # reads weight, gradient and two moments, writes all but the gradient
        return 7 * max(ins, default=0.0)
    if family == "optimizer" or not outs:
        return 2 * read
    if kernel.type.startswith("EmbeddingDense"):
        return written + math.fsum(ins[:1])
    if family == "gather":  # rows of a table, of which only those asked for are read
        return written + min(written, read)
    if kernel.type.startswith("MaxPoolGrad"):
        return math.fsum(ins[:2]) + written
    return read + written


def _item_of_output(kernel: Kernel, item: float) -> float:
    return item_bytes(kernel.output_types[0]) if kernel.output_types else item


def find_product(kernel: Kernel) -> Product | None:
    """Return the sizes of a matrix product from whatever is consistent: tables carry transposed operands and private
    formats without a word."""
    if len(kernel.inputs) < 2 or not kernel.outputs:
        return None
    left, right, out = kernel.inputs[0], kernel.inputs[1], kernel.outputs[0]
    if len(out) < 2 or len(left) < 2 or len(right) < 2:
        return None
    if len(out) == 4 and out[-2:] == (16, 16):  # FRACTAL_NZ: columns / 16, rows / 16, 16, 16
        depth = math.sqrt(math.prod(left) * math.prod(right) / math.prod(out))
        return Product(1, out[1] * 16, out[0] * 16, max(1, round(depth)))
    batch, rows, columns = math.prod(out[:-2]), out[-2], out[-1]
    for side, known in ((right, columns), (left, rows)):
        last = list(side[-2:])
        if known in last:
            last.remove(known)
            return Product(batch, rows, columns, last[0], _is_turned(left, rows, last[0]))
    depth = math.sqrt(math.prod(left) * math.prod(right) / max(1, rows * columns) / max(batch, 1))
    return Product(batch, rows, columns, max(1, round(depth)))


def _is_turned(left: Shape, rows: int, depth: int) -> bool:
    """Return whether the left operand lies as depth x rows; of a square one that cannot be told."""
    first, last = left[-2:]
    return rows != depth and (last == rows or first == depth) and not (first == rows and last == depth)


#: From this length on a square mask means causal attention, of which kernels skip half.
LEAST_MASK = 512


#: Where a table does not tell heads apart each is taken to be so wide: that of most language models.
HEAD = 128
#: Bytes of a score that attention's gradient writes in float32 for its vector cores: the scores, and their gradients
SCORES = 8.0
#: Its partial sums of three gradients, in float32 too: each block of so many keys writes a row of each anew.
BLOCK = 128
PARTIAL_SUMS = 3 * 4.0


def count_attention(kernel: Kernel) -> tuple[float, float]:
    """Return the operations of an attention, two products forward, five backward, half of them where a square mask
    says causal; and the bytes that its gradient's cubes write for the vector cores."""
    if len(kernel.inputs) < 2:
        return 0.0, 0.0
    query, key = kernel.inputs[0], kernel.inputs[1]
    head = HEAD
    if len(query) == 4 and len(key) == 4:  # BNSD
        queries, keys, width, head = query[2], key[2], query[0] * query[1] * query[3], max(1, query[3])
    elif len(query) == 3 and len(key) == 3:  # SBH, or BSH where the first is the smaller
        longest = 1 if query[0] < query[1] else 0
        queries, keys, width = query[longest], key[longest], query[1 - longest] * query[2]
    else:
        return 0.0, 0.0
    causal = any(len(shape) == 2 and shape[0] == shape[1] >= LEAST_MASK for shape in kernel.inputs[3:])
    backward = kernel.type.endswith("Grad")
    pairs = queries * keys * (0.5 if causal else 1.0)
    spilled = pairs * width / head * (SCORES + PARTIAL_SUMS * head / BLOCK) if backward else 0.0
    return 2.0 * (5 if backward else 2) * pairs * width, spilled


def count_convolution(kernel: Kernel) -> float:
    """Return the operations of a convolution, alike in its three directions: two for each pixel of the output map and
    each weight."""
    if len(kernel.inputs) < 2 or not kernel.outputs:
        return 0.0
    if "BackpropFilter" in kernel.type:
        pixels, weights = _pixels(kernel.inputs[-1]), math.prod(kernel.outputs[0])
    elif "BackpropInput" in kernel.type:
        pixels, weights = _pixels(kernel.inputs[-1]), math.prod(kernel.inputs[1])
    else:
        pixels, weights = _pixels(kernel.outputs[0]), math.prod(kernel.inputs[1])
    return 2.0 * pixels * weights


def _pixels(shape: Shape) -> int:
    """Return the images times their height and width: NCHW, or NC1HWC0 whose height and width stand alike."""
    return shape[0] * shape[2] * shape[3] if len(shape) in (4, 5) else 0
