"""Do kernels only change the dtype? Values that are kept in the dtype they are used in need no cast."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding
from helpers.profiling.facts import Profile
from helpers.profiling.savings import advice, computing_by, launched_within, needs_device

CODE = "PRF367"
SOURCE = "https://docs.pytorch.org/docs/stable/amp.html"
TYPES = ("Cast",)
OPERATORS = ("aten::_to_copy", "npu::_npu_dtype_cast", "aclnnCast", "Cast")


def check(profile: Profile) -> Iterator[Finding]:
    needs_device(profile, CODE)
    typed = profile.kernels is not None and profile.kernels.has("type")
    share, calls = computing_by(profile, TYPES, ()) if typed else launched_within(profile, OPERATORS)
    yield advice(profile, "PRF367.change", share, SOURCE, calls=round(calls))
