"""torch.profiler with PrivateUse1, and programs of MSPTI's own: device events from the CPU's kernels. 60 s."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from ascend_workbook.profiling import analyse
from ascend_workbook.profiling.readers import read_trace
from tests.simulator.test_hccl import ranks

CHILDREN = Path(__file__).with_name("children")
Event = dict[str, Any]


def run(env: dict[str, str], child: str, *arguments: str) -> str:
    return run_both(env, child, *arguments)[0]


def run_both(env: dict[str, str], child: str, *arguments: str) -> tuple[str, str]:
    """Run it to a good end; return what it prints, and what stderr says."""
    command = [sys.executable, str(CHILDREN / child), *arguments]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout, done.stderr


def events_of(file: Path) -> list[Event]:
    trace = json.loads(file.read_text())
    assert "not of an NPU" in trace["simulated_npu"], "the file alone says whose times these are"
    return list(trace["traceEvents"])


def of(events: list[Event], category: str) -> list[Event]:
    return [event for event in events if event.get("cat") == category]


def check(file: Path) -> list[Event]:
    """Check what must hold of every trace of two steps: each kernel comes from its own operator, inside of it."""
    events = events_of(file)
    kernels = of(events, "kernel")
    counts = Counter(kernel["name"] for kernel in kernels)
    assert (counts["aten::addmm"], counts["aten::relu"], counts["aten::mm"]) == (4, 2, 6), "two steps, two layers"
    assert {kernel["args"]["type"] for kernel in kernels} == {"SIMULATED"}, "no engine of an NPU ran them"
    operators = {event["args"]["Record function id"]: event for event in of(events, "cpu_op")}
    ends = {(flow["pid"], flow["tid"], flow["ts"]): flow["id"] for flow in of(events, "ac2g") if flow["ph"] == "f"}
    for kernel in kernels:
        operator = operators[ends[kernel["pid"], kernel["tid"], kernel["ts"]]]
        assert operator["name"] == kernel["name"].partition(".")[0]
        assert operator["ts"] <= kernel["ts"] and kernel["ts"] + kernel["dur"] <= operator["ts"] + operator["dur"]
    return events


def test_two_traces_of_one_process(simulator_env: dict[str, str], tmp_path: Path) -> None:
    run(simulator_env, "torch_profiled.py", str(tmp_path), "2")
    files = sorted(tmp_path.glob("*.json"))
    assert len(files) == 2
    for file in files:
        events = check(file)
        memory = [event["args"]["Device Type"] for event in events if event.get("name") == "[memory]"]
        assert memory and set(memory) == {0}, "torch_npu tells torch.profiler nothing of the device's memory"
        assert of(events, "python_function") and any("Input Dims" in event["args"] for event in of(events, "cpu_op"))
        answer = analyse(file)
        assert answer.simulated, "the trace alone tells, without a record beside it"
        found = {finding.rule: finding for part in answer.parts for finding in part.findings}
        assert found["PRF301"].key == "PRF301.simulated" and found["PRF324"].key == "PRF324.no_table_npu"
        trace = read_trace(file)
        pairs = {(trace.names[trace.name[row]], trace.names[trace.name[trace.launched_by[row]]])
                 for row in range(len(trace.name)) if trace.launched_by[row] >= 0}  # fmt: skip
        assert ("aten::addmm", "aten::addmm") in pairs and ("aten::mm", "aten::mm") in pairs


def test_collectives_of_two_ranks(simulator_env: dict[str, str], tmp_path: Path) -> None:
    said = ranks("torch_profiled.py", simulator_env, str(tmp_path), "1", timeout=300)
    assert all("loss" in one for one in said), said
    for file in sorted(tmp_path.glob("*.json")):
        collectives = of(events_of(file), "collective_comm")
        assert Counter(event["name"] for event in collectives) == {"hcom_allReduce_": 2}
        assert all(event["args"]["commName"] and event["dur"] > 0 for event in collectives)
        trace = read_trace(file)
        assert trace.count_events("communication") == 2
    assert len(list(tmp_path.glob("*.json"))) == 2


def test_a_program_of_mspti(simulator_env: dict[str, str]) -> None:
    printed, stderr = run_both(simulator_env, "watched.py")
    lines = [json.loads(line) for line in printed.splitlines()]
    small = lines.index({"small": True})
    summary, records = lines[-1], [line for line in lines[:small] if "kind" in line]
    assert summary["codes"] == {
        "subscribed": 0, "again": 2, "no callback": 1, "registered": 0, "marker": 1, "memory": 1, "memset": 1,
        "runtime": 1, "enabled": 0, "popped": 0, "last": 42, "empty": 5, "periods": [0, 0, 0], "disabled": 0,
        "unsubscribed": 0,
    }  # fmt: skip
    assert all(f"no records of kind {kind}" in stderr for kind in ("MARKER", "MEMORY", "MEMSET", "RUNTIME_API"))
    kernels = [record for record in records if record["kind"] == 2]
    assert Counter(kernel["name"] for kernel in kernels) == {"aten::mul.Tensor": 1, "aten::relu": 1, "aten::relu_": 200}
    assert {(kernel["type"], kernel["device"]) for kernel in kernels} == {("SIMULATED", 0)}
    assert all(0 < kernel["start"] <= kernel["end"] for kernel in kernels)
    copies = [(record["way"], record["bytes"]) for record in records if record["kind"] == 7]
    assert copies == [(2, 128), (3, 128)], "host to device, device to host"
    launches = {record["number"]: record for record in records if record["kind"] == 11}
    assert {launches[kernel["number"]]["name"] for kernel in kernels} == {"launch"}
    calls = {record["number"]: record["name"] for record in records if record["kind"] == 3}
    assert launches.items() and {number: calls[number] for number in launches} == dict.fromkeys(launches, "launch")
    assert {calls[record["number"]] for record in records if record["kind"] == 7} <= {"aclrtMemcpy", "aclrtMemcpyAsync"}
    assert [line["kind"] for line in lines[small:] if "kind" in line] == [8, 3, 11], "a kernel needs 56 bytes, of 48"
    assert "libmspti.so left out 1 records" in stderr
    externals = {record["number"]: record["external"] for record in records if record["kind"] == 8}
    assert [externals.get(kernel["number"]) for kernel in kernels[:2]] == [42, 41]
    assert summary["buffers"] > 1 + len(records) * 40 // 4096, "more records than one buffer holds"
