"""`save_settings` and `compare_settings`: the GPU machine's settings against the NPU machine's."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Union

from helpers import bounded, device
from helpers.environment.readiness import STAGE
from helpers.environment.system import Args
from helpers.finding import Finding, Status
from helpers.report import Column, Report, Table
from helpers.settings import Difference, Settings, compare, load, risks
from helpers.settings.child import settings as reader
from helpers.settings.differences import unknown, unknown_machine
from helpers.words import Scalar

TIMEOUT_S = 120.0
WEIGHT = 100.0
STATUS = {risks.HIGH: Status.FAIL, risks.MEDIUM: Status.WARN, risks.LOW: Status.NOTE, risks.EXPECTED: Status.OK}
COLUMNS = (
    Column("settings_risk"), Column("settings_group"), Column("settings_name"), Column("settings_left"),
    Column("settings_right"), Column("settings_why"), Column("fix"),
)  # fmt: skip
Side = Union[str, Path, Settings]


def read_settings(machine: Mapping[str, Any]) -> Settings:
    """The settings of this machine, torch's flags asked in a child. `machine` are the facts of `check`'s report."""
    chosen = machine["chosen"]
    tier = str(chosen["tier"])
    answer, why = _ask(tier)
    told = {name: answer[name] for name in ("packages", "flags") if name in answer}
    untold = {} if answer else {"flags": why}
    return Settings(machine=_machine(machine), environment=reader.environment(), untold=untold,
                    **{"packages": reader.packages(), **told})  # fmt: skip


def _ask(tier: str) -> tuple[dict[str, Any], str]:
    """The child's answer, or an empty one and why."""
    try:
        environ = device.child_environment(tier or "cpu")
        done = bounded.run([sys.executable, reader.__file__], env=environ, timeout_s=TIMEOUT_S)
    except OSError as error:
        return {}, error.strerror or str(error)
    if done.timed_out:
        return {}, "timeout"
    try:
        answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):
        return {}, "".join(each for each in done.last_error if each.isprintable())[:200]
    return answer, ""


def _machine(facts: Mapping[str, Any]) -> dict[str, str]:
    chosen, host, python = facts["chosen"], facts["host"], facts["python"]
    cann = next((root["version"] for root in facts["cann"] if root["sourced"] or not root["simulated"]), "")
    cuda = python["torch_import"].get("cuda") or {}
    driver = facts["hardware"]["driver"]
    found = {
        "tier": chosen["tier"], "device": chosen["name"], "count": chosen["count"], "system": host["system"],
        "arch": host["arch"], "python": python["version"], "cann": cann, "cuda": cuda.get("build", ""),
        "driver": driver if isinstance(driver, str) else "",
    }  # fmt: skip
    return {name: str(value) for name, value in found.items() if value}


def save_settings(
    path: str | os.PathLike[str], report: Report, run: tuple[Mapping[str, Any], Mapping[str, Any]] | None = None
) -> Settings:
    """Writes this machine's settings to `path`. `report` is `check`'s or one that holds it as a part; `run` the `about`
    and `sides` of a capture's manifest, whose seeds, fingerprints and settings in force then belong to the record."""
    facts = next(part.facts["machine"] for part in (report, *report.parts) if "machine" in part.facts)
    made = read_settings(facts)
    if run is not None:
        made = made.with_run(*run)
    made.save(Path(path))
    return made


def compare_settings(left: Side, right: Side) -> Report:
    """What differs between two records (files of `check --save`), the riskiest first.

    FAIL: a difference that makes results part or another experiment. WARN: results may part. NOTE: little risk.
    Raises WorkbookError `settings.unreadable` or `settings.version` where a file is no record.
    """
    sides = [side if isinstance(side, Settings) else load(Path(side)) for side in (left, right)]
    found = compare(*sides)
    missing = unknown(*sides)
    names = [side.machine.get("device") or side.tier or "?" for side in sides]
    names_of: dict[str, Args] = {"machine": {"names": [*unknown_machine(*sides)]}}
    findings = [Finding("ENV121", Status.SKIPPED, f"ENV121.{name}", names_of.get(name, {})) for name in missing]
    return Report(
        STAGE,
        "compare_settings",
        (_verdict(found, missing, names), *findings),
        Table(COLUMNS, tuple(_row(one) for one in found)),
        facts={"left": sides[0].machine, "right": sides[1].machine, "not_compared": missing,
               "differences": [vars(replace(one, names=one.names[:20])) for one in found]},
        tier="npu-simulated" if any(side.tier == "npu-simulated" for side in sides) else "",
    )  # fmt: skip


def _verdict(found: tuple[Difference, ...], missing: list[str], names: list[str]) -> Finding:
    counts = {risk: sum(one.risk == risk for one in found) for risk in risks.ORDER}
    args: Args = {"left": names[0], "right": names[1], **counts}
    worst = max((STATUS[one.risk] for one in found), default=Status.OK)
    worst = max(worst, Status.SKIPPED if missing else Status.OK)
    if worst in (Status.FAIL, Status.WARN):
        first = found[0]
        args["first"] = {"say": f"settings.why.{first.why}"}
        args["name"] = first.name
        return Finding("ENV120", worst, f"ENV120.{first.risk}", args, weight=WEIGHT)
    return Finding("ENV120", worst, "ENV120.alike", args, weight=WEIGHT)


def _row(one: Difference) -> tuple[Scalar, ...]:
    name = f"{one.name} +{len(one.names) - 1}" if len(one.names) > 1 else one.name
    return ({"say": f"settings.risk.{one.risk}"}, {"say": f"settings.group.{one.group}"}, name, _shown(one.left),
            _shown(one.right), {"say": f"settings.why.{one.why}"}, _do(one))  # fmt: skip


def _shown(value: Any) -> Scalar:
    return value if value is None or isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)


def _do(one: Difference) -> Scalar:
    """What to do, where there is something to do: the requirement to install for a package."""
    if one.risk in (risks.EXPECTED, risks.LOW):
        return None
    requirement = f"{one.name}=={str(one.left).split('+')[0]}" if one.group == "packages" and one.left else one.name
    return {"say": f"settings.do.{one.why}", "args": {"name": requirement}}
