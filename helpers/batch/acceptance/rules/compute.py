"""ACP504: operators and collectives on the devices give right numbers (ENV100, ENV101, ENV104)."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.batch.acceptance.evidence import Evidence, by_findings
from helpers.finding import Finding

CODE, GROUP = "ACP504", "environment"
BASIS = "rules"


def check(facts: Evidence) -> Iterator[Finding]:
    yield by_findings(CODE, facts.on_npu("compute_check"), ("ENV100", "ENV104"), beside=("ENV101",))
