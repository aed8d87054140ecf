"""One description of the job from all claims, who starts its processes, and the command that does so here."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ascend_workbook.environment.launching.claims import Claims

#: torchrun's own default (https://pytorch.org/docs/stable/elastic/run.html).
PORT = 29500
#: Who starts the training's processes. `rtf`: ModelArts' preset engine, once a card. `platform`: ModelArts through
#: torchrun. `worker`: they run already, this is one. `tasks`: srun, once a card. `notebook`: nobody, though a
#: platform's variables are set. `you`: the boot command, once a host.
STARTERS = ("worker", "rtf", "platform", "tasks", "notebook", "you")
FIELDS = (
    *("host_count", "host_rank", "per_host", "cards", "visible"),
    *("world_size", "master", "port", "rank", "local_rank"),
)


@dataclass(frozen=True)
class Job:
    """None where nobody says it and it does not follow. `sources` names per field the variable that was believed."""

    starter: str
    platform: str
    host_count: int
    hosts: tuple[str, ...]
    host_rank: int | None
    per_host: int | None
    master: str
    port: int
    rank: int | None = None
    local_rank: int | None = None
    simulated: bool = False
    sources: dict[str, str] = field(default_factory=dict)

    @property
    def world_size(self) -> int | None:
        return None if self.per_host is None else self.host_count * self.per_host

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "world_size": self.world_size}


def describe_job(environ: Mapping[str, str], claims: Claims) -> Job:
    """Describe the job by the most believed claim of each field, and by what follows from the others."""
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for field_name in FIELDS:
        claim = claims.first_of(field_name)
        values[field_name] = claim.value if claim else None
        if claim:
            sources[field_name] = claim.name
    count = values["host_count"] or 1
    # processes a host: as said, else the world over the hosts, else the platform's cards or the visible
    share, rest = divmod(values["world_size"] or 0, count)
    choices = {**values, "world_size": None if rest else share}
    by = next((name for name in ("per_host", "world_size", "cards", "visible") if choices[name]), "")
    return Job(
        starter=detect_starter(environ),
        platform=detect_platform(environ),
        host_count=count,
        hosts=next((names for names in claims.hosts.values() if len(names) == count), ()),
        host_rank=values["host_rank"] if count > 1 else 0,
        per_host=choices[by] if by else None,
        master=values["master"] or ("127.0.0.1" if count == 1 else ""),
        port=values["port"] or PORT,
        rank=values["rank"],
        local_rank=values["local_rank"],
        simulated=environ.get("ASCEND_WORKBOOK_SIMULATED") == "1",
        sources={**sources, "per_host": sources[by]} if by else sources,
    )


def detect_platform(environ: Mapping[str, str]) -> str:
    """Return modelarts-job, modelarts-notebook, slurm, or an empty text."""
    if environ.get("MA_VJ_NAME"):
        return "modelarts-job"
    if any(environ.get(name) for name in ("MA_HOME", "MA_NUM_GPUS", "MA_NUM_HOSTS")):
        return "modelarts-notebook"
    return "slurm" if environ.get("SLURM_JOB_ID") or environ.get("SLURM_NNODES") else ""


def detect_starter(environ: Mapping[str, str]) -> str:
    """Return one of STARTERS. ModelArts' preset engine starts the boot file once per card unless MA_RUN_METHOD says
    otherwise, and gives each start a RANK_ID."""
    if environ.get("RANK") and environ.get("WORLD_SIZE"):
        return "worker"
    method, where = environ.get("MA_RUN_METHOD", "").lower(), detect_platform(environ)
    engine = bool(environ.get("RANK_TABLE_FILE") and environ.get("RANK_ID"))
    if where == "modelarts-job" and method in ("torchrun", "msrun"):
        return "platform"
    if where == "modelarts-job" and (engine or method == "rtf"):
        return "rtf"
    if where == "modelarts-notebook":
        return "notebook"
    tasks = environ.get("SLURM_NTASKS_PER_NODE") or environ.get("SLURM_TASKS_PER_NODE") or "1"
    if where == "slurm" and environ.get("SLURM_PROCID") and tasks != "1" and not tasks.startswith("1("):
        return "tasks"
    return "you"


#: HCCL believes these where they are set; torchrun gives every process its own ranks.
UNSET = ("env", "-u", "RANK_TABLE_FILE", "-u", "RANK_ID", "-u", "RANK_SIZE")
#: A preset engine has started the boot file once per card: one of them goes on (ModelArts, develop-modelarts-1415).
ONCE = '[ "$ASCEND_DEVICE_ID" = 0 ] || exit 0'


def launch_line(job: Job, script: Sequence[str] = ("train.py",), *, left_over: bool = False) -> str:
    """Return the line that starts the training, or an empty text where something that it needs is not known.

    `left_over`: a platform's rank variables are set that do not belong to this start. Where the processes run
    already (a worker, srun's tasks, ModelArts' own torchrun) it is the script alone.
    """
    if job.starter in ("worker", "platform"):
        return shlex.join(["python", *script])
    if job.starter == "tasks":
        # srun has started a process for each card: it only has to be told its rank
        if not job.master:
            return ""
        ranks = "RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID WORLD_SIZE=$SLURM_NTASKS"
        return f"{ranks} MASTER_ADDR={job.master} MASTER_PORT={job.port} {shlex.join(['python', *script])}"
    command = torchrun_command(job, script)
    if not command:
        return ""
    if job.starter == "rtf":
        return f"{ONCE}\n{shlex.join([*UNSET, *command])}"
    return shlex.join([*(UNSET if left_over else ()), *command])


def torchrun_command(job: Job, script: Sequence[str]) -> list[str]:
    """Return torchrun with its options for this host, as words; empty where one of them is not known."""
    if job.per_host is None:
        return []
    if job.host_count == 1:
        return ["torchrun", "--standalone", f"--nproc_per_node={job.per_host}", *script]
    if job.host_rank is None or not job.master:
        return []
    hosts = [f"--nnodes={job.host_count}", f"--node_rank={job.host_rank}", f"--nproc_per_node={job.per_host}"]
    return ["torchrun", *hosts, f"--master_addr={job.master}", f"--master_port={job.port}", *script]
