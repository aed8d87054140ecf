"""The facts of one rank from its profile: gloo's threads on a CPU, CANN's planes, a database of an older version."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.profiling import analyse
from ascend_workbook.profiling.ranks.collectives import calls_at, read_trace_waits
from ascend_workbook.profiling.ranks.facts import RankFacts
from ascend_workbook.profiling.ranks.reading import read_rank
from ascend_workbook.profiling.ranks.together import read_ranks_in_parallel
from ascend_workbook.profiling.readers import read_trace


def event(name: str, category: str, start_us: float, length_us: float, tid: int = 1, **args: Any) -> dict[str, Any]:
    timed = {"ph": "X", "ts": start_us, "dur": length_us}
    return {**timed, "cat": category, "name": name, "pid": 1, "tid": tid, "args": args}


def on_cpu(rank: int, asleep_us: float) -> dict[str, Any]:
    """Four steps of 1000 us: computing, the given sleep, an all_reduce in gloo's thread until 950 us."""
    events = []
    for step in range(4):
        at = 1000 * step
        begin = 150 + asleep_us
        events += [
            event(f"ProfilerStep#{step}", "user_annotation", at, 1000),
            event("aten::mm", "cpu_op", at + 10, 100),
            *([] if asleep_us else [event("aten::relu", "cpu_op", at + 300, 50)]),
            event("c10d::allreduce_", "cpu_op", at + begin - 10, 5),
            event("gloo:all_reduce", "user_annotation", at + begin, 950 - begin, tid=2),
        ]
    return {"distributedInfo": {"rank": rank, "world_size": 2}, "host_name": "h", "traceEvents": events}


def test_a_rank_that_sleeps_on_a_cpu(tmp_path: Path) -> None:
    """Rank 1 sleeps 600 us a step; what rank 0 waits meanwhile is communication; an operator hides 50 us of it."""
    for rank, asleep in ((0, 0), (1, 600)):
        (tmp_path / f"rank{rank}.pt.trace.json").write_text(json.dumps(on_cpu(rank, asleep)))
    report = analyse(tmp_path)
    assert report.table is not None
    assert report.table.column_values("profiling_communication") == [0.75, 0.2]
    assert report.table.column_values("profiling_free") == pytest.approx([0.095, 0.695])
    assert report.table.column_values("rank_wait") == [0.6, 0.0]
    slow, late = (next(one for one in report.findings if one.rule == code) for code in ("PRF353", "PRF352"))
    assert (slow.args["rank"], slow.args["gain_ms"], slow.args["part"]) == (1, 0.55, {"say": "ranks.part.free"})
    assert (late.args["rank"], late.args["waited_rank"], late.args["times"]) == (0, 1, 3)
    assert "rank 1 is slow" in report.verdict("en"), "the cause comes before what it brings about"


def planes(tmp_path: Path) -> Path:
    """Two groups, each with two planes below its own lane; the second group's call overlaps the first's."""
    rows: list[dict[str, Any]] = [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "HCCL"}}]
    calls = [("hcom_allReduce__111_0_1", 0, 100, 0), ("hcom_allGather__222_0_1", 3, 50, 60)]
    waits = [(1, 5, 70, 2), (1, 80, 10, 2), (2, 5, 30, 3), (4, 55, 40, 1), (5, 55, 5, 0)]
    rows += [event(name, "", start, length, tid) for name, tid, length, start in calls]
    rows += [event("Notify_Wait", "", at, length, tid, **{"dst rank": peer}) for tid, at, length, peer in waits]
    rows += [event("Memcpy", "", 10, 60, 2, **{"dst rank": 3})]
    for row in rows[1:]:
        row["ts"] = f"{1_700_000_000_000_000 + row['ts']}.000"
    file = tmp_path / "trace_view.json"
    file.write_text(json.dumps(rows))
    return file


def test_waits_belong_to_the_planes_of_their_group(tmp_path: Path) -> None:
    """A peer's waits on its plane are added up; a wait of the second group that begins before its call is nobody's."""
    found = read_trace_waits(read_trace(planes(tmp_path)))
    assert {name: one[1:] for name, one in found.items()} == {"hcom_allReduce__111_0_1": (80_000, 2, 30_000)}


def test_a_lane_whose_number_is_out_of_range_is_none_of_a_group(tmp_path: Path) -> None:
    file = planes(tmp_path)
    file.write_text(file.read_text().replace('"tid": 5', f'"tid": {"9" * 30}'))
    found = read_trace_waits(read_trace(file))
    assert {name: one[1:] for name, one in found.items()} == {"hcom_allReduce__111_0_1": (80_000, 2, 30_000)}


def test_a_database_of_a_version_without_operation_numbers(tmp_path: Path) -> None:
    file = tmp_path / "ascend_pytorch_profiler_0.db"
    with closing(sqlite3.connect(file)) as made, made:
        made.executescript(
            "CREATE TABLE STRING_IDS (id, value); CREATE TABLE COMMUNICATION_OP (opName, startNs, endNs, groupName);"
            "INSERT INTO STRING_IDS VALUES (1, 'hcom_allReduce__111_0_1'), (2, 'group');"
            "INSERT INTO COMMUNICATION_OP VALUES (1, 1000, 5000, 2)"
        )
    calls = calls_at(tmp_path, None)
    assert (calls.kind, calls.group, calls.duration_ns.tolist()) == (["allReduce"], ["group"], [4000])
    assert calls.told_wait_ns.tolist() == [-1]


@pytest.mark.parametrize(
    "told",
    [
        [],
        {"step1": []},
        {"step1": {"collective": {"a@g": {"Communication Time Info": [1]}}}},
        {
            "step1": {
                "collective": {"a@g": {"Communication Time Info": {"Start Timestamp(us)": 1e300, "Elapse Time(ms)": 1}}}
            }
        },
    ],
)
def test_tables_that_hold_nothing_usable(tmp_path: Path, told: Any) -> None:
    (tmp_path / "communication.json").write_text(json.dumps(told))
    if isinstance(told, dict):
        assert len(calls_at(tmp_path, None)) == 0
    else:
        with pytest.raises(WorkbookError, match="communication.json: cannot be read: a list, no object"):
            calls_at(tmp_path, None)


def killed(path: str, rank: int) -> str:
    if rank == 1:
        os._exit(9)
    return json.dumps({"error": "numbers.no_list", "args": {"name": "ranks", "given": path}})


def test_a_process_that_is_killed_takes_its_rank_alone(tmp_path: Path) -> None:
    found = read_ranks_in_parallel(dict.fromkeys(range(3), tmp_path), killed)
    assert [one.key for one in found.values() if isinstance(one, WorkbookError)] == [
        "numbers.no_list",
        "ranks.process_lost",
        "numbers.no_list",
    ]


def test_a_rank_without_a_timeline_is_read_from_its_tables(tmp_path: Path) -> None:
    output = tmp_path / "rank3_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    heading = "Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,Preparing"
    (output / "step_trace_time.csv").write_text(f"{heading}\n7,600,300,10,310,100,1000,250,5\n")
    facts, profile = read_rank(output.parent, 3)
    assert profile is None and facts.tables_only
    (step,) = facts.steps
    assert (step.number, step.total_ns, step.own_ns, step.bubble_ns) == (7, 1_000_000, 700_000, 250_000)


def tables_of(folder: Path, steps: int) -> Path:
    """A rank with the tables of its steps alone: each computes 100 us more than the one before."""
    output = folder / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    rows = "".join(f"{number},{100 * number},50,0,50,10\n" for number in range(1, steps + 1))
    (output / "step_trace_time.csv").write_text(
        f"Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free\n{rows}"
    )
    sizes = {"Communication Bandwidth Info": {"HCCS": {"Size Distribution": {"1.0": [3, 0.5]}}}}
    (output / "communication.json").write_text(json.dumps({"step3": {"collective": {"hcom_allReduce_@g": sizes}}}))
    return folder


def test_of_tables_too_only_the_steps_asked_for_are_told(tmp_path: Path) -> None:
    """The first of the file is left out as warm-up, the first of some is not; packets are of all steps or of none."""
    folder = tables_of(tmp_path / "rank3_ascend_pt", 6)
    every, some, first = (read_rank(folder, 3, steps)[0] for steps in ("all", "3-4", "1-3"))
    assert [[step.number for step in one.steps] for one in (every, some, first)] == [[2, 3, 4, 5, 6], [3, 4], [2, 3]]
    assert every.looked is None and every.packets and not some.packets
    assert some.looked is not None and (some.looked.first, some.looked.last, some.looked.steps) == (3, 4, 6)
    assert read_rank(folder, 3, "5-9", own=True)[0].steps == every.steps
    with pytest.raises(WorkbookError):
        read_rank(folder, 3, "5-9")
    assert (some.looked.slowest, some.looked.slowest_ns) == (6, 660_000)
    assert RankFacts.from_dict(json.loads(json.dumps(some.to_dict()))).looked == some.looked
    with pytest.raises(WorkbookError, match="1-6"):
        read_rank(folder, 3, "5-9")
