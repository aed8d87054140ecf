"""torch_npu.profiler and its own parser: device data from the measured times of the CPU's kernels. 60 s."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ascend_simulator.msprof import records
from ascend_simulator.msprof import timeline as spans
from ascend_workbook.machine import simulator
from ascend_workbook.profiling import analyse
from tests.simulator.test_hccl import ranks

CHILD = Path(__file__).with_name("children") / "profiled.py"
Event = dict[str, Any]


def profiled(folder: Path, env: dict[str, str], level: str, repeats: int = 1) -> list[Path]:
    """The output folders of the profiles that a child wrote, in order."""
    done = subprocess.run(
        [sys.executable, str(CHILD), str(folder), level, str(repeats)],
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "run failed" not in done.stdout and "[ERROR]" not in done.stdout, done.stdout
    found = sorted(folder.glob("*_ascend_pt/ASCEND_PROFILER_OUTPUT"))
    assert len(found) == repeats
    return found


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


class Timeline:
    """trace_view.json: its lanes by process, and which operator launched which kernel."""

    def __init__(self, output: Path) -> None:
        self.events: list[Event] = json.loads((output / "trace_view.json").read_text())
        named = (one for one in self.events if one.get("name") == "process_name")
        self.processes = {one["args"]["name"]: one["pid"] for one in named}

    def lane(self, process: str) -> list[Event]:
        pid = self.processes[process]
        return [one for one in self.events if one.get("pid") == pid and one["ph"] == "X"]

    def flows(self, category: str) -> list[tuple[Event, Event]]:
        of = [one for one in self.events if one.get("cat") == category]
        begins = {one["id"]: one for one in of if one["ph"] == "s"}
        return [(begins[one["id"]], one) for one in of if one["ph"] == "f"]

    def launcher(self, kernel: Event) -> str:
        """The name of the operator from which the kernel's one torch_to_npu arrow comes."""
        place = (kernel["pid"], kernel["tid"], kernel["ts"])
        (begin,) = (begin for begin, end in self.flows("async_npu") if (end["pid"], end["tid"], end["ts"]) == place)
        operators = (one for one in self.events if one.get("cat") == "cpu_op" and one["tid"] == begin["tid"])
        return str(next(one["name"] for one in operators if one["ts"] == begin["ts"]))


def checked(output: Path, steps: list[str]) -> Timeline:
    """What must hold of every profile, of one rank or several, whatever its level."""
    timeline = Timeline(output)
    kernels = [one for one in timeline.lane("Ascend Hardware") if one["args"]["Task Type"] == "SIMULATED"]
    counts = Counter(one["name"] for one in kernels)
    assert (counts["aten::addmm"], counts["aten::relu"], counts["aten::mm"]) == (4, 2, 6), "two steps, two layers"
    for kernel in kernels:
        operator = kernel["name"].partition(".")[0]
        assert timeline.launcher(kernel) == operator, "every kernel comes from its own operator"
    for begin, end in timeline.flows("HostToDevice"):
        assert float(begin["ts"]) <= float(end["ts"]), "no kernel starts before it is launched"

    rows = [row for row in table(output / "kernel_details.csv") if row["Accelerator Core"] != "COMMUNICATION"]
    assert Counter(row["Name"] for row in rows) == counts
    assert {row["Accelerator Core"] for row in rows} == {"SIMULATED"}, "no engine of an NPU ran them"
    assert not [name for name in rows[0] if name.startswith(("aic", "aiv", "cube"))], "metrics are not made up"
    told = {row["Step"]: row for row in table(output / "step_trace_time.csv")}
    assert sorted(told) == steps
    steps_marked = (one for one in timeline.events if one.get("name", "").startswith("ProfilerStep#"))
    marks = {one["name"].partition("#")[2]: one["dur"] for one in steps_marked}
    for step, row in told.items():
        of_step = sum(float(one["Duration(us)"]) for one in rows if one["Step Id"] == step)
        assert of_step == pytest.approx(float(row["Computing"]), abs=0.01)
        assert 0 < of_step < marks[step], "the kernels of a step take less than the step"
    return timeline


def test_two_profiles_of_one_process(simulator_env: dict[str, str], tmp_path: Path) -> None:
    for output, steps in zip(profiled(tmp_path, simulator_env, "Level1", 2), (["2", "3"], ["6", "7"])):
        timeline = checked(output, steps)
        copies = [one for one in timeline.lane("Ascend Hardware") if one["name"] == "MEMCPY_ASYNC"]
        assert [timeline.launcher(one) for one in copies] == ["aten::copy_"] * 2
        statistic = {row["OP Type"]: row for row in table(output / "op_statistic.csv")}
        assert (statistic["aten::mm"]["Count"], statistic["aten::mm"]["Core Type"]) == ("6", "SIMULATED")
        launches = {row["API Name"]: int(row["Count"]) for row in table(output / "api_statistic.csv")}
        kernels = table(output / "kernel_details.csv")
        assert launches == {"launch": len(kernels), "aclrtMemcpyAsync": 2}
        first = next(row for row in kernels if row["Type"] == "aten::addmm")
        assert (first["Input Shapes"], first["Output Data Types"]) == ('"256;32,64;64,256"', "FLOAT")
        device = sum(float(row["Device Self Duration(us)"]) for row in table(output / "operator_details.csv"))
        of_tasks = sum(float(row["task_time(us)"]) for row in table(output / "task_time.csv"))
        assert device == pytest.approx(of_tasks, abs=0.01), "each task is laid to one operator"
        assert table(output / "operator_memory.csv")

        answer = analyse(output.parent)
        assert answer.simulated, "the profile alone tells, without a record beside it"
        assert answer.parts[0].facts["device_data"]
        found = {one.rule: one.key for part in answer.parts for one in part.findings}
        assert (found["PRF301"], found["PRF306"]) == ("PRF301.simulated", "PRF306.same")


def test_level_0_without_the_task_queue(simulator_env: dict[str, str], tmp_path: Path) -> None:
    (output,) = profiled(tmp_path, {**simulator_env, "TASK_QUEUE_ENABLE": "0"}, "Level0")
    timeline = checked(output, ["2", "3"])
    assert not timeline.flows("async_task_queue")
    assert {row["Type"] for row in table(output / "kernel_details.csv")} == {"N/A"}
    assert not (output / "op_statistic.csv").exists()
    assert "CANN" not in timeline.processes


def check_orders(profile: Path) -> None:
    """What waits for what, between a network's kernels and the reduction of its gradients."""
    (file,) = profile.glob("PROF_*/host/data/simulated_tasks.jsonl")
    tasks = [json.loads(line) for line in file.read_text().splitlines()]
    places = {task["number"]: at for at, task in enumerate(tasks) if task["kind"] == "mark"}
    reduced = [at for at, task in enumerate(tasks) if task["kind"] == "collective" and "allReduce" in task["name"]]
    assert len(reduced) == 2
    for at in reduced:
        own, begun = tasks[at]["stream"], max(place for place in range(at) if tasks[place]["kind"] == "wait")
        assert tasks[begun]["stream"] == own, "the reduction waits for what made the gradients"
        awaited = tasks[places[tasks[begun]["number"]]]
        assert places[awaited["number"]] < begun and awaited["stream"] != own
        later = [
            task for task in tasks[at:] if task["kind"] == "wait" and tasks[places[task["number"]]]["stream"] == own
        ]
        assert later and places[later[0]["number"]] > at, "and what uses them for the reduction"
        assert later[0]["stream"] == awaited["stream"]
    device_waits = [task for task in tasks if task["kind"] == "host_wait" and task["stream"] == -1]
    assert 2 <= len(device_waits) < 30, "the program's own synchronizations, not one for every kernel"
    turned = {task["name"]: task.get("turned") for task in tasks if task["kind"] == "kernel"}
    assert turned["aten::addmm"] == "2" and turned["aten::relu"] is None, "a layer's weights are transposed, not copied"


def test_two_ranks(simulator_env: dict[str, str], tmp_path: Path) -> None:
    said = ranks("profiled.py", simulator_env, str(tmp_path), "Level1", "1", timeout=300)
    assert all("loss" in one for one in said), said
    for rank in (0, 1):
        (output,) = tmp_path.glob(f"rank{rank}_*_ascend_pt/ASCEND_PROFILER_OUTPUT")
        timeline = checked(output, ["2", "3"])
        message = "hcom_send_" if rank == 0 else "hcom_receive_"
        names = [one["name"] for one in timeline.lane("Communication") if one["name"].startswith("hcom_")]
        assert Counter(name.rsplit("_", 3)[0] for name in names) == {"hcom_allReduce_": 2, message: 2}
        steps = json.loads((output / "communication.json").read_text())
        assert sorted(steps) == ["step2", "step3"]
        (name,) = (name for name in steps["step2"]["collective"] if name.startswith("hcom_"))
        of_reduction = steps["step2"]["collective"][name]
        times, moved = of_reduction["Communication Time Info"], of_reduction["Communication Bandwidth Info"]["SOCKET"]
        assert times["Wait Time(ms)"] + times["Transit Time(ms)"] <= times["Elapse Time(ms)"] + 1e-6
        gradients = 4 * (64 * 256 + 256 + 256 * 10 + 10)
        assert moved["Transit Size(MB)"] * 1e6 == pytest.approx(gradients), "to the other rank, or back from it"
        links = json.loads((output / "communication_matrix.json").read_text())["step3"]["collective"]
        assert {link for one in links.values() for link in one} == {f"{rank}-{1 - rank}"}
        metadata = json.loads((output.parent / "profiler_metadata.json").read_text())["parallel_group_info"]
        assert name.rpartition("@")[2] in {str(records.group_number(group)) for group in metadata}
        check_orders(output.parent)
        answer = analyse(output.parent)
        assert answer.simulated
        assert "PRF312.simulated" in {one.key for part in answer.parts for one in part.findings}


def test_a_profile_of_a_real_npu_is_refused(tmp_path: Path) -> None:
    msprof = simulator.simulator_location() / "bin" / "msprof"
    (tmp_path / "msprof.py").write_text("raise SystemExit('this is not the parser')")
    done = subprocess.run(
        [str(msprof), "--export=on", f"--output={tmp_path}"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "only what the simulated NPU recorded" in done.stderr


def test_spans() -> None:
    joined = spans.join_spans([(5, 7), (0, 2), (2, 3), (6, 9)])
    assert joined == [(0, 3), (5, 9)]
    tasks: Any = [SimpleNamespace(kind="kernel", start_ns=start, end_ns=end) for start, end in joined]
    assert spans.compute_overlap(tasks)["Free"] == [(3, 5)]
    left = spans.subtract_spans([(0, 10), (20, 30)], [(2, 4), (8, 22), (25, 26), (40, 50)])
    assert left == [(0, 2), (4, 8), (22, 25), (26, 30)]
    assert spans.subtract_spans([(3, 4)], [(0, 10)]) == []
