"""Does the host build kernels inside the steps? Each new shape builds one again where kernels are built at run time."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding
from helpers.profiling.facts import Profile
from helpers.profiling.savings import advice, idle_share, needs_device
from helpers.rules import CannotCheck

CODE = "PRF391"
SOURCE = "https://gitcode.com/Ascend/pytorch"


def check(profile: Profile) -> Iterator[Finding]:
    needs_device(profile, CODE)
    if not profile.trace.count("runtime"):
        raise CannotCheck("advice.no_host", topic={"say": "PRF391.topic"})
    yield advice(profile, "PRF391.change", idle_share(profile, "compiling"), SOURCE)
