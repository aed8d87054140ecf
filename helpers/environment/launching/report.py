"""`launch_facts`: the report on all of it; the launch line stands under the table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from helpers.environment.hardware import device_nodes
from helpers.environment.launching import claims, contradictions, job, line
from helpers.environment.launching.rank_table import BrokenTable, RankTable, read
from helpers.environment.readiness import STAGE
from helpers.environment.system import Args, System
from helpers.finding import Finding, Status
from helpers.report import Column, Listing, Report, Table
from helpers.words import Scalar

COLUMNS = (Column("launching_fact"), Column("value"), Column("launching_source"))
#: Believed so long as nothing else is said; shown where they have a value.
ROWS = ("host_count", "hosts", "host_rank", "per_host", "world_size", "master", "port", "rank", "local_rank")
WEIGHT = 100.0
SHOWN = 8


def launch_facts(script: Sequence[str] = ("train.py",), *, system: System | None = None) -> Report:
    """Hosts, ranks per host, devices, master and port from ModelArts', torchrun's or SLURM's variables and HCCL's rank
    table, what contradicts what, and the line that starts `script` here.

    Looks only: starts nothing, reads no variable outside claims.VARIABLES. FAIL, without a line, where sources
    contradict each other; SKIPPED where too little is said for a line.
    """
    system = system or System()
    environ = {name: system.environ[name] for name in claims.VARIABLES if name in system.environ}
    table, broken = _table(environ, system)
    cards = sum(node.path.rpartition("davinci")[2].isdigit() for node in device_nodes(system))
    said = claims.read(environ, table, cards, system.process.host_name())
    found = job.describe(environ, said)
    findings = [*broken, *contradictions.judge(environ, said, found, table)]
    left_over = any(environ.get(name) for name in contradictions.LEFT_OVER) and _unfit(findings, found)
    contradicted = any(one.status is Status.FAIL for one in findings)
    text = "" if contradicted else line.line(found, script, left_over=left_over)
    return Report(
        STAGE,
        "launch_facts",
        (_verdict(found, said, findings, text), *findings),
        _rows(found, said),
        listing=Listing("launching_line", text, "bash") if text else None,
        facts={"job": found.to_dict(), "line": text, "said": [vars(one) for one in said.said]},
        tier="npu-simulated" if found.simulated else "",
    )


def _table(environ: dict[str, str], system: System) -> tuple[RankTable | None, list[Finding]]:
    """HCCL's rank table where the environment points to one, or why it cannot be used."""
    path = environ.get("RANK_TABLE_FILE", "")
    if not path:
        return None, []
    if not Path(path).is_absolute():
        return None, [Finding("ENV112", Status.FAIL, "ENV112.table_relative", {}, weight=60)]
    try:
        return read(system.path(path)), []
    except BrokenTable as why:
        status = Status.FAIL if job.starter(environ) != "notebook" else Status.WARN
        return None, [Finding("ENV112", status, why.key, why.arguments, weight=60)]


def _unfit(findings: list[Finding], found: job.Job) -> bool:
    """Whether a rank table that is set must be kept from HCCL: a notebook's, or one that does not fit."""
    return found.starter == "notebook" or any(one.rule == "ENV112" for one in findings)


def _verdict(found: job.Job, said: claims.Claims, findings: list[Finding], text: str) -> Finding:
    worst = max((one.status for one in findings), default=Status.OK)
    args: Args = {"hosts": found.host_count, "per_host": found.per_host, "world": found.world_size}
    if worst is Status.FAIL:
        failed = [one for one in findings if one.status is Status.FAIL]
        first = max(failed, key=lambda one: one.weight)
        args = {"count": len(failed), "first": {"say": first.key, "args": first.args}}
        return Finding("ENV110", worst, "ENV110.contradiction", args, weight=WEIGHT)
    if not text:
        return Finding("ENV110", max(worst, Status.SKIPPED), "ENV110.unknown", args, weight=WEIGHT)
    if not [one for one in said.said if one.field not in ("visible", "rank", "local_rank")]:
        return Finding("ENV110", max(worst, Status.NOTE), "ENV110.single", args, weight=WEIGHT)
    where = {"say": f"launching.platform.{(found.platform or 'none').replace('-', '_')}"}
    return Finding("ENV110", worst, "ENV110.job", {**args, "where": where}, weight=WEIGHT)


def _rows(found: job.Job, said: claims.Claims) -> Table:
    sources = dict(found.sources)
    world = said.first("world_size")
    if world and world.value != found.world_size:  # the number shown is a product, not what that variable says
        sources.pop("world_size")
    values: dict[str, Scalar] = {**found.to_dict(), "hosts": list(found.hosts[:SHOWN]) or None}
    if len(found.hosts) > SHOWN:
        values["hosts"] = [*found.hosts[:SHOWN], "…"]
    rows: list[tuple[Scalar, ...]] = [
        ({"say": "launching.starter"}, {"say": f"launching.starter.{found.starter}"}, None),
    ]
    for of in ROWS:
        if values[of] is None and of not in ("host_rank", "per_host"):
            continue
        value: Scalar = {"say": "launching.unknown"} if values[of] in (None, "") else values[of]
        rows.append(({"say": f"launching.{of}"}, value, sources.get(of)))
    return Table(COLUMNS, tuple(rows))
