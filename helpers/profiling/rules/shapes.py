"""Were input shapes recorded? Without them an operator's cost can't be laid to the size of its work."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.facts import Profile

CODE = "PRF305"
BASIS = "facts"


def check(profile: Profile) -> Iterator[Finding]:
    there = any(profile.trace.shapes)
    yield Finding(CODE, Status.OK if there else Status.NOTE, "PRF305.there" if there else "PRF305.absent")
