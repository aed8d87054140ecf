"""Which of a job's processes does the work: exactly one for the workbook, one on each host for a script."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.environment.launching.rank_table import parse_table
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.modelarts import imitation, role, work


def decide(kind: str, start: imitation.Start, hosts: int = 1, cards: int = 2, name: str = "here") -> role.Role:
    table = parse_table(imitation.make_rank_table(hosts, cards)) if "RANK_TABLE_FILE" in start.variables else None
    return role.decide_role(kind, start.variables, table, cards, name)


@pytest.mark.parametrize("hosts", [1, 2, 11])
@pytest.mark.parametrize("method", imitation.METHODS)
def test_the_workbook_runs_once(tmp_path: Path, method: str, hosts: int) -> None:
    found = [decide("workbook", start, hosts).name for start in imitation.job_starts(method, hosts, 2, tmp_path)]
    assert found[0] == "lead" and set(found[1:]) <= {"leave"} and len(found) == hosts * (1 if method == "custom" else 2)


@pytest.mark.parametrize("method", ["rtf", "custom"])
def test_a_script_runs_on_each_host_with_its_own_number(tmp_path: Path, method: str) -> None:
    starts = imitation.job_starts(method, 3, 2, tmp_path)
    leads = [mine for mine in (decide("script", start, 3) for start in starts) if mine.name == "lead"]
    commands = [work.make_command(mine, "python", "", "train.py --x 'a b'", {}) for mine in leads]
    master = imitation.host_names(3)[0]
    for number, words in enumerate(commands):
        assert words == [
            "python",
            "-m",
            "torch.distributed.run",
            "--nnodes=3",
            f"--node_rank={number}",
            "--nproc_per_node=2",
            f"--master_addr={master}",
            "--master_port=29500",
            "train.py",
            "--x",
            "a b",
        ]
    assert len(commands) == 3


def test_through_torchrun_each_process_is_a_rank(tmp_path: Path) -> None:
    found = [decide("script", start, 2) for start in imitation.job_starts("torchrun", 2, 2, tmp_path)]
    assert [mine.name for mine in found] == ["rank"] * 4
    variables = imitation.job_starts("torchrun", 2, 2, tmp_path)[3].variables
    kept = work.make_environment(variables, found[3])
    assert work.make_command(found[3], "python", "", "train.py", {}) == ["python", "train.py"]
    assert {name: kept[name] for name in variables} == variables


def without(start: imitation.Start, *names: str) -> imitation.Start:
    left = {name: value for name, value in start.variables.items() if name not in names}
    return imitation.Start(start.host, start.card, start.name, left)


@pytest.mark.parametrize("number", [0, 1, 10])
@pytest.mark.parametrize("whole", [True, False])
def test_a_host_is_known_by_its_whole_name(tmp_path: Path, number: int, whole: bool) -> None:
    """worker-1 begins worker-10: the name must match as a whole, with or without the domain."""
    start = without(imitation.job_starts("custom", 11, 2, tmp_path)[number], "VC_TASK_INDEX")
    name = imitation.host_names(11)[number]
    mine = decide("script", start, 11, name=name if whole else name.partition(".")[0])
    assert mine.job.host_rank == number and "node_rank=" + str(number) in " ".join(
        work.make_command(mine, "python", "", "train.py", {})
    )


def test_an_unknown_host_stops(tmp_path: Path) -> None:
    start = without(imitation.job_starts("custom", 11, 2, tmp_path)[1], "VC_TASK_INDEX")
    for name in ("worker-1", f"{imitation.JOB}-worker-", f"x{imitation.host_names(11)[1]}"):
        with pytest.raises(WorkbookError) as raised:
            decide("workbook", start, 11, name=name)
        assert raised.value.key == "modelarts.which_host"


def test_a_name_that_differs_from_the_number_stops(tmp_path: Path) -> None:
    with pytest.raises(WorkbookError) as raised:
        decide("script", imitation.job_starts("custom", 3, 2, tmp_path)[1], 3, name=imitation.host_names(3)[2])
    assert raised.value.key == "modelarts.contradiction" and "VC_WORKER_HOSTS=2" in raised.value.message("en")


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"VC_TASK_INDEX": "5"}, "modelarts.contradiction"),
        ({"MA_NUM_HOSTS": "4"}, "modelarts.contradiction"),
        ({"ASCEND_DEVICE_ID": "x"}, "modelarts.card"),
    ],
)
def test_what_cannot_be_stops_before_anything_starts(tmp_path: Path, change: dict[str, str], key: str) -> None:
    start = imitation.job_starts("rtf", 2, 2, tmp_path)[0]
    start.variables.update(change)
    with pytest.raises(WorkbookError) as raised:
        decide("script", start, 2)
    assert raised.value.key == key


def test_a_rank_table_that_hccl_refuses_stops_a_script_and_not_the_workbook(tmp_path: Path) -> None:
    start, table = (
        imitation.job_starts("rtf", 2, 2, tmp_path)[0],
        parse_table({**imitation.make_rank_table(2, 2), "status": "initializing"}),
    )
    with pytest.raises(WorkbookError) as raised:
        role.decide_role("script", start.variables, table, 2, "here")
    assert raised.value.key == "modelarts.contradiction"
    assert role.decide_role("workbook", start.variables, table, 2, "here").name == "lead"


def test_the_engines_variables_do_not_reach_the_work(tmp_path: Path) -> None:
    start = imitation.job_starts("rtf", 1, 2, tmp_path)[0]
    start.variables.update(PYTHONPATH=":/a::/b:", OTHER="x")
    kept = work.make_environment(start.variables, decide("workbook", start))
    assert not set(kept) & set(work.DROPPED) and kept["OTHER"] == "x"
    assert kept["PYTHONPATH"].split(":")[1:] == ["/a", "/b"]


def test_a_notebook_is_no_job(tmp_path: Path) -> None:
    """Its terminal has the engine's variables, and one process."""
    start = imitation.notebook_starts()[0]
    start.variables["MA_HOME"] = "/home/ma-user"
    assert role.decide_role("workbook", start.variables, None, 1, "here").name == "lead"
