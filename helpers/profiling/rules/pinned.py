"""Are batches copied to the device from pageable memory? Only copies from pinned memory run beside other work."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding
from helpers.profiling.facts import Profile
from helpers.profiling.savings import advice, needs_device
from helpers.rules import CannotCheck

CODE = "PRF396"
SOURCE = "https://docs.pytorch.org/docs/stable/data.html#memory-pinning"


def check(profile: Profile) -> Iterator[Finding]:
    needs_device(profile, CODE)
    copies = [name for name in profile.trace.names if name.startswith("Memcpy HtoD")]
    if profile.trace.dialect == "ascend" or (profile.trace.count("copy") and not copies):
        raise CannotCheck("PRF396.unseen")
    pageable = any("Pageable" in name for name in copies)
    share = profile.breakdown.share("copy") if pageable else 0.0
    yield advice(profile, "PRF396.change", share, SOURCE)
