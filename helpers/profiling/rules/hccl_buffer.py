"""Is HCCL's buffer smaller than what travels? It is 200 MB where HCCL_BUFFSIZE does not say otherwise."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding
from helpers.profiling.exposed import KINDS
from helpers.profiling.facts import Profile
from helpers.profiling.savings import advice, environment, needs_npu, sending_share

CODE = "PRF342"
SOURCE = "https://www.hiascend.com/document/detail/en/canncommercial/850/commlib/hcclug/hcclug_000076.html"
DEFAULT_MB = 200


def check(profile: Profile) -> Iterator[Finding]:
    needs_npu(profile, CODE)
    if not profile.trace.count("communication"):
        yield advice(profile, "PRF342.change", 0.0, SOURCE)
        return
    told = environment(profile, "HCCL_BUFFSIZE", CODE)
    share, waiting = sending_share(profile, *KINDS)
    mb = int(told) if told.isdigit() else DEFAULT_MB
    share = share if mb <= DEFAULT_MB else 0.0
    yield advice(profile, "PRF342.change", share, SOURCE, worth=0.05, mb=mb, waiting=waiting)
