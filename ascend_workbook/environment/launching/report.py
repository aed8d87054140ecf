"""`launch_facts`: the report on all of it; the launch line stands under the table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ascend_workbook.environment.hardware import device_nodes
from ascend_workbook.environment.launching import claims, contradictions, job, line
from ascend_workbook.environment.launching.rank_table import BrokenTable, RankTable, read_table
from ascend_workbook.environment.readiness import STAGE
from ascend_workbook.environment.system import Args, System
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Listing, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence

COLUMNS = (Column("launching_fact"), Column("value"), Column("launching_source"))
#: Believed so long as nothing else is said; shown where they have a value.
ROWS = ("host_count", "hosts", "host_rank", "per_host", "world_size", "master", "port", "rank", "local_rank")
WEIGHT = 100.0
SHOWN = 8


def launch_facts(script: Sequence[str] = ("train.py",), *, system: System | None = None) -> Report:
    """Report hosts, ranks per host, devices, master and port from ModelArts', torchrun's or SLURM's variables and
    HCCL's rank table, what contradicts what, and the line that starts `script` here.

    Looks only: starts nothing, reads no variable outside claims.VARIABLES. FAIL, without a line, where sources
    contradict each other; SKIPPED where too little is said for a line.
    """
    system = system or System()
    environ = {name: system.environ[name] for name in claims.VARIABLES if name in system.environ}
    table, broken = _read_rank_table(environ, system)
    cards = sum(node.path.rpartition("davinci")[2].isdigit() for node in device_nodes(system))
    claimed = claims.read_claims(environ, table, cards, system.process.host_name())
    described = job.describe_job(environ, claimed)
    findings = [*broken, *contradictions.judge_claims(environ, claimed, described, table)]
    left_over = any(environ.get(name) for name in contradictions.LEFT_OVER) and _table_is_unfit(findings, described)
    contradicted = any(item.status is Status.FAIL for item in findings)
    text = "" if contradicted else line.launch_line(described, script, left_over=left_over)
    return Report(
        STAGE,
        "launch_facts",
        (_make_verdict(described, claimed, findings, text), *findings),
        _make_table(described, claimed),
        listing=Listing("launching_line", text, "bash") if text else None,
        facts={"job": described.to_dict(), "line": text, "said": [vars(item) for item in claimed.said]},
        tier="npu-simulated" if described.simulated else "",
    )


def _read_rank_table(environ: dict[str, str], system: System) -> tuple[RankTable | None, list[Finding]]:
    """Read HCCL's rank table where the environment points to one, or return why it cannot be used."""
    path = environ.get("RANK_TABLE_FILE", "")
    if not path:
        return None, []
    if not Path(path).is_absolute():
        return None, [Finding("ENV112", Status.FAIL, "ENV112.table_relative", {}, weight=60)]
    try:
        return read_table(system.path_of(path)), []
    except BrokenTable as why:
        status = Status.FAIL if job.detect_starter(environ) != "notebook" else Status.WARN
        return None, [Finding("ENV112", status, why.key, why.arguments, weight=60)]


def _table_is_unfit(findings: list[Finding], described: job.Job) -> bool:
    """Return whether a rank table that is set must be kept from HCCL: a notebook's, or one that does not fit."""
    return described.starter == "notebook" or any(finding.rule == "ENV112" for finding in findings)


def _make_verdict(described: job.Job, claimed: claims.Claims, findings: list[Finding], text: str) -> Finding:
    worst = max((item.status for item in findings), default=Status.OK)
    args: Args = {"hosts": described.host_count, "per_host": described.per_host, "world": described.world_size}
    if worst is Status.FAIL:
        failed = [item for item in findings if item.status is Status.FAIL]
        first = max(failed, key=lambda item: item.weight)
        args = {"count": len(failed), "first": Sentence(first.key, **first.args)}
        return Finding("ENV110", worst, "ENV110.contradiction", args, weight=WEIGHT)
    if not text:
        return Finding("ENV110", max(worst, Status.SKIPPED), "ENV110.unknown", args, weight=WEIGHT)
    if not [item for item in claimed.said if item.field not in ("visible", "rank", "local_rank")]:
        return Finding("ENV110", max(worst, Status.NOTE), "ENV110.single", args, weight=WEIGHT)
    where = Sentence(f"launching.platform.{(described.platform or 'none').replace('-', '_')}")
    return Finding("ENV110", worst, "ENV110.job", {**args, "where": where}, weight=WEIGHT)


def _make_table(described: job.Job, claimed: claims.Claims) -> Table:
    sources = dict(described.sources)
    world = claimed.first_of("world_size")
    if world and world.value != described.world_size:  # the number shown is a product, not what that variable says
        sources.pop("world_size")
    values: dict[str, Scalar] = {**described.to_dict(), "hosts": list(described.hosts[:SHOWN]) or None}
    if len(described.hosts) > SHOWN:
        values["hosts"] = [*described.hosts[:SHOWN], "…"]
    rows: list[tuple[Scalar, ...]] = [
        (Sentence("launching.starter"), Sentence(f"launching.starter.{described.starter}"), None),
    ]
    for field_name in ROWS:
        if values[field_name] is None and field_name not in ("host_rank", "per_host"):
            continue
        value: Scalar = Sentence("launching.unknown") if values[field_name] in (None, "") else values[field_name]
        rows.append((Sentence(f"launching.{field_name}"), value, sources.get(field_name)))
    return Table(COLUMNS, tuple(rows))
