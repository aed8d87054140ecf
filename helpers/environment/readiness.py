"""`check`: is this machine ready, and for what. Facts from `probe`, findings from rules/, one row a finding."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from helpers import redaction
from helpers.environment import rules
from helpers.environment.machine import Machine
from helpers.environment.probe import probe
from helpers.environment.system import Args, System
from helpers.finding import Finding, Status
from helpers.report import Chart, Column, Report, Table
from helpers.rules import Check, judge, rules_of
from helpers.words import Scalar, catalogue

STAGE = "environment"
COLUMNS = (Column("environment_group"), Column("check"), Column("status"), Column("evidence"), Column("fix"))
#: Heavier than any rule's finding, so that the summary is the report's verdict.
WEIGHT = 110.0


def check(device: str = "auto", *, work_folder: str | os.PathLike[str] = ".", system: System | None = None) -> Report:
    """Looks at this machine: host, NPUs, driver, CANN, Python, torch, torch_npu and how they fit.

    `device` is auto, npu, npu-simulated, cuda or cpu; the runs will be written under `work_folder`. Takes a few
    seconds: torch is imported in children. Raises WorkbookError `device.unknown` for another word.
    """
    system = system or System()
    return report_on(probe(device, work_folder=work_folder, system=system), system.environ)


def report_on(machine: Machine, environ: Mapping[str, str] = os.environ) -> Report:
    """The report of facts already gathered. Credentials, those of `environ` and what looks like one, are taken out."""
    checks = rules_of(rules)
    private = redaction.credentials_of(environ)
    findings = [replace(found, args=private.tree(found.args)) for found in judge(machine, checks)]
    rows = tuple(_row(finding, checks) for finding in findings)
    return Report(
        stage=STAGE,
        verb="machine_check",
        findings=(verdict(machine, findings), *findings),
        table=Table(COLUMNS, rows),
        chart=Chart("strip", "check", ("status",)),
        facts={"machine": private.tree(machine.to_dict()), "counts": _counts(findings)},
        tier=machine.chosen.tier,
    )


def verdict(machine: Machine, findings: list[Finding]) -> Finding:
    """Ready for which tier, or blocked by what; as bad as the worst finding."""
    worst = max((finding.status for finding in findings), default=Status.SKIPPED)
    failed = [finding for finding in findings if finding.status is Status.FAIL]
    if failed:
        first = max(failed, key=lambda finding: finding.weight)
        args: Args = {"count": len(failed), "first": {"say": first.key, "args": first.args}}
        return Finding("ENV000", worst, "ENV000.blocked", args, weight=WEIGHT)
    chosen, counts = machine.chosen, _counts(findings)
    rest = {"say": "ENV000.rest" if counts["WARN"] or counts["SKIPPED"] else "ENV000.clean", "args": counts}
    key = f"ENV000.{chosen.tier.replace('-', '_')}"
    args = {"name": chosen.name, "count": chosen.count, "torch": machine.torch, "rest": rest}
    return Finding("ENV000", worst, key, args, weight=WEIGHT)


def _counts(findings: list[Finding]) -> dict[str, int]:
    """How many findings of each status, zero included."""
    found = Counter(finding.status for finding in findings)
    return {status.name: found[status] for status in Status}


def _row(finding: Finding, checks: dict[str, Check]) -> tuple[Scalar, ...]:
    fix = f"environment.fix.{finding.key.replace('.', '_')}"
    return (
        {"say": f"environment.group.{group_of(finding.rule, checks)}"},
        {"say": f"environment.rule.{finding.rule}"},
        finding.status.name,
        {"say": finding.key, "args": finding.args},
        {"say": fix, "args": finding.args} if fix in catalogue() else None,
    )


def group_of(code: str, checks: dict[str, Check]) -> str:
    """The GROUP beside the rule's CODE in its module."""
    group: str = sys.modules[checks[code].__module__].GROUP
    return group
