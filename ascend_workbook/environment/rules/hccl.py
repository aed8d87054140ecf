"""HCCL: addresses of the NPUs' ports, the rank table, its variables."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ascend_workbook.environment.machine import Machine
from ascend_workbook.environment.system import Args, Untold, require_fact
from ascend_workbook.findings.finding import Finding, Status

GROUP = "hccl"
RANGES = {"HCCL_CONNECT_TIMEOUT": (120, 7200), "HCCL_IF_BASE_PORT": (1024, 65520)}


def check_hccn(machine: Machine) -> Iterator[Finding]:
    """ENV063: /etc/hccn.conf gives each NPU's network port its address; collectives over several hosts need them all.

    Source: https://www.hiascend.com/document (hccn_tool, "configure the NPU network"). One host alone does without.
    """
    if not machine.needs_npu or machine.hccl.devices is None:
        if machine.needs_npu and machine.hardware.chips > 1:
            yield Finding("ENV063", Status.NOTE, "ENV063.none", {})
        return
    devices = require_fact(machine.hccl.devices)
    addresses = list(devices.values())
    twice = sorted({address for address in addresses if addresses.count(address) > 1})
    cards = sorted(int(card.path.rpartition("davinci")[2]) for card in machine.hardware.cards)
    missing = [card for card in cards if card not in devices]
    args: Args = {"count": len(devices), "twice": twice, "missing": missing}
    if twice:
        yield Finding("ENV063", Status.FIX, "ENV063.twice", args)
    elif missing:
        yield Finding("ENV063", Status.LOOK, "ENV063.missing", args)
    else:
        yield Finding("ENV063", Status.GOOD, "ENV063.ok", args)


def check_rank_table_file(machine: Machine) -> Iterator[Finding]:
    """ENV064: the file RANK_TABLE_FILE names is one HCCL takes: it has no fallback where the table does not fit.

    Source: https://www.hiascend.com/document/detail/zh/canncommercial/82RC1/hccl/hcclug/hcclug_000014.html
    """
    table = machine.hccl.rank_table
    if table is None:
        return
    args: Args = {"path": table.path, "ranks": table.ranks, "servers": table.servers}
    several = machine.chosen.count > 1 or "RANK" in machine.environ
    size = machine.environ.get("RANK_SIZE", "")
    bad = Status.FIX if machine.needs_npu and several else Status.LOOK
    if table.problem:
        yield Finding("ENV064", bad, "ENV064.unfit", {**args, "why": table.problem})
    elif re.fullmatch(r"\d{1,7}", size, re.ASCII) and int(size) != table.ranks:
        yield Finding("ENV064", bad, "ENV064.size", {**args, "size": size})
    else:
        yield Finding("ENV064", Status.GOOD, "ENV064.ok", args)


def check_hccl_variables(machine: Machine) -> Iterator[Finding]:
    """ENV065: HCCL's variables are in the ranges it takes; outside them it ends with EI0001 at its start.

    Source: CANN environment variables reference (HCCL_CONNECT_TIMEOUT 120 to 7200 s, HCCL_IF_BASE_PORT 1024 to 65520,
    HCCL_SOCKET_IFNAME: prefixes of interfaces, `=` exact, `^` all but), https://www.hiascend.com/document.
    """
    bad = Status.FIX if machine.needs_npu else Status.LOOK
    names_set = [name for name in (*RANGES, "HCCL_SOCKET_IFNAME") if name in machine.environ]
    wrong: list[str] = []
    for name, (low, high) in RANGES.items():
        value = machine.environ.get(name)
        if value is not None and not (re.fullmatch(r"\d{1,9}", value, re.ASCII) and low <= int(value) <= high):
            wrong.append(name)
            yield Finding("ENV065", bad, "ENV065.range", {"name": name, "value": value, "low": low, "high": high})
    value, interfaces = machine.environ.get("HCCL_SOCKET_IFNAME"), machine.hccl.interfaces
    if value and not isinstance(interfaces, Untold) and not any(_matches_interface(value, name) for name in interfaces):
        wrong.append("HCCL_SOCKET_IFNAME")
        yield Finding("ENV065", bad, "ENV065.interface", {"value": value, "found": list(interfaces)})
    if names_set and not wrong:
        args: Args = {"names": names_set}
        yield Finding("ENV065", Status.GOOD, "ENV065.ok", args)


def _matches_interface(value: str, name: str) -> bool:
    """Return whether the setting names the interface: `eth,enp` prefixes, `=eth0` exact, `^` all others."""
    wanted = value.lstrip("^").lstrip("=").split(",")
    exact = value.lstrip("^").startswith("=")
    match = any(name == prefix if exact else name.startswith(prefix) for prefix in wanted if prefix)
    return match != value.startswith("^")


RULES = {"ENV063": check_hccn, "ENV064": check_rank_table_file, "ENV065": check_hccl_variables}
