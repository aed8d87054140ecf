"""ACP533: how much of the matrix work runs in float32 is known (PRF369), so that mixed precision is a decision."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.batch.acceptance.evidence import Evidence, by_findings
from helpers.finding import Finding

CODE, GROUP = "ACP533", "performance"
BASIS = "rules"


def check(facts: Evidence) -> Iterator[Finding]:
    yield by_findings(CODE, facts.on_hardware("tuning"), ("PRF369",))
