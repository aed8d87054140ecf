"""`check`: is this machine ready, and for what. Facts from `probe`, findings from rules/, one row a finding."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any

from ascend_workbook import redaction
from ascend_workbook.environment import hardware, host, rules, software
from ascend_workbook.environment.hardware import read_hccl
from ascend_workbook.environment.machine import Machine
from ascend_workbook.environment.software import read_kernelspecs, read_nnal, read_nvidia
from ascend_workbook.environment.system import Args, System
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Chart, Column, Report, Table
from ascend_workbook.findings.rules import judge_facts, modules_of, rules_of
from ascend_workbook.findings.sentence import Scalar, Sentence, load_catalogue

STAGE = "environment"
COLUMNS = (Column("environment_group"), Column("check"), Column("status"), Column("evidence"), Column("fix"))
#: Heavier than any rule's finding, so that the summary is the report's verdict.
WEIGHT = 110.0


def check(device: str = "auto", *, work_folder: str | os.PathLike[str] = ".", system: System | None = None) -> Report:
    """Look at this machine: host, NPUs, driver, CANN, Python, torch, torch_npu and how they fit.

    `device` is auto, npu, npu-simulated, cuda or cpu; the runs will be written under `work_folder`. Takes a few
    seconds: torch is imported in children. Raises WorkbookError `device.unknown` for another word.
    """
    system = system or System()
    return report_on(probe(device, work_folder=work_folder, system=system), system.environ)


def report_on(machine: Machine, environ: Mapping[str, str] = os.environ) -> Report:
    """Report on facts already gathered. Credentials, those of `environ` and what looks like one, are taken out."""
    private = redaction.make_credential_redactor(environ)
    findings = [
        replace(finding, args=private.redact_tree(finding.args)) for finding in judge_facts(machine, rules_of(rules))
    ]
    modules = modules_of(rules)
    table = Table(COLUMNS, tuple(_row_of_finding(finding, modules[finding.rule].GROUP) for finding in findings))
    facts = {"machine": private.redact_tree(machine.to_dict()), "counts": _count_statuses(findings)}
    chart, everything = Chart("strip", "check", ("status",)), (make_verdict(machine, findings), *findings)
    return Report(STAGE, "machine_check", everything, table, chart=chart, facts=facts, tier=machine.chosen.tier)


def make_verdict(machine: Machine, findings: list[Finding]) -> Finding:
    """Return the verdict: ready for which tier, or blocked by what; as bad as the worst finding."""
    worst = max((finding.status for finding in findings), default=Status.NOT_LOOKED)
    failed = [finding for finding in findings if finding.status is Status.FIX]
    if failed:
        first = max(failed, key=lambda finding: finding.weight)
        args: Args = {"count": len(failed), "first": Sentence(first.key, **first.args)}
        return Finding("ENV000", worst, "ENV000.blocked", args, weight=WEIGHT)
    chosen, counts = machine.chosen, _count_statuses(findings)
    doubts: Args = {"look": counts[Status.LOOK.json], "not_looked": counts[Status.NOT_LOOKED.json]}
    rest = Sentence("ENV000.rest", **doubts) if any(doubts.values()) else Sentence("ENV000.clean")
    key = f"ENV000.{chosen.tier.replace('-', '_')}"
    args = {"name": chosen.name, "count": chosen.count, "torch": machine.torch, "rest": rest}
    return Finding("ENV000", worst, key, args, weight=WEIGHT)


def _count_statuses(findings: list[Finding]) -> dict[str, int]:
    """Count the findings of each status, zero included."""
    counts = Counter(finding.status for finding in findings)
    return {status.json: sum(counts[each] for each in Status if each.json == status.json) for status in Status}


def _row_of_finding(finding: Finding, group: str) -> tuple[Scalar, ...]:
    fix = f"environment.fix.{finding.key.replace('.', '_')}"
    names = Sentence(f"environment.group.{group}"), Sentence(f"environment.rule.{finding.rule}")
    advice = Sentence(fix, **finding.args) if fix in load_catalogue() else None
    return (*names, finding.status.json, Sentence(finding.key, **finding.args), advice)


def probe(wanted: str = "auto", *, work_folder: str | os.PathLike[str] = ".", system: System | None = None) -> Machine:
    """Gather the facts of this machine.

    `work_folder` is where runs are written. Raises WorkbookError `device.unknown` for a wrong `wanted`.
    """
    system = system or System()
    with ThreadPoolExecutor(2) as pool:
        devices = pool.submit(hardware.read_hardware, system)
        if system.find_tool("npu-smi"):
            wait([devices])  # before the children: npu-smi would show them as processes that hold the NPU
        children = pool.submit(software.ask_torch_and_device, system, wanted)
        facts = read_files(system, work_folder)
        imported, chosen = children.result()
        return Machine(python=software.read_python(system, imported), chosen=chosen, hardware=devices.result(), **facts)


def read_files(system: System, work_folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the facts that take no child of Python: of all these only set_env.sh is run, by bash."""
    return {
        "host": host.read_host(system, work_folder),
        "cann": hardware.find_cann_roots(system, system.environ),
        "nnal": read_nnal(system),
        "hccl": read_hccl(system),
        "nvidia": read_nvidia(system),
        "kernelspecs": read_kernelspecs(system),
        "simulator": system.process.simulator_folder(),
        "simulator_old": system.process.simulator_is_old(),
        "environ": software.allowed_variables(system.environ),
        "started": software.read_start_variables(system),
    }
