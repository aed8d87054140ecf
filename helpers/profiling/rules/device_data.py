"""Were times of the device recorded at all? The profilers swallow their errors, and a simulator's are the CPU's."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.facts import Profile
from helpers.words import Scalar

CODE = "PRF301"
BASIS = "observed"


def check(profile: Profile) -> Iterator[Finding]:
    kernels = profile.trace.count("compute")
    args: dict[str, Scalar] = {"kernels": kernels, "operators": profile.trace.count("host_op")}
    if profile.simulated:
        yield Finding(CODE, Status.SKIPPED, "PRF301.simulated" if kernels else "PRF301.simulated_host", args)
    elif profile.tier == "cpu":
        yield Finding(CODE, Status.OK, "PRF301.cpu", args)
    elif not profile.trace.on_device:
        yield Finding(CODE, Status.SKIPPED, "PRF301.absent", args)
    else:
        yield Finding(CODE, Status.OK, "PRF301.there", args)
