"""ACP532: of the NPU's idle time next to none is without a cause (PRF320, PRF321)."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.batch.acceptance.evidence import Evidence, judged
from helpers.finding import Finding
from helpers.rules import CannotCheck

CODE, GROUP = "ACP532", "performance"
BASIS = "rules"
#: Of a step; less is worth nobody's time.
SHARE = 0.05


def check(facts: Evidence) -> Iterator[Finding]:
    idle, whole = facts.on_hardware("idle_time"), facts.on_hardware("time_by_kind")
    step_ns = whole.report.facts.get("step_ns")
    causes = idle.report.facts.get("idle_ns")
    if not step_ns or not isinstance(causes, dict) or "unexplained" not in causes:
        raise CannotCheck("accept.not_in_report", rules=["idle_ns"], page=idle.page)
    share = float(causes["unexplained"]) / float(step_ns)
    said = {"say": "accept.unexplained", "args": {"share": f"{100 * share:.3g} %", "limit": f"{100 * SHARE:.3g} %"}}
    yield judged(CODE, idle, share <= SHARE, said)
