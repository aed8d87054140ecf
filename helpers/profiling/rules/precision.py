"""Do matrix products and convolutions run in float32? The cube unit is made for half precision.

HF32 keeps float32 tensors and multiplies with fewer bits; the table tells which kernels may use it."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding
from helpers.profiling.facts import Profile
from helpers.profiling.savings import advice, needs_npu
from helpers.rules import CannotCheck

CODE = "PRF369"
SOURCE = "https://docs.pytorch.org/docs/stable/amp.html"
CUBE = ("AI_CORE", "AI_CUBE_CORE", "MIX_AIC")


def check(profile: Profile) -> Iterator[Finding]:
    needs_npu(profile, CODE)
    table = profile.kernels
    if table is None or not table.has("unit", "inputs"):
        raise CannotCheck("advice.no_dtypes", topic={"say": "PRF369.topic"})
    cube = table.where("unit", CUBE.__contains__)
    single = cube & table.where("inputs", lambda told: told.split()[:1] == ["float32"])
    hf32 = table.where("hf32", "YES".__eq__)
    share = table.ns(single) / max(1, table.ns()) * profile.breakdown.share("computing")
    args = {"kernels": int(single.sum()), "cube": int(cube.sum()), "hf32": int((single & hf32).sum())}
    yield advice(profile, "PRF369.change", share, SOURCE, **args)
