"""Do kernels only change the memory format? Private ones (NC1HWC0, FRACTAL_NZ) need TransData at their borders.

A transpose is the model's own: it changes the order of the elements whatever the format.
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding
from helpers.profiling.facts import Profile
from helpers.profiling.savings import advice, computing_by, needs_npu

CODE = "PRF368"
SOURCE = "https://www.hiascend.com/document/detail/zh/Pytorch/600/apiref/apilist/ptaoplist_000224.html"
TYPES = ("TransData",)
OPERATORS = ("TransData", "trans_TransData*", "aclnnNpuFormatCast*", "npu::npu_format_cast*", "npu::_npu_format_cast*")


def check(profile: Profile) -> Iterator[Finding]:
    needs_npu(profile, CODE)
    share, calls = computing_by(profile, TYPES, OPERATORS)
    yield advice(profile, "PRF368.change", share, SOURCE, calls=round(calls))
