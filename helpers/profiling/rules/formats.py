"""Do kernels only change the memory format? Private ones (NC1HWC0, FRACTAL_NZ) need TransData at their borders."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding
from helpers.profiling.facts import Profile
from helpers.profiling.savings import advice, computing_by, needs_npu

CODE = "PRF368"
SOURCE = "https://www.hiascend.com/document/detail/zh/Pytorch/600/apiref/apilist/ptaoplist_000224.html"
TYPES = ("TransData", "Transpose*")
OPERATORS = ("TransData", "trans_TransData*", "aclnnPermute*", "aten::contiguous")


def check(profile: Profile) -> Iterator[Finding]:
    needs_npu(profile, CODE)
    share, calls = computing_by(profile, TYPES, OPERATORS)
    yield advice(profile, "PRF368.change", share, SOURCE, calls=round(calls))
