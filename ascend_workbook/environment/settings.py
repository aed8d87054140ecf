"""`save_settings` and `compare_settings`: the GPU machine's settings against the NPU machine's."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Union

from ascend_workbook.environment.readiness import STAGE
from ascend_workbook.environment.system import Args
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine import bounded, device
from ascend_workbook.machine.settings import Difference, Settings, find_differences, load_record, risks
from ascend_workbook.machine.settings.child import settings as reader
from ascend_workbook.machine.settings.differences import unknown_groups, unknown_machine

TIMEOUT_S = 120.0
WEIGHT = 100.0
STATUS = {risks.HIGH: Status.FIX, risks.MEDIUM: Status.LOOK, risks.LOW: Status.NOTE, risks.EXPECTED: Status.GOOD}
COLUMNS = (
    *map(Column, ("settings_risk", "settings_group", "settings_name", "settings_left", "settings_right")),
    *map(Column, ("settings_why", "fix")),
)
Side = Union[str, Path, Settings]


def _ask_child(tier: str) -> tuple[dict[str, Any], str]:
    """Return the child's answer, or an empty one and why."""
    try:
        environ = device.child_environment(tier or "cpu")
        done = bounded.run_bounded([sys.executable, reader.__file__], env=environ, timeout_s=TIMEOUT_S)
    except OSError as error:
        return {}, error.strerror or str(error)
    if done.timed_out:
        return {}, "timeout"
    try:
        answer: dict[str, object] = json.loads(done.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):
        return {}, "".join(character for character in done.last_error if character.isprintable())[:200]
    return answer, ""


def _machine_values(facts: Mapping[str, Any]) -> dict[str, str]:
    chosen, host, python = facts["chosen"], facts["host"], facts["python"]
    cann = next((root["version"] for root in facts["cann"] if root["sourced"] or not root["simulated"]), "")
    cuda = python["torch_import"].get("cuda") or {}
    driver = facts["hardware"]["driver"]
    values = {name: chosen[key] for name, key in (("tier", "tier"), ("device", "name"), ("count", "count"))}
    values |= {"system": host["system"], "arch": host["arch"], "python": python["version"], "cann": cann}
    values |= {"cuda": cuda.get("build", ""), "driver": driver if isinstance(driver, str) else ""}
    return {name: str(value) for name, value in values.items() if value}


def save_settings(
    path: str | os.PathLike[str], report: Report, run: tuple[Mapping[str, object], Mapping[str, object]] | None = None
) -> Settings:
    """Write this machine's settings to `path`. `report` is `check`'s or one that holds it as a part; `run` the `about`
    and `sides` of a capture's manifest, whose seeds, fingerprints and settings in force then belong to the record."""
    facts = next(part.facts["machine"] for part in (report, *report.parts) if "machine" in part.facts)
    chosen = facts["chosen"]
    tier = str(chosen["tier"])
    answer, why = _ask_child(tier)
    known = {name: answer[name] for name in ("packages", "flags") if name in answer}
    untold = {} if answer else {"flags": why}
    known = {"packages": reader.read_packages(), **known}
    settings = Settings(machine=_machine_values(facts), environment=reader.read_environment(), untold=untold, **known)
    if run is not None:
        settings = settings.with_run(*run)
    settings.save_record(Path(path))
    return settings


def compare_settings(left: Side, right: Side) -> Report:
    """Report what differs between two records (files of `check --save`), the riskiest first.

    Fix: a difference that makes results part or another experiment. Look: results may part. NOTE: little risk.
    Raises WorkbookError `settings.unreadable` or `settings.version` where a file is no record.
    """
    sides = [side if isinstance(side, Settings) else load_record(Path(side)) for side in (left, right)]
    differences = find_differences(*sides)
    missing = unknown_groups(*sides)
    names = [side.machine.get("device") or side.tier or "?" for side in sides]
    names_of: dict[str, Args] = {"machine": {"names": [*unknown_machine(*sides)]}}
    findings = [Finding("ENV121", Status.NOT_LOOKED, f"ENV121.{name}", names_of.get(name, {})) for name in missing]
    facts: dict[str, object] = {"left": sides[0].machine, "right": sides[1].machine, "not_compared": missing}
    facts["differences"] = [vars(replace(difference, names=difference.names[:20])) for difference in differences]
    everything = (_make_verdict(differences, missing, names), *findings)
    table = Table(COLUMNS, tuple(_row_of_difference(difference) for difference in differences))
    tier = "npu-simulated" if any(side.tier == "npu-simulated" for side in sides) else ""
    return Report(STAGE, "compare_settings", everything, table, facts=facts, tier=tier)


def _make_verdict(differences: tuple[Difference, ...], missing: list[str], names: list[str]) -> Finding:
    counts = {risk: sum(difference.risk == risk for difference in differences) for risk in risks.ORDER}
    args: Args = {"left": names[0], "right": names[1], **counts}
    worst = max((STATUS[difference.risk] for difference in differences), default=Status.GOOD)
    worst = max(worst, Status.NOT_LOOKED if missing else Status.GOOD)
    if worst in (Status.FIX, Status.LOOK):
        first = differences[0]
        args["first"] = Sentence(f"settings.why.{first.why}")
        args["name"] = first.name
        return Finding("ENV120", worst, f"ENV120.{first.risk}", args, weight=WEIGHT)
    return Finding("ENV120", worst, "ENV120.alike", args, weight=WEIGHT)


def _row_of_difference(difference: Difference) -> tuple[Scalar, ...]:
    name = f"{difference.name} +{len(difference.names) - 1}" if len(difference.names) > 1 else difference.name
    head = (Sentence(f"settings.risk.{difference.risk}"), Sentence(f"settings.group.{difference.group}"), name)
    fix: Scalar = None  # what to do, where there is something to do: the requirement to install for a package
    if difference.risk not in (risks.EXPECTED, risks.LOW):
        exact = difference.group == "packages" and difference.left
        requirement = f"{difference.name}=={str(difference.left).split('+')[0]}" if exact else difference.name
        fix = Sentence(f"settings.do.{difference.why}", name=requirement)
    values = (_shown_value(difference.left), _shown_value(difference.right))
    return (*head, *values, Sentence(f"settings.why.{difference.why}"), fix)


def _shown_value(value: object) -> Scalar:
    return value if value is None or isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)
