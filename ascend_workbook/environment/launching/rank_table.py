"""HCCL's rank table, in the forms there are: `server_list` (versions 1.0 and 1.2) and the older `group_list`.

Source: HCCL user guide, rank table resource configuration, hcclug_000014 and hcclug_000068
(https://www.hiascend.com/document/detail/zh/canncommercial/82RC1/hccl/hcclug/hcclug_000014.html); ModelArts writes
the older form as jobstart_hccl.json, with a pod in the place of a server and ranks by order.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ascend_workbook.environment.system import Args
from ascend_workbook.findings.errors import explain_os_error
from ascend_workbook.findings.sentence import Scalar, Sentence

#: A table of 10,000 cards has about 2 MiB.
MOST_BYTES = 16 << 20
#: Where a server's address stands beside its name, the surest first.
ADDRESSES = ("host_ip", "server_ip", "container_ip", "server_id")
#: What a name or an address may be; a report never quotes anything else of the file.
NAME = re.compile(r"[\w.:\-]{1,64}", re.ASCII)
STATUSES = ("completed", "initializing")


class BrokenTable(Exception):
    """Why the file is no rank table: a sentence's key and its arguments."""

    def __init__(self, key: str, **args: Scalar) -> None:
        super().__init__(key)
        self.key, self.arguments = key, args


@dataclass(frozen=True)
class Server:
    """One host: its name, an address, and per card its physical number, its network address and its rank."""

    name: str
    address: str
    devices: tuple[int, ...]
    device_ips: tuple[str, ...]
    ranks: tuple[int, ...]


@dataclass(frozen=True)
class RankTable:
    """`form` is `1.0`, `1.2` or `group_list`; `counted` the number of servers that the table itself gives."""

    form: str
    status: str
    counted: int | None
    servers: tuple[Server, ...]

    @property
    def world_size(self) -> int:
        return sum(len(server.ranks) for server in self.servers)

    def find_problems(self) -> Iterator[tuple[str, Args]]:
        """Yield what HCCL would refuse, as the endings of sentences `ENV112.…` and their arguments."""
        if self.status != "completed":
            yield "table_status", {"status": self.status}
        if not self.world_size:
            yield "table_empty", {}
        if self.counted is not None and self.counted != len(self.servers):
            yield "table_count", {"said": self.counted, "found": len(self.servers)}
        ranks = sorted(rank for server in self.servers for rank in server.ranks)
        if ranks != list(range(len(ranks))):
            yield "table_ranks", {"ranks": ranks[:8], "count": len(ranks)}
        for server in self.servers:
            twice = sorted(device for device, count in Counter(server.devices).items() if count > 1)
            if twice:
                yield "table_devices", {"server": server.name, "devices": twice[:8]}
        if len({len(server.ranks) for server in self.servers}) > 1:
            yield "table_uneven", {"counts": [len(server.ranks) for server in self.servers][:8]}
        ips = Counter(ip for server in self.servers for ip in server.device_ips if ip)
        shared = sorted(ip for ip, count in ips.items() if count > 1)
        if shared:
            yield "table_ips", {"ips": shared[:3]}


def read_table(path: Path) -> RankTable:
    """Read the table; raises BrokenTable where it is absent, a link, too large, no JSON or of no known form."""
    if path.is_symlink():  # HCCL refuses it
        raise BrokenTable("ENV112.table_link")
    try:
        if path.exists() and not path.is_file():  # reading a pipe would wait for ever
            raise BrokenTable("ENV112.table_form", error=Sentence("launching.form.file"))
        with path.open("rb") as stream:
            raw = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise BrokenTable("ENV112.table_absent", error=explain_os_error(error)) from error
    if len(raw) > MOST_BYTES:
        raise BrokenTable("ENV112.table_form", error=f"> {MOST_BYTES >> 20} MiB")
    try:
        content = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise BrokenTable("ENV112.table_form", error=Sentence("launching.form.json")) from error
    try:
        return parse_table(content)
    except KeyError as error:
        missing: Scalar = Sentence("launching.form.missing", name=str(error.args[0])[:60])
        raise BrokenTable("ENV112.table_form", error=missing) from error
    except (TypeError, AttributeError, ValueError, StopIteration) as error:
        raise BrokenTable("ENV112.table_form", error=Sentence("launching.form.other")) from error


def parse_table(content: object) -> RankTable:
    """Parse a rank table; raises KeyError, TypeError, AttributeError or ValueError for an unknown form."""
    if not isinstance(content, dict):
        raise TypeError("no object")
    if "server_list" in content:
        # a device in two entries of one server is there twice
        joined: dict[str, Server] = {}
        for new in (_parse_server(item) for item in content["server_list"]):
            old = joined.get(new.name, Server(new.name, new.address, (), (), ()))
            cards = (old.devices + new.devices, old.device_ips + new.device_ips, old.ranks + new.ranks)
            joined[new.name] = Server(old.name, old.address, *cards)
        servers = tuple(joined.values())
        version = str(content.get("version", ""))
        if version not in ("1.0", "1.2"):
            raise ValueError("version")
        counted = int(content["server_count"]) if "server_count" in content else None
    else:
        version, counted, servers = "group_list", None, _parse_groups(content["group_list"])
    return RankTable(version, str(content["status"]) if content["status"] in STATUSES else "?", counted, servers)


def _checked_name(value: object) -> str:
    if not NAME.fullmatch(str(value)):
        raise ValueError("name")
    return str(value)


def _parse_server(item: Any) -> Server:
    devices = item["device"]
    return Server(
        _checked_name(item["server_id"]),
        next(_checked_name(item[name]) for name in ADDRESSES if item.get(name)),
        tuple(int(device["device_id"]) for device in devices),
        tuple(_device_ip(device) for device in devices),
        tuple(int(device["rank_id"]) for device in devices),
    )


def _device_ip(device: Any) -> str:
    return _checked_name(device["device_ip"]) if device.get("device_ip") else ""


def _parse_groups(groups: Any) -> tuple[Server, ...]:
    """Parse instances: single devices (with a rank each) or pods of several (ranks by order); joined by server."""
    joined: dict[str, list[tuple[int, str, int]]] = {}
    for instance in (entry for group in groups for entry in group["instance_list"]):
        cards = joined.setdefault(_checked_name(instance["server_id"]), [])
        for device in instance["devices"]:
            count = sum(map(len, joined.values()))
            rank = int(device.get("rank_id", instance.get("rank_id", count)))
            cards.append((int(device["device_id"]), _device_ip(device), rank))
    return tuple(Server(name, name, *map(tuple, zip(*cards))) for name, cards in joined.items() if cards)
