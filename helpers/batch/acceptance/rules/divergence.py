"""ACP523: no operator parts the runs, or what does is explained (ACC230)."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.batch.acceptance.evidence import Evidence, by_findings
from helpers.finding import Finding

CODE, GROUP = "ACP523", "precision"
BASIS = "rules"


def check(facts: Evidence) -> Iterator[Finding]:
    yield by_findings(CODE, facts.on_npu("divergence", "compare"), ("ACC230",))
