"""Host lists as SLURM writes them: `node[01-03,07],gpu1` (https://slurm.schedmd.com/scontrol.html, hostlist)."""

from __future__ import annotations

import re
from itertools import product

#: More than any cluster here has; a range beyond it is a mistake or an attack on memory.
MOST_HOSTS = 4096


def parse_hosts(text: str) -> tuple[str, ...]:
    """Parse a host list into its hosts in order. Raises ValueError where the text is no host list, or names more than
    MOST_HOSTS.
    """
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


def parse_tasks(text: str) -> set[int]:
    """Parse `8(x2),4` of SLURM_TASKS_PER_NODE into the different numbers of tasks. Raises ValueError."""
    matches = [re.fullmatch(r"(\d{1,6})(?:\(x\d{1,6}\))?", part, re.ASCII) for part in text.split(",")]
    if not all(matches):
        raise ValueError("not a list of tasks")
    return {int(part[1]) for part in matches if part}
