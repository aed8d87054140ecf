"""The command that starts the training on this host, whole and quoted for a shell."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from ascend_workbook.environment.launching.job import Job

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
        return _line_for_tasks(job, script)
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
    return [
        "torchrun",
        f"--nnodes={job.host_count}",
        f"--node_rank={job.host_rank}",
        f"--nproc_per_node={job.per_host}",
        f"--master_addr={job.master}",
        f"--master_port={job.port}",
        *script,
    ]


def _line_for_tasks(job: Job, script: Sequence[str]) -> str:
    """Return the line for srun, which has started a process for each card: it only has to be told its rank."""
    if not job.master:
        return ""
    variables = [
        "RANK=$SLURM_PROCID",
        "LOCAL_RANK=$SLURM_LOCALID",
        "WORLD_SIZE=$SLURM_NTASKS",
        f"MASTER_ADDR={job.master}",
        f"MASTER_PORT={job.port}",
    ]
    return " ".join(variables) + " " + shlex.join(["python", *script])
