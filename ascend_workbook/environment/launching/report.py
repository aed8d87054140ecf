"""`launch_facts`: the report on the job: what contradicts what, and the launch line under the table.

ENV111: two sources differ. ENV112: HCCL's rank table. ENV113: what cannot be. ENV114: traps of the platform.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from ipaddress import ip_address
from pathlib import Path

from ascend_workbook.environment.hardware import device_nodes
from ascend_workbook.environment.launching import claims, job
from ascend_workbook.environment.launching.claims import Claims, Said
from ascend_workbook.environment.launching.job import Job, launch_line
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

    Looks only: starts nothing, reads no variable outside claims.VARIABLES. Fix, without a line, where sources
    contradict each other; Not looked where too little is said for a line.
    """
    system = system or System()
    environ = {name: system.environ[name] for name in claims.VARIABLES if name in system.environ}
    table, broken = _read_rank_table(environ, system)
    cards = sum(node.path.rpartition("davinci")[2].isdigit() for node in device_nodes(system))
    claimed = claims.read_claims(environ, table, cards, system.process.host_name())
    described = job.describe_job(environ, claimed)
    findings = [*broken, *judge_claims(environ, claimed, described, table)]
    left_over = any(environ.get(name) for name in LEFT_OVER) and (
        described.starter == "notebook" or any(finding.rule == "ENV112" for finding in findings)
    )
    contradicted = any(item.status is Status.FIX for item in findings)
    text = "" if contradicted else launch_line(described, script, left_over=left_over)
    listing = Listing("launching_line", text, "bash") if text else None
    facts = {"job": described.to_dict(), "line": text, "said": [vars(item) for item in claimed.said]}
    everything = (_make_verdict(described, claimed, findings, text), *findings)
    tier, rows = "npu-simulated" if described.simulated else "", _make_table(described, claimed)
    return Report(STAGE, "launch_facts", everything, rows, listing=listing, facts=facts, tier=tier)


def _read_rank_table(environ: dict[str, str], system: System) -> tuple[RankTable | None, list[Finding]]:
    """Read HCCL's rank table where the environment points to one, or return why it cannot be used."""
    path = environ.get("RANK_TABLE_FILE", "")
    if not path:
        return None, []
    if not Path(path).is_absolute():
        return None, [Finding("ENV112", Status.FIX, "ENV112.table_relative", {}, weight=60)]
    try:
        return read_table(system.path_of(path)), []
    except BrokenTable as why:
        status = Status.FIX if job.detect_starter(environ) != "notebook" else Status.LOOK
        return None, [Finding("ENV112", status, why.key, why.arguments, weight=60)]


def _make_verdict(described: job.Job, claimed: claims.Claims, findings: list[Finding], text: str) -> Finding:
    worst = max((item.status for item in findings), default=Status.GOOD)
    args: Args = {"hosts": described.host_count, "per_host": described.per_host, "world": described.world_size}
    if worst is Status.FIX:
        failed = [item for item in findings if item.status is Status.FIX]
        first = max(failed, key=lambda item: item.weight)
        args = {"count": len(failed), "first": Sentence(first.key, **first.args)}
        return Finding("ENV110", worst, "ENV110.contradiction", args, weight=WEIGHT)
    if not text:
        return Finding("ENV110", max(worst, Status.NOT_LOOKED), "ENV110.unknown", args, weight=WEIGHT)
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
        (Sentence("launching.starter"), Sentence(f"launching.starter.{described.starter}"), None)
    ]
    for field_name in ROWS:
        if values[field_name] is None and field_name not in ("host_rank", "per_host"):
            continue
        value: Scalar = Sentence("launching.unknown") if values[field_name] in (None, "") else values[field_name]
        rows.append((Sentence(f"launching.{field_name}"), value, sources.get(field_name)))
    return Table(COLUMNS, tuple(rows))


COMPARED = ("host_count", "host_rank", "per_host", "cards", "world_size", "master", "port", "rank", "local_rank")
#: HCCL listens on the host on 16 ports from HCCL_IF_BASE_PORT on (CANN environment variables, HCCL_IF_BASE_PORT).
HCCL_PORT, HCCL_PORTS = 60000, 16
LEFT_OVER = ("RANK_TABLE_FILE", "RANK_ID", "RANK_SIZE")


def judge_claims(environ: Mapping[str, str], claims: Claims, job: Job, table: RankTable | None) -> Iterator[Finding]:
    """Yield all findings but the verdict."""
    for name in dict.fromkeys(claims.broken):
        yield Finding("ENV113", Status.FIX, "ENV113.broken", {"name": name}, weight=80)
    for field_name in COMPARED:
        yield from _find_differences(field_name, claims.of_field(field_name))
    if table is not None:
        for key, args in table.find_problems():
            yield Finding("ENV112", Status.FIX, f"ENV112.{key}", args, weight=60)
    yield from _find_impossible(environ, claims, job)
    yield from _find_traps(environ, job)


def _find_differences(field_name: str, field_claims: list[Said]) -> Iterator[Finding]:
    """Yield one finding for each source that differs from the one believed."""
    if field_name == "master":  # a table's address may be of another network than the launcher's
        field_claims = [claim for claim in field_claims if claim.name != "RANK_TABLE_FILE"]
    for other in field_claims[1:]:
        first = field_claims[0]
        if first.value == other.value or (
            field_name == "master" and _is_address(str(first.value)) != _is_address(str(other.value))
        ):
            continue
        args: Args = {"first": f"{first.name}={first.value}", "second": f"{other.name}={other.value}"}
        args["what"] = Sentence(f"launching.{field_name}")
        yield Finding("ENV111", Status.FIX, "ENV111.differ", args, weight=70)


def _find_impossible(environ: Mapping[str, str], claims: Claims, job: Job) -> Iterator[Finding]:
    for name, hosts in claims.hosts.items():
        twice = sorted({host for host in hosts if hosts.count(host) > 1})[:3]
        if twice:
            yield Finding("ENV113", Status.FIX, "ENV113.twice", {"name": name, "hosts": twice}, weight=50)
    for small, large in (("host_rank", "host_count"), ("rank", "world_size"), ("local_rank", "per_host")):
        left, right = claims.first_of(small), claims.first_of(large)
        if left and right and int(left.value) >= int(right.value):
            args: Args = {"left": f"{left.name}={left.value}", "right": f"{right.name}={right.value}"}
            yield Finding("ENV113", Status.FIX, "ENV113.outside", args, weight=55)
    yield from _judge_sizes(claims, job)
    if job.host_count > 1 and (
        job.master == "localhost" or (_is_address(job.master) and ip_address(job.master).is_loopback)
    ):
        yield Finding("ENV113", Status.FIX, "ENV113.local", {"master": job.master, "hosts": job.host_count}, weight=50)
    yield from _judge_port(environ, job)


def _judge_sizes(claims: Claims, job: Job) -> Iterator[Finding]:
    world, per_host = claims.first_of("world_size"), claims.first_of("per_host") or claims.first_of("cards")
    if world and per_host and int(world.value) != int(per_host.value) * job.host_count:
        args: Args = {"world": f"{world.name}={world.value}", "per_host": f"{per_host.name}={per_host.value}"}
        args["hosts"] = job.host_count
        yield Finding("ENV113", Status.FIX, "ENV113.product", args, weight=52)
    visible = claims.first_of("visible")
    if visible and job.per_host and job.per_host > int(visible.value):
        more: Args = {"ranks": job.per_host, "source": job.sources.get("per_host", "?")}
        more["visible"] = f"{visible.name}: {visible.value}"
        yield Finding("ENV113", Status.FIX, "ENV113.cards", more, weight=51)


def _judge_port(environ: Mapping[str, str], job: Job) -> Iterator[Finding]:
    base = environ.get("HCCL_IF_BASE_PORT", "")
    first = int(base) if re.fullmatch(r"\d{1,5}", base, re.ASCII) else HCCL_PORT
    if job.port > 65535:
        yield Finding("ENV113", Status.FIX, "ENV113.port", {"port": job.port}, weight=50)
    elif first <= job.port < first + HCCL_PORTS:
        args: Args = {"port": job.port, "first": first, "last": first + HCCL_PORTS - 1}
        yield Finding("ENV113", Status.LOOK, "ENV113.hccl_port", args, weight=20)


def _find_traps(environ: Mapping[str, str], job: Job) -> Iterator[Finding]:
    left = [name for name in LEFT_OVER if environ.get(name)]
    if job.starter == "rtf":
        yield Finding("ENV114", Status.LOOK, "ENV114.rtf", {"cards": job.per_host or "?"}, weight=30)
    elif job.starter == "tasks":
        yield Finding("ENV114", Status.LOOK, "ENV114.tasks", {"tasks": job.per_host or "?"}, weight=30)
    elif job.starter == "worker":
        yield Finding("ENV114", Status.NOTE, "ENV114.worker", {"rank": job.rank, "world": job.world_size})
    elif job.starter == "platform":
        yield Finding("ENV114", Status.NOTE, "ENV114.platform", {"method": environ["MA_RUN_METHOD"][:20]})
    elif job.starter == "notebook" and left:
        yield Finding("ENV114", Status.LOOK, "ENV114.notebook", {"names": left, "unset": " ".join(left)}, weight=30)
    if job.host_count > 1 and job.host_rank is None:
        yield Finding("ENV114", Status.NOT_LOOKED, "ENV114.host_rank", {"hosts": job.host_count})
    if job.host_count > 1 and not job.master:
        yield Finding("ENV114", Status.NOT_LOOKED, "ENV114.master", {"hosts": job.host_count})
    if job.per_host is None:
        yield Finding("ENV114", Status.NOT_LOOKED, "ENV114.cards", {})


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
