"""What each variable says of the job: a field, a value, and the variable's name. Nothing is believed yet.

Only the variables in VARIABLES are read. A value that is not a number or a host name where one must be is named,
never quoted: it may be anything, a password too.
Sources: torchrun's variables (https://pytorch.org/docs/stable/elastic/run.html), ModelArts (develop-modelarts-1415,
develop-modelarts-0104 at https://support.huaweicloud.com), SLURM (https://slurm.schedmd.com/srun.html).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product

from ascend_workbook.environment.launching.rank_table import RankTable
from ascend_workbook.environment.system import read_variables

# ruff: noqa: SIM905 - a column of names reads better without quotes

#: More than any cluster here has; a range beyond it is a mistake or an attack on memory.
MOST_HOSTS = 4096


def parse_hosts(text: str) -> tuple[str, ...]:
    """Parse a host list of SLURM's, `node[01-03,07],gpu1` (https://slurm.schedmd.com/scontrol.html, hostlist). Raises
    ValueError where it is none, or names more than MOST_HOSTS."""
    names: list[str] = []
    for item in re.findall(r"(?:[^,\[\]]+|\[[^\[\]]*\])+", text):
        parts = re.findall(r"\[([^\[\]]*)\]|([^\[\]]+)", item)
        choices = [_expand_range(inside) if inside or not plain else [plain] for inside, plain in parts]
        size = 1
        for choice in choices:
            size *= len(choice)
        if size + len(names) > MOST_HOSTS:
            raise ValueError(f"more than {MOST_HOSTS} hosts")
        names += ["".join(choice) for choice in product(*choices)]
    if not names or text.count("[") != text.count("]") or not all(re.fullmatch(r"[\w.\-]+", host) for host in names):
        raise ValueError("not a host list")
    return tuple(names)


def _expand_range(text: str) -> list[str]:
    """Expand `01-03,07` into 01, 02, 03, 07: leading zeros are kept."""
    numbers: list[str] = []
    for part in text.split(","):
        ends = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", part, re.ASCII)
        if ends is None:
            raise ValueError("not a range")
        first, last = int(ends[1]), int(ends[2] or ends[1])
        if not 0 <= last - first < MOST_HOSTS:
            raise ValueError("not a range")
        numbers += [f"{number:0{len(ends[1])}d}" for number in range(first, last + 1)]
    return numbers


VARIABLES = read_variables("job")
#: Variables that hold one number: the field it is of. In the order in which they are believed.
NUMBERS = dict(
    word.split("=")
    for word in """
RANK=rank LOCAL_RANK=local_rank GROUP_RANK=host_rank WORLD_SIZE=world_size LOCAL_WORLD_SIZE=per_host
GROUP_WORLD_SIZE=host_count MASTER_PORT=port MA_NUM_HOSTS=host_count VC_WORKER_NUM=host_count MA_NUM_GPUS=cards
VC_TASK_INDEX=host_rank RANK_ID=rank RANK_SIZE=world_size SLURM_NNODES=host_count SLURM_JOB_NUM_NODES=host_count
SLURM_NODEID=host_rank SLURM_GPUS_ON_NODE=cards
""".split()
)
#: Fields that start at 1; the others start at 0.
FROM_ONE = ("world_size", "per_host", "host_count", "cards", "port")
HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.:\-]{0,253}[A-Za-z0-9])?")
MOST = 1_000_000


@dataclass(frozen=True)
class Said:
    """`name` says that `field` is `value`."""

    field: str
    value: int | str
    name: str


@dataclass
class Claims:
    """All that was said, the most believed first; `hosts` by source; `broken` are variables that say nothing usable."""

    said: list[Said] = field(default_factory=list)
    hosts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)

    def of_field(self, name: str) -> list[Said]:
        return [claim for claim in self.said if claim.field == name]

    def first_of(self, name: str) -> Said | None:
        return next(iter(self.of_field(name)), None)


def read_claims(environ: Mapping[str, str], table: RankTable | None, device_files: int, host: str = "") -> Claims:
    """Read all claims. `device_files` is the number of /dev/davinci<N>; `host` this host's name."""
    claims = Claims()
    steps = environ.get("SLURM_STEP_NODELIST") or environ.get("SLURM_JOB_NODELIST", "")
    tasks_only = "SLURM_PROCID" in environ and "RANK" not in environ
    routed = environ.get("ROUTE_PLAN", "").lower() == "true"
    for name, field_name in NUMBERS.items():
        _add_number(claims, environ, "RANK_AFTER_ACC" if name == "VC_TASK_INDEX" and routed else name, field_name)
    if tasks_only and _tasks_per_node(claims, environ) > 1:
        for name, field_name in (("PROCID", "rank"), ("LOCALID", "local_rank"), ("NTASKS", "world_size")):
            _add_number(claims, environ, f"SLURM_{name}", field_name)
    _add_master(claims, "MASTER_ADDR", environ.get("MASTER_ADDR", ""))
    if routed:  # the master of a ModelArts job with a route plan: built from the job's and the task's names
        job, task, index = (environ.get(name, "") for name in ("MA_VJ_NAME", "MA_TASK_NAME", "MA_MASTER_INDEX"))
        _add_master(claims, "MA_MASTER_INDEX", f"{job}-{task}-{index}.{job}" if job and task and index else "")
    _add_host_list(claims, "VC_WORKER_HOSTS", environ.get("VC_WORKER_HOSTS", ""), master=not routed)
    _add_host_list(claims, "SLURM_JOB_NODELIST", steps, master=True)
    if not routed:  # a route plan numbers the hosts anew
        # worker-1 is not worker-10
        hosts = claims.hosts.get("VC_WORKER_HOSTS", ())
        positions = [at for at, name in enumerate(hosts) if host and host in (name, name.partition(".")[0])]
        if len(positions) == 1:
            claims.said.append(Said("host_rank", positions[0], "VC_WORKER_HOSTS"))
    if table is not None:
        name = "RANK_TABLE_FILE"
        claims.hosts[name] = tuple(server.name for server in table.servers)
        claims.said.append(Said("host_count", len(table.servers), name))
        claims.said.append(Said("world_size", table.world_size, name))
        sizes = {len(server.ranks) for server in table.servers}
        if len(sizes) == 1:
            claims.said.append(Said("cards", sizes.pop(), name))
        ordered = sorted(table.servers, key=lambda server: min(server.ranks, default=0))
        # this host's server: by its address, else by the rank that this process has
        address, rank = environ.get("MA_CURRENT_IP", ""), environ.get("RANK_ID", "")
        own_rank = int(rank) if re.fullmatch(r"\d{1,7}", rank, re.ASCII) else -1
        for at, server in enumerate(ordered):
            if (address and address in (server.name, server.address)) or own_rank in server.ranks:
                claims.said.append(Said("host_rank", at, name))
                break
        if ordered and HOST.fullmatch(ordered[0].address):
            claims.said.append(Said("master", ordered[0].address, name))
    _add_devices(claims, environ, device_files)
    return claims


def _add_number(claims: Claims, environ: Mapping[str, str], name: str, field_name: str) -> None:
    text = environ.get(name, "").strip()
    if not text:
        return
    number = int(text) if re.fullmatch(r"\d{1,7}", text, re.ASCII) else -1
    if not (1 if field_name in FROM_ONE else 0) <= number <= MOST:
        claims.broken.append(name)
    else:
        claims.said.append(Said(field_name, number, name))


def _add_master(claims: Claims, name: str, text: str) -> None:
    if not text:
        return
    if HOST.fullmatch(text):
        claims.said.append(Said("master", text, name))
    else:
        claims.broken.append(name)


def _add_host_list(claims: Claims, name: str, text: str, *, master: bool) -> None:
    """Add a host list: its length, and its first host as the master."""
    if not text.strip():
        return
    try:
        names = parse_hosts(text) if name.startswith("SLURM") else tuple(entry.strip() for entry in text.split(","))
    except ValueError:
        claims.broken.append(name)
        return
    if not all(HOST.fullmatch(entry) for entry in names) or len(names) > MOST_HOSTS:
        claims.broken.append(name)
        return
    claims.hosts[name] = names
    claims.said.append(Said("host_count", len(names), name))
    if master:
        claims.said.append(Said("master", names[0], name))


def _tasks_per_node(claims: Claims, environ: Mapping[str, str]) -> int:
    """Return SLURM's tasks on each node; more than one means that srun has started a process per card."""
    name = "SLURM_NTASKS_PER_NODE" if environ.get("SLURM_NTASKS_PER_NODE") else "SLURM_TASKS_PER_NODE"
    try:
        text = environ.get(name) or "1"  # `8(x2),4`
        matches = [re.fullmatch(r"(\d{1,6})(?:\(x\d{1,6}\))?", part, re.ASCII) for part in text.split(",")]
        if not all(matches):
            raise ValueError("not a list of tasks")
        numbers = {int(part[1]) for part in matches if part}
    except ValueError:
        if name not in claims.broken:
            claims.broken.append(name)
        return 1
    most = max(numbers)
    if most > 1 and Said("per_host", most, name) not in claims.said:
        claims.said.append(Said("per_host", most, name))
    return most


def _add_devices(claims: Claims, environ: Mapping[str, str], device_files: int) -> None:
    """Add how many cards this process may use: chosen by a variable, present as device files, or simulated."""
    if _add_visible(claims, environ, "ASCEND_RT_VISIBLE_DEVICES"):
        return
    if environ.get("ASCEND_WORKBOOK_SIMULATED") == "1":
        text = environ.get("ASCEND_WORKBOOK_SIM_DEVICES") or "2"
        if re.fullmatch(r"[1-9]\d?", text, re.ASCII):
            claims.said.append(Said("visible", int(text), "ASCEND_WORKBOOK_SIM_DEVICES"))
    elif device_files:
        claims.said.append(Said("visible", device_files, "/dev/davinci*"))
    else:
        _add_visible(claims, environ, "CUDA_VISIBLE_DEVICES")


def _add_visible(claims: Claims, environ: Mapping[str, str], name: str) -> bool:
    text = environ.get(name, "").replace(" ", "")
    if not re.fullmatch(r"\d{1,3}(,\d{1,3})*", text, re.ASCII):
        if text and name.startswith("ASCEND"):  # CUDA's may be UUIDs
            claims.broken.append(name)
        return False
    claims.said.append(Said("visible", len(set(text.split(","))), name))
    return True
