"""Names of this host and of the others of its job: from the launcher's variables and from HCCL's rank table."""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

# ruff: noqa: SIM905 - a column of names reads better without quotes
#: MASTER_ADDR and its like hold one name or several with commas; a port may follow.
NAMES = """
HOSTNAME HOST MASTER_ADDR VC_WORKER_HOSTS PET_RDZV_ENDPOINT PET_MASTER_ADDR SLURMD_NODENAME
SLURM_LAUNCH_NODE_IPADDR SLURM_SUBMIT_HOST SLURM_TOPOLOGY_ADDR
""".split()
LISTS = ("SLURM_NODELIST", "SLURM_JOB_NODELIST", "SLURM_STEP_NODELIST")
TABLES = ("RANK_TABLE_FILE", "RANKTABLEFILE", "RANK_TABLE")
TABLE_BYTES, MOST = 20_000_000, 20_000
#: Of a rank table: what names a host.
TABLE_NAMES = ("server_id", "server_name", "host_name", "hostname", "host_ip", "pod_name", "node_id")
#: Names that tell nothing, and words that a text has anyway.
WORDS = ("localhost", "master", "worker", "node", "server", "host", "none", "ubuntu", "debian", "python", "torch")
_NAME = re.compile(r"(?=[\w.-]*[A-Za-z])[A-Za-z0-9][\w.-]{2,252}")


def find_host_names(environ: Mapping[str, str]) -> set[str]:
    """Find the names of this host and of the others of its job: whole names, and the first part of dotted ones."""
    texts = [environ.get(name, "") for name in NAMES] + [_name_host()]
    candidates = {word.split("://")[-1].split(":")[0].strip() for text in texts for word in re.split(r"[,;\s]+", text)}
    for name in LISTS:
        candidates.update(itertools.islice(expand_host_list(environ.get(name, "")), MOST))
    for name in TABLES:
        candidates.update(_names_in_table(environ.get(name, "")))
    whole = {name.rstrip(".") for name in candidates if _NAME.fullmatch(name)}
    all_names = whole | {name.split(".")[0] for name in whole}
    return {name for name in all_names if len(name) > 2 and name.lower() not in WORDS and not name.isdigit()}


def expand_host_list(text: str) -> Iterator[str]:
    """Expand SLURM's `gpu[01-03,7]-ib,login` to gpu01-ib, gpu02-ib, gpu03-ib, gpu7-ib, login."""
    for group in re.findall(r"(?:[^,\[\]]|\[[^\]]*\])+", text):
        parts = re.split(r"\[([^\]]*)\]", group.strip())
        choices = [list(_expand_numbers(part)) if at % 2 else [part] for at, part in enumerate(parts)]
        yield from ("".join(chosen) for chosen in itertools.product(*choices))


def _expand_numbers(text: str) -> Iterator[str]:
    for part in text.split(","):
        first, _, last = part.partition("-")
        if first.isdigit() and last.isdigit():
            stop = min(int(last), int(first) + MOST)
            yield from (str(number).zfill(len(first)) for number in range(int(first), stop + 1))
        else:
            yield part


def _names_in_table(path: str) -> set[str]:
    """Return the servers in a rank table; one that cannot be read names none here (the check tells of it)."""
    try:
        if not path or Path(path).stat().st_size > TABLE_BYTES:
            return set()
        return set(itertools.islice(_walk_names(json.loads(Path(path).read_text(encoding="utf-8"))), MOST))
    except (OSError, ValueError, RecursionError):
        return set()


def _walk_names(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (text for name, text in value.items() if name in TABLE_NAMES and isinstance(text, str))
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _walk_names(item)


def _name_host() -> str:
    """Return this host's name; `socket` takes longer to import than the rest of the redactor."""
    if hasattr(os, "uname"):
        return os.uname().nodename
    from socket import gethostname

    return gethostname()
