"""Launch facts from recorded variables: one description, contradictions by name, traps, and nothing secret."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.cli import main as __main__
from ascend_workbook.environment.launching import claims, launch_facts
from ascend_workbook.environment.launching.rank_table import BrokenTable, RankTable, parse_table, read_table
from ascend_workbook.environment.system import System
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import load_catalogue


def table(servers: int = 2, cards: int = 2, **changed: Any) -> dict[str, Any]:
    """The recommended form, version 1.0."""
    made = [
        {
            "server_id": f"node_{host}",
            "host_ip": f"10.0.0.{host + 1}",
            "device": [
                {"device_id": str(card), "device_ip": f"192.168.{host}.{card + 1}", "rank_id": str(host * cards + card)}
                for card in range(cards)
            ],
        }
        for host in range(servers)
    ]
    return {"status": "completed", "version": "1.0", "server_count": str(servers), "server_list": made, **changed}


def super_pod() -> dict[str, Any]:
    """Version 1.2 of an A3: super_device_id beside each device."""
    made = table(version="1.2", super_pod_list=[{"super_pod_id": "0", "server_list": [{"server_id": "node_0"}]}])
    for number, device in enumerate(one for server in made["server_list"] for one in server["device"]):
        device["super_device_id"] = str(37748736 + number)
    return made


def pods(hosts: int = 2, cards: int = 2) -> dict[str, Any]:
    """The older form as ModelArts writes it: pods, no ranks."""
    made = [
        {
            "pod_name": f"job-worker-{host}",
            "server_id": f"192.168.0.{host}",
            "devices": [{"device_id": str(card), "device_ip": f"192.1.{host}.{card}"} for card in range(cards)],
        }
        for host in range(hosts)
    ]
    return {
        "status": "completed",
        "group_count": "1",
        "group_list": [{"group_name": "g", "instance_count": str(hosts), "instance_list": made}],
    }


def instances(cards: int = 2) -> dict[str, Any]:
    """The older form as HCCL's own tests have it: an instance is one device with its rank."""
    made = [
        {"rank_id": str(rank), "server_id": "10.0.0.10", "devices": [{"device_id": str(rank), "device_ip": ""}]}
        for rank in range(cards)
    ]
    return {"status": "completed", "group_count": "1", "group_list": [{"group_name": "", "instance_list": made}]}


RTF = {
    "MA_VJ_NAME": "modelarts-job-1",
    "MA_NUM_HOSTS": "2",
    "MA_NUM_GPUS": "2",
    "VC_WORKER_NUM": "2",
    "VC_TASK_INDEX": "1",
    "VC_WORKER_HOSTS": "w-0.j,w-1.j",
    "RANK_TABLE_FILE": "/t.json",
    "RANK_ID": "3",
    "RANK_SIZE": "4",
    "ASCEND_DEVICE_ID": "1",
    "MA_CURRENT_IP": "10.0.0.2",
}
CUSTOM = {
    "MA_VJ_NAME": "modelarts-job-1",
    "MA_NUM_HOSTS": "2",
    "MA_NUM_GPUS": "8",
    "VC_WORKER_NUM": "2",
    "VC_TASK_INDEX": "1",
    "VC_WORKER_HOSTS": "w-0.j,w-1.j",
}
ROUTED = {
    "MA_VJ_NAME": "ma-job",
    "MA_TASK_NAME": "worker",
    "MA_MASTER_INDEX": "1",
    "ROUTE_PLAN": "true",
    "RANK_AFTER_ACC": "0",
    "VC_TASK_INDEX": "1",
    "MA_NUM_HOSTS": "2",
    "MA_NUM_GPUS": "8",
    "VC_WORKER_HOSTS": "ma-job-worker-0.ma-job,ma-job-worker-1.ma-job",
}
WORKER = {
    "RANK": "9",
    "LOCAL_RANK": "1",
    "GROUP_RANK": "1",
    "WORLD_SIZE": "16",
    "LOCAL_WORLD_SIZE": "8",
    "GROUP_WORLD_SIZE": "2",
    "MASTER_ADDR": "10.0.0.1",
    "MASTER_PORT": "29501",
    "TORCHELASTIC_RUN_ID": "x",
}
SLURM = {
    "SLURM_JOB_ID": "7",
    "SLURM_NNODES": "2",
    "SLURM_JOB_NODELIST": "gpu[01-02]",
    "SLURM_NODEID": "1",
    "SLURM_TASKS_PER_NODE": "1(x2)",
    "SLURM_PROCID": "1",
    "SLURM_LOCALID": "0",
    "SLURM_NTASKS": "2",
    "SLURM_GPUS_ON_NODE": "8",
}
TASKS = {**SLURM, "SLURM_TASKS_PER_NODE": "8(x2)", "SLURM_PROCID": "9", "SLURM_LOCALID": "1", "SLURM_NTASKS": "16"}
NOTEBOOK = {"MA_HOME": "/home/ma-user", "RANK_TABLE_FILE": "/t.json", "RANK_ID": "0", "RANK_SIZE": "1"}
TWO_HOSTS = "torchrun --nnodes=2 --node_rank=1 --nproc_per_node=8"
UNSET = "env -u RANK_TABLE_FILE -u RANK_ID -u RANK_SIZE torchrun"


def facts(root: Path, environ: dict[str, str], files: int = 0, content: Any = None) -> Report:
    """The report of these variables, this many device files and this rank table at /t.json."""
    (root / "dev").mkdir(exist_ok=True)
    for card in range(files):
        (root / "dev" / f"davinci{card}").touch()
    if content is not None:
        (root / "t.json").write_text(content if isinstance(content, str) else json.dumps(content))
    return launch_facts(system=System(root, environ))


def keys(report: Report) -> dict[str, Status]:
    return {finding.key: finding.status for finding in report.findings[1:]}


#: name -> (variables, device files, table, hosts, rank of this host, ranks per host, master, status, keys, line)
GOOD: dict[str, tuple[Any, ...]] = {
    "nothing, four cards": (
        {},
        4,
        None,
        1,
        0,
        4,
        "127.0.0.1",
        Status.NOTE,
        set(),
        "torchrun --standalone --nproc_per_node=4 train.py",
    ),
    "two of them visible": (
        {"ASCEND_RT_VISIBLE_DEVICES": "1,3"},
        4,
        None,
        1,
        0,
        2,
        "127.0.0.1",
        Status.NOTE,
        set(),
        "torchrun --standalone --nproc_per_node=2 train.py",
    ),
    "nothing at all": ({}, 0, None, 1, 0, None, "127.0.0.1", Status.NOT_LOOKED, {"ENV114.cards"}, ""),
    "ModelArts, own image": (
        CUSTOM,
        8,
        None,
        2,
        1,
        8,
        "w-0.j",
        Status.GOOD,
        set(),
        f"{TWO_HOSTS} --master_addr=w-0.j --master_port=29500 train.py",
    ),
    "ModelArts with a route plan": (
        ROUTED,
        8,
        None,
        2,
        0,
        8,
        "ma-job-worker-1.ma-job",
        Status.GOOD,
        set(),
        "torchrun --nnodes=2 --node_rank=0 --nproc_per_node=8 "
        "--master_addr=ma-job-worker-1.ma-job --master_port=29500 train.py",
    ),
    "preset engine": (
        RTF,
        2,
        table(),
        2,
        1,
        2,
        "w-0.j",
        Status.LOOK,
        {"ENV114.rtf"},
        f'[ "$ASCEND_DEVICE_ID" = 0 ] || exit 0\n{UNSET} --nnodes=2 --node_rank=1 --nproc_per_node=2 '
        "--master_addr=w-0.j --master_port=29500 train.py",
    ),
    "preset engine, A3": ({**RTF, "RANK_ID": "2"}, 2, super_pod(), 2, 1, 2, "w-0.j", Status.LOOK, {"ENV114.rtf"}, None),
    "preset engine, older table": (RTF, 2, pods(), 2, 1, 2, "w-0.j", Status.LOOK, {"ENV114.rtf"}, None),
    "through torchrun": (
        {**CUSTOM, "MA_RUN_METHOD": "torchrun"},
        8,
        None,
        2,
        1,
        8,
        "w-0.j",
        Status.NOTE,
        {"ENV114.platform"},
        "python train.py",
    ),
    "a worker": (WORKER, 8, None, 2, 1, 8, "10.0.0.1", Status.NOTE, {"ENV114.worker"}, "python train.py"),
    "a notebook": (
        NOTEBOOK,
        1,
        instances(1),
        1,
        0,
        1,
        "10.0.0.10",
        Status.LOOK,
        {"ENV114.notebook"},
        f"{UNSET} --standalone --nproc_per_node=1 train.py",
    ),
    "SLURM, one task a node": (
        SLURM,
        8,
        None,
        2,
        1,
        8,
        "gpu01",
        Status.GOOD,
        set(),
        f"{TWO_HOSTS} --master_addr=gpu01 --master_port=29500 train.py",
    ),
    "SLURM, one task a card": (
        TASKS,
        8,
        None,
        2,
        1,
        8,
        "gpu01",
        Status.LOOK,
        {"ENV114.tasks"},
        "RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID WORLD_SIZE=$SLURM_NTASKS "
        "MASTER_ADDR=gpu01 MASTER_PORT=29500 python train.py",
    ),
    "a table alone": (
        {"RANK_TABLE_FILE": "/t.json", "MA_CURRENT_IP": "10.0.0.2"},
        2,
        table(),
        2,
        1,
        2,
        "10.0.0.1",
        Status.GOOD,
        set(),
        None,
    ),
    "which host is not told": (
        {"MA_NUM_HOSTS": "2", "MA_NUM_GPUS": "8"},
        8,
        None,
        2,
        None,
        8,
        "",
        Status.NOT_LOOKED,
        {"ENV114.host_rank", "ENV114.master"},
        "",
    ),
}


@pytest.mark.parametrize("name", GOOD)
def test_a_job_is_described(tmp_path: Path, name: str) -> None:
    environ, files, content, hosts, host_rank, per_host, master, status, found, line = GOOD[name]
    report = facts(tmp_path, environ, files, content)
    job = report.facts["job"]
    assert (job["host_count"], job["host_rank"], job["per_host"], job["master"]) == (hosts, host_rank, per_host, master)
    assert (report.status, set(keys(report))) == (status, found)
    assert line is None or report.facts["line"] == line


#: name -> (variables, device files, table, the key that must be found)
BAD: dict[str, tuple[dict[str, str], int, Any, str]] = {
    "hosts by number and by list": ({**CUSTOM, "MA_NUM_HOSTS": "3"}, 8, None, "ENV111.differ"),
    "a launcher's master": ({**CUSTOM, "MASTER_ADDR": "w-1.j"}, 8, None, "ENV111.differ"),
    "table and variables": (RTF, 2, table(3), "ENV111.differ"),
    "cards in the table": ({**RTF, "MA_NUM_GPUS": "8"}, 2, table(), "ENV111.differ"),
    "ranks of two launchers": ({**WORKER, "RANK_ID": "3"}, 8, None, "ENV111.differ"),
    "host beyond the hosts": ({**CUSTOM, "VC_TASK_INDEX": "2"}, 8, None, "ENV113.outside"),
    "rank beyond the world": ({**WORKER, "RANK": "16"}, 8, None, "ENV113.outside"),
    "world is no product": ({**WORKER, "WORLD_SIZE": "15"}, 8, None, "ENV113.product"),
    "fewer cards than ranks": (CUSTOM, 4, None, "ENV113.cards"),
    "a host twice": ({**CUSTOM, "VC_WORKER_HOSTS": "w-0.j,w-0.j"}, 8, None, "ENV113.twice"),
    "master is this host": ({**WORKER, "MASTER_ADDR": "127.0.0.1"}, 8, None, "ENV113.local"),
    "port too high": ({**WORKER, "MASTER_PORT": "70000"}, 8, None, "ENV113.port"),
    "number is a word": ({**CUSTOM, "MA_NUM_GPUS": "eight"}, 8, None, "ENV113.broken"),
    "no hosts": ({**CUSTOM, "MA_NUM_HOSTS": "0"}, 8, None, "ENV113.broken"),
    "host list is none": ({**SLURM, "SLURM_JOB_NODELIST": "gpu[1-"}, 8, None, "ENV113.broken"),
    "devices are words": ({"ASCEND_RT_VISIBLE_DEVICES": "all"}, 8, None, "ENV113.broken"),
    "table is absent": (RTF, 2, None, "ENV112.table_absent"),
    "table is relative": ({**RTF, "RANK_TABLE_FILE": "t.json"}, 2, table(), "ENV112.table_relative"),
    "table is cut short": (RTF, 2, json.dumps(table())[:200], "ENV112.table_form"),
    "table is a list": (RTF, 2, [], "ENV112.table_form"),
    "table without a server's name": (RTF, 2, json.dumps(table()).replace("server_id", "sid"), "ENV112.table_form"),
    "table with a word for a rank": (
        RTF,
        2,
        json.dumps(table()).replace('"rank_id": "0"', '"rank_id": "first"'),
        "ENV112.table_form",
    ),
    "size in other digits": ({**RTF, "RANK_SIZE": "\uff14"}, 2, table(), "ENV113.broken"),
    "table of version 9": (RTF, 2, table(version="9.0"), "ENV112.table_form"),
    "table nested deep": (RTF, 2, "[" * 100_000, "ENV112.table_form"),
    "table not ready": (RTF, 2, table(status="initializing"), "ENV112.table_status"),
    "table of nobody": (RTF, 2, table(0, server_count="0"), "ENV112.table_empty"),
    "older table of nobody": (RTF, 2, pods(0), "ENV112.table_empty"),
    "table with a server in two entries": (
        RTF,
        2,
        json.dumps(table(cards=1)).replace("node_1", "node_0"),
        "ENV112.table_devices",
    ),
    "table counts wrong": (RTF, 2, table(server_count="3"), "ENV112.table_count"),
    "table without rank 0": (
        RTF,
        2,
        json.dumps(table()).replace('"rank_id": "0"', '"rank_id": "7"'),
        "ENV112.table_ranks",
    ),
    "table with a device twice": (
        RTF,
        2,
        json.dumps(table()).replace('"device_id": "1"', '"device_id": "0"'),
        "ENV112.table_devices",
    ),
    "table with an address twice": (
        RTF,
        2,
        json.dumps(table()).replace("192.168.1.1", "192.168.0.1"),
        "ENV112.table_ips",
    ),
    "table of uneven hosts": (
        RTF,
        2,
        {
            **table(),
            "server_list": table(2)["server_list"][:1]
            + [{**table(2)["server_list"][1], "device": table(2)["server_list"][1]["device"][:1]}],
        },
        "ENV112.table_uneven",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_contradiction_is_named(tmp_path: Path, name: str) -> None:
    environ, files, content, key = BAD[name]
    report = facts(tmp_path, environ, files, content)
    assert keys(report).get(key) is Status.FIX, keys(report)
    assert report.headline and report.headline.key == "ENV110.contradiction"
    assert next(one for one in report.findings if one.key == key).hint("zh")


def test_no_line_is_offered_beside_a_contradiction(tmp_path: Path) -> None:
    report = facts(tmp_path, {**CUSTOM, "MA_NUM_HOSTS": "3"}, 8)
    assert (report.status, report.facts["line"], report.listing) == (Status.FIX, "", None)


def test_a_number_is_credited_to_who_says_it(tmp_path: Path) -> None:
    """15 ranks on 2 hosts of 8: the table shows the product, which WORLD_SIZE does not say."""
    for said, source in (("15", None), ("16", "WORLD_SIZE")):
        report = facts(tmp_path, {**WORKER, "WORLD_SIZE": said}, 8)
        assert report.table
        row = next(row for row in report.table.rows if row[0] == {"say": "launching.world_size"})
        assert row[1:] == (16, source)


def test_a_port_of_hccl_is_warned_of(tmp_path: Path) -> None:
    assert keys(facts(tmp_path, {**WORKER, "MASTER_PORT": "60015"}, 8))["ENV113.hccl_port"] is Status.LOOK
    assert "ENV113.hccl_port" not in keys(facts(tmp_path, {**WORKER, "MASTER_PORT": "60016"}, 8))
    moved = {**WORKER, "MASTER_PORT": "60000", "HCCL_IF_BASE_PORT": "50000"}
    assert "ENV113.hccl_port" not in keys(facts(tmp_path, moved, 8))


def test_a_name_and_an_address_may_be_one_host(tmp_path: Path) -> None:
    assert facts(tmp_path, {**CUSTOM, "MASTER_ADDR": "10.0.0.1"}, 8).status is Status.GOOD


def test_a_simulated_job_says_so(tmp_path: Path) -> None:
    report = facts(tmp_path, {"ASCEND_WORKBOOK_SIMULATED": "1", "ASCEND_WORKBOOK_SIM_DEVICES": "4"})
    assert report.simulated and report.facts["line"] == "torchrun --standalone --nproc_per_node=4 train.py"


def test_a_link_and_a_pipe_are_refused(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text(json.dumps(table()))
    (tmp_path / "t.json").symlink_to(tmp_path / "real.json")
    assert "ENV112.table_link" in keys(facts(tmp_path, RTF, 2))
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BrokenTable) as told:
        read_table(tmp_path / "pipe")
    assert told.value.key == "ENV112.table_form"


@pytest.mark.parametrize(
    ("content", "form", "ranks"),
    [
        (table(), "1.0", [(0, 1), (2, 3)]),
        (super_pod(), "1.2", [(0, 1), (2, 3)]),
        (pods(), "group_list", [(0, 1), (2, 3)]),
        (instances(), "group_list", [(0, 1)]),
    ],
)
def test_every_form_of_the_table(content: Any, form: str, ranks: list[tuple[int, ...]]) -> None:
    made: RankTable = parse_table(content)
    assert made.form == form and [server.ranks for server in made.servers] == ranks and not list(made.find_problems())


def test_a_server_in_two_entries_is_one() -> None:
    made = table(cards=1)
    made["server_list"][1].update(server_id="node_0")
    made["server_list"][1]["device"][0]["device_id"] = "1"
    (server,) = parse_table({**made, "server_count": "1"}).servers
    assert (server.devices, server.ranks) == ((0, 1), (0, 1))


@pytest.mark.parametrize("rank", ["²", "٣", "-1", "1e3", "x" * 99])
def test_a_rank_that_is_no_number_is_named(tmp_path: Path, rank: str) -> None:
    report = facts(tmp_path, {**RTF, "RANK_ID": rank, "MA_CURRENT_IP": ""}, 2, table())
    assert "ENV113.broken" in keys(report)


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("gpu1", ["gpu1"]),
        ("n[01-03,07],m", ["n01", "n02", "n03", "n07", "m"]),
        ("r[0-1]n[8-9]", ["r0n8", "r0n9", "r1n8", "r1n9"]),
    ],
)
def test_host_lists_of_slurm(text: str, hosts: list[str]) -> None:
    assert list(claims.parse_hosts(text)) == hosts


@pytest.mark.parametrize("text", ["n[1-", "n[]", "n[3-1]", "n[1-99999]", "a b", "n[0-999]m[0-999]", "", "n[1-2]]"])
def test_what_is_no_host_list(text: str) -> None:
    with pytest.raises(ValueError, match="hos|range"):
        claims.parse_hosts(text)


@pytest.mark.parametrize("name", [*GOOD, *BAD])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_it_reads_in_both_languages(tmp_path: Path, name: str, lang: str) -> None:
    environ, files, content = (GOOD.get(name) or BAD[name])[:3]
    report = facts(tmp_path, environ, files, content)
    assert "{" not in report.text(lang) and report.html(lang, page=False)
    assert Report.from_json(report.to_json()).text(lang) == report.text(lang)


def test_every_outcome_was_seen(tmp_path: Path) -> None:
    seen = {"ENV113.hccl_port", "ENV112.table_link"}
    for number, (environ, files, content, *_) in enumerate([*GOOD.values(), *BAD.values()]):
        (tmp_path / str(number)).mkdir()
        seen |= {one.key for one in facts(tmp_path / str(number), environ, files, content).findings}
    assert not {key for key in load_catalogue() if re.match(r"ENV11[0-4]\.", key)} - seen


def test_nothing_secret_is_shown(tmp_path: Path) -> None:
    planted = {
        "OBS_SECRET_ACCESS_KEY": "PLANTED-1",
        "MA_TOKEN": "PLANTED-2",
        "SLURM_JWT": "PLANTED-3",
        "MASTER_PORT": "PLANTED-4",
        "MA_NUM_GPUS": "PLANTED-5",
        "VC_WORKER_HOSTS": "http://u:PLANTED-6@h",
        "SLURM_JOB_NODELIST": "PLANTED 7",
        "ASCEND_RT_VISIBLE_DEVICES": "PLANTED-8",
    }
    content = table(status="PLANTED-9", note="PLANTED-10")
    report = facts(tmp_path, {**RTF, **planted}, 2, content)
    assert report.status is Status.FIX
    assert "PLANTED" not in report.text("en") + report.html("zh") + report.to_json()


def test_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in [name for name in os.environ if name.startswith(("MA_", "VC_", "SLURM_", "RANK", "ASCEND_RT"))]:
        monkeypatch.delenv(name)
    for name, value in CUSTOM.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("ASCEND_RT_VISIBLE_DEVICES", "0,1,2,3,4,5,6,7")
    assert __main__.main(["launch-facts", "--lang", "zh", "train.py", "--name", "a b"]) == 0
    assert f"{TWO_HOSTS} --master_addr=w-0.j --master_port=29500 train.py --name 'a b'" in capsys.readouterr().out
    monkeypatch.setenv("VC_TASK_INDEX", "5")
    assert __main__.main(["launch-facts", "--lang", "en"]) == 1
