"""Reads what HCCL goes by: /etc/hccn.conf, the network interfaces, and the file that RANK_TABLE_FILE names."""

from __future__ import annotations

import re

from helpers.environment.machine import Hccl, RankTable
from helpers.environment.system import System, Told, Untold

HCCN = "/etc/hccn.conf"
INTERFACES = "/sys/class/net"


def read_hccl(system: System) -> Hccl:
    return Hccl(devices=devices(system), interfaces=interfaces(system), rank_table=rank_table(system))


def devices(system: System) -> Told[dict[int, str]] | None:
    """`address_0=192.168.100.101` of hccn.conf: the address of each NPU's own network port."""
    if not system.path(HCCN).exists():
        return None
    text = system.read(HCCN)
    if isinstance(text, Untold):
        return text
    found = re.findall(r"^\s*address_(\d{1,4})\s*=\s*([0-9A-Fa-f.:]+)\s*$", text, re.MULTILINE | re.ASCII)
    return {int(number): address for number, address in found}


def interfaces(system: System) -> Told[tuple[str, ...]]:
    if not system.path(INTERFACES).is_dir():
        return Untold("untold.file", {"path": INTERFACES, "error": "No such file or directory"})
    return tuple(name.rpartition("/")[2] for name in system.glob(f"{INTERFACES}/*"))


def rank_table(system: System) -> RankTable | None:
    """The table's size, and what HCCL would refuse in it."""
    from helpers.environment.launching.rank_table import BrokenTable, read  # that package reports: it imports ours

    name = system.environ.get("RANK_TABLE_FILE", "")
    if not name:
        return None
    try:
        table = read(system.path(name))
    except BrokenTable as broken:
        return RankTable(name, problem={"say": broken.key, "args": broken.arguments})
    first = next(({"say": f"ENV112.{key}", "args": args} for key, args in table.problems()), {})
    return RankTable(name, table.world_size, len(table.servers), first)
