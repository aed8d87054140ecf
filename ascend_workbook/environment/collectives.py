"""Reads what HCCL goes by: /etc/hccn.conf, the network interfaces, and the file that RANK_TABLE_FILE names."""

from __future__ import annotations

import re

from ascend_workbook.environment.machine import Hccl, RankTable
from ascend_workbook.environment.system import System, Told, Untold
from ascend_workbook.findings.sentence import Sentence

HCCN = "/etc/hccn.conf"
INTERFACES = "/sys/class/net"


def read_hccl(system: System) -> Hccl:
    return Hccl(
        devices=read_device_addresses(system), interfaces=list_interfaces(system), rank_table=read_rank_table(system)
    )


def read_device_addresses(system: System) -> Told[dict[int, str]] | None:
    """Read `address_0=192.168.100.101` of hccn.conf: the address of each NPU's own network port."""
    if not system.path_of(HCCN).exists():
        return None
    text = system.read_file(HCCN)
    if isinstance(text, Untold):
        return text
    matches = re.findall(r"^\s*address_(\d{1,4})\s*=\s*([0-9A-Fa-f.:]+)\s*$", text, re.MULTILINE | re.ASCII)
    return {int(number): address for number, address in matches}


def list_interfaces(system: System) -> Told[tuple[str, ...]]:
    if not system.path_of(INTERFACES).is_dir():
        return Untold("untold.file", {"path": INTERFACES, "error": "No such file or directory"})
    return tuple(name.rpartition("/")[2] for name in system.glob_names(f"{INTERFACES}/*"))


def read_rank_table(system: System) -> RankTable | None:
    """Read the size of HCCL's rank table, and what HCCL would refuse in it."""
    from ascend_workbook.environment.launching.rank_table import (  # that package reports: it imports ours
        BrokenTable,
        read_table,
    )

    name = system.environ.get("RANK_TABLE_FILE", "")
    if not name:
        return None
    try:
        table = read_table(system.path_of(name))
    except BrokenTable as broken:
        return RankTable(name, problem=Sentence(broken.key, **broken.arguments))
    first = next((Sentence(f"ENV112.{key}", **args) for key, args in table.find_problems()), None)
    return RankTable(name, table.world_size, len(table.servers), first)
