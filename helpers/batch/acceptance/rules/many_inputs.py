"""ACP524: the two models agree on many inputs (ACC270)."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.batch.acceptance.evidence import Evidence, by_findings
from helpers.finding import Finding

CODE, GROUP = "ACP524", "precision"
BASIS = "rules"


def check(facts: Evidence) -> Iterator[Finding]:
    yield by_findings(CODE, facts.on_npu("verify"), ("ACC270",))
