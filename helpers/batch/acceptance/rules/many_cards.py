"""ACP543: a run on several cards was seen, where the machine has several."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.batch.acceptance.evidence import Evidence, Found, judged
from helpers.finding import Finding, Place, Status
from helpers.rules import CannotCheck
from helpers.words import Scalar

CODE, GROUP = "ACP543", "deployment"


def check(facts: Evidence) -> Iterator[Finding]:
    seen = [found for found in facts.found if _processes(found) > 1 and found.report.tier in ("npu", "npu-simulated")]
    if seen:
        found = max(seen, key=_processes)
        said = {"say": "accept.many_cards", "args": {"count": _processes(found), "what": _verb(found)}}
        yield judged(CODE, found, found.report.status is not Status.FAIL, said)
        return
    machine = facts.on_npu("machine_check")
    chosen = (machine.report.facts.get("machine") or {}).get("chosen") or {}
    if chosen.get("count") == 1:
        args: dict[str, Scalar] = {"said": {"say": "accept.one_card"}, "date": machine.date,
                                   "simulated": machine.report.simulated}  # fmt: skip
        yield Finding(CODE, Status.NOTE, "accept.evidence", args, Place(machine.page))
        return
    raise CannotCheck("accept.no_many_cards")


def _verb(found: Found) -> dict[str, str]:
    return {"say": f"name.{found.report.verb}"}


def _processes(found: Found) -> int:
    facts = found.report.facts
    told = facts.get("nproc") or (facts.get("benchmark") or {}).get("nproc") or 1
    return int(told) if found.report.verb in ("dry_run", "benchmark", "operator_support") else 1
