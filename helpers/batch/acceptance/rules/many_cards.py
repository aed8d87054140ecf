"""ACP543: a run on several cards was seen, where the machine has several."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.batch.acceptance.evidence import Evidence, Found, judged
from helpers.finding import Finding, Place, Status
from helpers.rules import CannotCheck
from helpers.words import Scalar

CODE, GROUP = "ACP543", "deployment"
BASIS = "defined"
#: The rules of a dry run, a benchmark and an operators' check that say whether it ran.
OWN = ("MIG140", "PRF370", "MIG170")


def check(facts: Evidence) -> Iterator[Finding]:
    seen = [found for found in facts.found if _processes(found) > 1 and found.report.tier in ("npu", "npu-simulated")]
    if seen:
        found = max(seen, key=_processes)
        said = {"say": "accept.many_cards", "args": {"count": _processes(found), "what": _verb(found)}}
        if found.report.status is Status.SKIPPED or _unseen(found):
            raise CannotCheck("accept.could_not_look", said=_verdict(found))
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


def _unseen(found: Found) -> bool:
    """Whether the finding that tells of the run itself could not look, whatever else the report has."""
    return any(one.rule in OWN and one.status is Status.SKIPPED for one in found.report.findings)


def _verdict(found: Found) -> Scalar:
    headline = found.report.headline
    return {"say": headline.key, "args": headline.args} if headline else _verb(found)


def _verb(found: Found) -> Scalar:
    return {"say": f"name.{found.report.verb}"}


def _processes(found: Found) -> int:
    facts = found.report.facts
    told = facts.get("nproc") or (facts.get("benchmark") or {}).get("nproc") or 1
    return int(told) if found.report.verb in ("dry_run", "benchmark", "operator_support") else 1
