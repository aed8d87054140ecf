"""What a busy device does, by families of kernels: that of a kernel's name, else of the operator that launched it."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from ascend_workbook.profiling.families import family_of
from ascend_workbook.profiling.trace import Trace

OTHER = "other"
#: Operators that change a tensor's type or its order in memory, whatever their kernels are called
CASTING = re.compile(r"^aten::(_to_copy|to|type_as)$|npu_dtype_cast|^Cast$|^aclnnCast")
LAYOUT = re.compile(
    r"^aten::(contiguous|clone|permute)$|npu_format_cast|^TransData$|nchwToNhwc|nhwcToNchw|^aclnnPermute"
)


def time_by_family(trace: Trace, rows: npt.NDArray[np.integer]) -> dict[str, int]:
    """Return the nanoseconds of these kernels by family, the longest first."""
    family = np.array([_family(name) for name in trace.names] or [OTHER], np.object_)
    own = family[trace.name[rows]]
    by = trace.launched_by[rows]
    operator = np.where(by >= 0, family[trace.name[np.maximum(by, 0)]], OTHER)
    told = np.isin(operator, ["casting", "layout"]) & np.isin(own, ["elementwise", "layout", OTHER])
    chosen = np.where(told | (own == OTHER), operator, own)
    names, at = np.unique(chosen.astype(str), return_inverse=True)
    spent = np.zeros(names.size, np.int64)
    np.add.at(spent, at, trace.duration_ns[rows])
    return dict(sorted(zip(names.tolist(), spent.tolist()), key=lambda pair: -pair[1]))


def _family(name: str) -> str:
    if CASTING.search(name):
        return "casting"
    if LAYOUT.search(name):
        return "layout"
    plain = name[len("aten::") :] if name.startswith("aten::") else name
    return family_of(plain) or OTHER
