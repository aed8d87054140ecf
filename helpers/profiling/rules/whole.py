"""Did the recording end as it should? `profile` and `recording` write how into the record beside the data; one that
was killed leaves the record of a recording that still runs."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.facts import Profile

CODE = "PRF307"
BASIS = "defined"


def check(profile: Profile) -> Iterator[Finding]:
    ended = profile.record.get("status")
    if ended == "complete":
        yield Finding(CODE, Status.OK, "PRF307.whole")
    elif ended:
        yield Finding(CODE, Status.WARN, "PRF307.failed" if ended == "failed" else "PRF307.running")
