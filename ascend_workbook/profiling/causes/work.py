"""What a busy device does, by families of kernels: that of a kernel's name, else of the operator that launched it."""

from __future__ import annotations

import math
import re

import numpy as np
import numpy.typing as npt

from ascend_workbook.profiling.attribution import nest_by_lane
from ascend_workbook.profiling.families import family_of
from ascend_workbook.profiling.trace import I32, Trace

OTHER = "other"
#: Operators that change a tensor's type or its order in memory, whatever their kernels are called, and those that only
#: copy, for one of these around them or for none
CASTING = re.compile(r"^aten::(_to_copy|to|type_as)$|npu_dtype_cast|^Cast$|^aclnnCast")
LAYOUT = re.compile(
    r"^aten::(contiguous|clone|permute)$|npu_format_cast|^TransData$|nchwToNhwc|nhwcToNchw|^aclnnPermute"
)
COPYING = ("aten::copy_", "aclnnInplaceCopy")
#: Matrix products as operators are called, where kernels have names of their own
GEMM = re.compile(
    r"(^|::|_)(b|add|baddb|addb|packed_)?mm(_|$)|(^|::|_)linear$|::(addmv|mv|dot|matmul|einsum|bilinear)$"
)
Rows = npt.NDArray[np.integer]


def families_of(trace: Trace, rows: Rows) -> npt.NDArray[np.str_]:
    """Return the family of each of these kernels: (rows,)."""
    family = np.array([_family(name) for name in trace.names] or [OTHER])
    own = family[trace.name[rows]]
    by = trace.launched_by[rows]
    operator = np.where(by >= 0, family[trace.name[np.maximum(by, 0)]], OTHER)
    copies = (by >= 0) & trace.mask_of_names(COPYING.__contains__)[np.maximum(by, 0)]
    if copies.any():
        operator = np.where(copies, family[_find_owners(trace, by)], operator)
    by_operator = np.isin(operator, ["casting", "layout"]) & np.isin(own, ["elementwise", "layout", OTHER])
    return np.where(by_operator | (own == OTHER), operator, own)


def elements_of(shape: str) -> int:
    """Return the elements of the largest tensor in a column's text, `[64,16] [16]`; 0 where nothing is told."""
    sizes = [[int(size) for size in re.findall(r"\d+", tensor)] for tensor in shape.split(" ") if tensor]
    return max((math.prod(size) for size in sizes if size), default=0)


def _family(name: str) -> str:
    if CASTING.search(name):
        return "casting"
    if LAYOUT.search(name):
        return "layout"
    plain = name[len("aten::") :] if name.startswith("aten::") else name
    return family_of(plain) or OTHER


def family_of_operator(name: str) -> str:
    """Return the family of an operator that computes on the CPU, by its name."""
    return "gemm" if GEMM.search(name) else _family(name)


def _find_owners(trace: Trace, by: I32) -> I32:
    """Return for each operator the name of the nearest around it that changes a type or an order, else its own."""
    wanted = np.array([bool(CASTING.search(name) or LAYOUT.search(name)) for name in trace.names])
    near = by[by >= 0]
    begin, end = int(trace.start_ns[near].min()), int((trace.start_ns + trace.duration_ns)[near].max())
    around = (trace.start_ns < end) & (trace.start_ns + trace.duration_ns > begin)
    hosts = np.flatnonzero(trace.where(("host_op",)) & around)
    name = trace.name.astype(np.int32).copy()
    value = np.where(wanted[name], name + 1, 0).astype(np.int32)
    bare = [True, *([False] * len(trace.names))]
    for thread in nest_by_lane(trace.lane[hosts], trace.start_ns[hosts], trace.duration_ns[hosts], hosts).values():
        thread.inherit_values(value, bare, np.unique(near))
    owner = np.where(value > 0, value - 1, name)
    return owner[np.maximum(by, 0)].astype(np.int32)
