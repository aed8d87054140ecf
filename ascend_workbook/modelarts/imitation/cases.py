"""Variables as the platform sets them: a notebook's, a job's with the preset engine, through torchrun, of a custom
image, on one host or several. Recorded forms, not recorded values: names and numbers are made.

Source: https://support.huaweicloud.com, develop-modelarts-0104 (variables of a training container), -1415 (starts).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

JOB = "modelarts-job-0a1b2c3d"
#: As the preset engine starts it: which method, once per card or once per host.
METHODS = ("rtf", "torchrun", "custom")
PORT = "6060"


@dataclass(frozen=True)
class Start:
    """One process that the platform starts: on which host, of which card, with which variables beside the user's."""

    host: int
    card: int
    name: str
    variables: dict[str, str] = field(default_factory=dict)


def host_names(count: int) -> list[str]:
    """Return the names of the hosts; worker-1 is a part of worker-10, which tempts a careless match."""
    return [f"{JOB}-worker-{number}.{JOB}" for number in range(count)]


def job_starts(method: str, count: int, cards: int, folder: Path) -> list[Start]:
    """Return every process of a job; with the preset engine the rank table lies in `folder`."""
    table = folder / "jobstart_hccl.json"
    if method == "rtf":
        table.write_text(json.dumps(make_rank_table(count, cards)), encoding="utf-8")
    per_host = 1 if method == "custom" else cards
    starts = []
    for host in range(count):
        for card in range(per_host):
            variables = {
                **common_variables(host, count, cards),
                **_method_variables(method, host, card, cards, count, table),
            }
            starts.append(Start(host, card, f"{JOB}-worker-{host}", variables))
    return starts


def common_variables(host: int, count: int, cards: int) -> dict[str, str]:
    """Return the variables that every process of a job has."""
    return {
        "MA_VJ_NAME": JOB,
        "MA_TASK_NAME": "worker",
        "MA_NUM_HOSTS": str(count),
        "MA_NUM_GPUS": str(cards),
        "VC_WORKER_NUM": str(count),
        "VC_TASK_INDEX": str(host),
        "VC_WORKER_HOSTS": ",".join(host_names(count)),
        "MA_CURRENT_IP": f"10.0.0.{host + 1}",
    }


def notebook_starts() -> list[Start]:
    """Return a notebook's terminal: no job, though the engine's rank table is named."""
    variables = {
        "RANK_TABLE_FILE": "/user/config/nbstart_hccl.json",
        "RANK_ID": "0",
        "RANK_SIZE": "1",
        "ASCEND_DEVICE_ID": "0",
    }
    return [Start(0, 0, "notebook-1", variables)]


def _method_variables(method: str, host: int, card: int, cards: int, count: int, table: Path) -> dict[str, str]:
    rank, world = str(host * cards + card), str(count * cards)
    if method == "rtf":
        return {"RANK_TABLE_FILE": str(table), "RANK_ID": rank, "RANK_SIZE": world, "ASCEND_DEVICE_ID": str(card)}
    if method == "torchrun":
        return {
            "MA_RUN_METHOD": "torchrun",
            "RANK": rank,
            "LOCAL_RANK": str(card),
            "WORLD_SIZE": world,
            "LOCAL_WORLD_SIZE": str(cards),
            "GROUP_RANK": str(host),
            "GROUP_WORLD_SIZE": str(count),
            "MASTER_ADDR": host_names(count)[0],
            "MASTER_PORT": PORT,
        }
    return {}


def make_rank_table(count: int, cards: int) -> dict[str, object]:
    """Make a rank table as HCCL's documents have it (version 1.0)."""
    servers = [
        {
            "server_id": f"10.0.0.{host + 1}",
            "host_ip": f"10.0.0.{host + 1}",
            "device": [
                {"device_id": str(card), "device_ip": f"192.168.{host}.{card + 1}", "rank_id": str(host * cards + card)}
                for card in range(cards)
            ],
        }
        for host in range(count)
    ]
    return {"status": "completed", "version": "1.0", "server_count": str(count), "server_list": servers}
