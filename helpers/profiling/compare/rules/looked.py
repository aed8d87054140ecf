"""Were all steps of both sides looked at? Of a large trace some are enough, but then these are what is compared."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.compare.facts import Comparison
from helpers.profiling.rules.steps import args_of

CODE = "PRF388"
BASIS = "facts"


def check(compared: Comparison) -> Iterator[Finding]:
    sides = {"baseline": compared.baseline.profile, "target": compared.target.profile}
    for name, profile in sides.items():
        if looked := profile.trace.looked:
            args = {**args_of(profile, looked), "side": {"say": f"name.compare_{name}"}}
            yield Finding(CODE, Status.NOTE, "PRF388.some", args)
            if looked.behind:
                yield Finding(CODE, Status.WARN, "PRF388.behind", args)
