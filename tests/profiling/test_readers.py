"""Every dialect gives the same Trace; what is no profile is one clear error."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.profiling import analyse
from ascend_workbook.profiling.readers import locate_profile, read_trace
from ascend_workbook.profiling.readers.tables import read_step_times
from ascend_workbook.profiling.trace import UNTOLD, Detail, Trace
from tests.profiling.conftest import DATA, WITH_DEVICE


def events(trace: Trace, kind: str) -> list[tuple[int, int]]:
    """(start relative to the first step, duration) in microseconds."""
    rows = trace.where((kind,))
    origin = trace.steps[0].start_ns
    return [(s - origin, d) for s, d in zip(trace.start_ns[rows].tolist(), trace.duration_ns[rows].tolist())]


@pytest.mark.parametrize("name", WITH_DEVICE)
def test_the_same_times_from_every_dialect(name: str) -> None:
    trace = read_trace(DATA / name)
    assert [step.number for step in trace.steps] == [50, 51, 52]
    assert events(trace, "compute")[:2] == [(200_000, 200_000), (400_000, 200_000)]
    assert events(trace, "communication") == [(number * 1_000_000 + 500_000, 300_000) for number in range(3)]
    assert events(trace, "copy")[0] == (800_000, 50_000)
    assert events(trace, "loading")[2] == (2_000_000, 100_000)
    assert trace.count_events("host_op") == 15
    assert trace.left_out == {}
    assert trace.marked
    assert trace.memory_records


@pytest.mark.parametrize("name", WITH_DEVICE)
def test_kernels_are_laid_to_the_innermost_operator(name: str) -> None:
    trace = read_trace(DATA / name)
    launchers = {trace.names[trace.name[by]] for by in trace.launched_by[trace.where(("compute",))]}
    assert launchers == {"aten::convolution"}
    copied_by = trace.launched_by[trace.where(("copy",))]
    assert {trace.names[trace.name[by]] for by in copied_by} == {"aten::item"}
    shapes = {trace.shapes[trace.shape[by]] for by in trace.launched_by[trace.where(("compute",))]}
    assert shapes == {"[8,3,32,32] [16,3,3,3]", "[8,16,32,32] [16,16,3,3]"}


@pytest.mark.parametrize("name", WITH_DEVICE)
def test_when_the_host_launched_a_kernel(name: str) -> None:
    trace = read_trace(DATA / name)
    kernels = trace.where(("compute",))
    assert (trace.launch_ns[kernels] - trace.steps[0].start_ns).tolist()[:2] == [150_000, 330_000]
    assert (trace.launch_ns[~trace.where(("compute", "communication", "copy"))] == UNTOLD).all()
    engines = {trace.engines[at] for at in trace.engine[kernels].tolist()}
    assert engines == ({"AI_CORE"} if trace.dialect == "ascend" else {""})


def test_a_launch_on_an_npu_is_the_call_of_cann_with_the_same_connection(tmp_path: Path) -> None:
    head = [
        {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}}
        for pid, name in ((7, "Python"), (8, "CANN"), (9, "Ascend Hardware"))
    ]
    described = {"Input Dims": "8,3;\r\n3", "Call stack": "b.py(2): g;\r\na.py(1): f"}
    described["Input type"] = "float;\r\nc10::BFloat16;\r\nScalar"
    events = [
        {
            "ph": "X",
            "pid": 7,
            "tid": 1,
            "name": "aten::mm",
            "cat": "cpu_op",
            "ts": "10.000",
            "dur": 9,
            "args": described,
        },
        {"ph": "s", "pid": 7, "tid": 1, "name": "torch_to_npu", "cat": "async_npu", "id": 30, "ts": "12.000"},
        {"ph": "X", "pid": 8, "tid": 2, "name": "launch", "ts": "20.000", "dur": 3, "args": {"connection_id": 5}},
    ]
    for start, connection in ((30, 5), (40, 6), (50, 7)):
        args = {"Task Type": "MIX_AIC", "connection_id": connection}
        events.append({"ph": "X", "pid": 9, "tid": 2, "name": "MatMul", "ts": f"{start}.000", "dur": 4, "args": args})
    for start in (30, 40):
        arrow = {"ph": "f", "pid": 9, "tid": 2, "name": "torch_to_npu", "cat": "async_npu", "id": 30}
        events.append({**arrow, "ts": f"{start}.000"})
    (tmp_path / "trace_view.json").write_text(json.dumps(head + events))
    trace = read_trace(tmp_path)
    kernels = trace.where(("compute",))
    assert trace.launch_ns[kernels].tolist() == [20_000, 12_000, UNTOLD]  # the call, else the arrow, else nothing
    by = trace.launched_by[kernels][0]
    assert trace.dtypes[trace.dtype[by]] == "float32 bfloat16"
    assert trace.stacks[trace.stack[by]] == "b.py(2): g\na.py(1): f"


def test_a_cpu_profile_has_nothing_on_a_device() -> None:
    trace = read_trace(DATA / "cpu.pt.trace.json")
    assert not trace.on_device
    assert trace.count_events("host_op", "loading") == 18


def test_tables_alone_with_todays_columns_and_older_ones() -> None:
    new, old = read_trace(DATA / "new_ascend_pt"), read_trace(DATA / "old_ascend_pt")
    assert [step.number for step in new.steps] == [50, 51, 52]
    assert (new.marked, old.marked) == (True, False)
    assert new.start_ns.tolist() == old.start_ns.tolist()
    assert new.start_ns[0] % 1000 == 250
    assert new.count_events("communication") == old.count_events("communication") == 3
    assert "[8,3,32,32] [16,3,3,3]" in new.shapes


def test_pieces_of_a_collective_are_not_counted_again() -> None:
    trace = read_trace(DATA / "timeline_ascend_pt")
    assert trace.count_events("communication_task") == 3
    assert trace.count_events("device_other") == 3


def test_a_folder_with_one_profile_in_it(tmp_path: Path) -> None:
    shutil.copytree(DATA / "timeline_ascend_pt", tmp_path / "deep" / "rank0_ascend_pt")
    assert locate_profile(tmp_path).name == "rank0_ascend_pt"
    assert read_trace(tmp_path / "deep" / "rank0_ascend_pt" / "ASCEND_PROFILER_OUTPUT").on_device
    (tmp_path / "other").mkdir()
    shutil.copy(DATA / "cpu.pt.trace.json", tmp_path / "other" / "rank0.pt.trace.json")
    (tmp_path / "other" / "report.json").write_text("{}")
    assert locate_profile(tmp_path / "other").name == "rank0.pt.trace.json"


def test_several_profiles_are_not_chosen_between(tmp_path: Path) -> None:
    for rank in range(2):
        shutil.copy(DATA / "cpu.pt.trace.json", tmp_path / f"rank{rank}.pt.trace.json")
    with pytest.raises(WorkbookError, match="rank1.pt.trace.json") as caught:
        read_trace(tmp_path)
    assert caught.value.key == "profiling.many_profiles"


@pytest.mark.parametrize(
    ("content", "key"),
    [
        ({"losses": [1]}, "profiling.not_a_trace"),
        ("text", "profiling.not_a_trace"),
        ({"traceEvents": []}, "profiling.no_events"),
        ([], "profiling.no_events"),
        ([1, None, {"ph": "X"}], "profiling.no_events"),
        ({"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a"}]}, "profiling.no_events"),
    ],
)
def test_json_that_is_no_trace(tmp_path: Path, content: object, key: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(content))
    with pytest.raises(WorkbookError) as caught:
        read_trace(path)
    assert caught.value.key == key


def test_missing_path_empty_folder_unparsed_folder(tmp_path: Path) -> None:
    (tmp_path / "rank0_ascend_pt" / "PROF_000001").mkdir(parents=True)
    cases = {"gone": "profiling.no_such_path", "rank0_ascend_pt/PROF_000001": "profiling.no_profile"}
    cases["rank0_ascend_pt"] = "profiling.not_parsed"
    for name, key in cases.items():
        with pytest.raises(WorkbookError) as caught:
            read_trace(tmp_path / name)
        assert caught.value.key == key


def test_the_table_of_steps_with_old_and_new_columns(tmp_path: Path) -> None:
    path = tmp_path / "step_trace_time.csv"
    path.write_text("Device_id,Step,Computing,Free,DP Index\n0,13,1.5,2.25,0\n0,,9,9,1\n")
    assert read_step_times(path) == {13: {"Computing": 1500, "Free": 2250}}
    path.write_text("Step,Computing,Free\n50,1,2\n")
    assert read_step_times(path) == {50: {"Computing": 1000, "Free": 2000}}


@pytest.mark.parametrize(
    ("text", "key", "args"),
    [
        ("Name,Start Time(us)\na,1\n", "profiling.no_column", {"columns": ["Duration(us)"]}),
        ("Name,Start Time(us),Duration(us)\na,1,2\nb,1,soon\n", "profiling.bad_cell", {"line": 3, "value": "soon"}),
        ("Name,Start Time(us),Duration(us)\na,1\n", "profiling.bad_cell", {"line": 2, "column": "Duration(us)"}),
        ("Name,Start Time(us),Duration(us)\n", "profiling.no_events", {}),
    ],
)
def test_a_broken_table(tmp_path: Path, text: str, key: str, args: dict[str, object]) -> None:
    (tmp_path / "kernel_details.csv").write_text(text)
    with pytest.raises(WorkbookError) as caught:
        read_trace(tmp_path)
    assert caught.value.key == key
    assert caught.value.arguments.items() >= args.items()


def test_events_without_usable_times_are_counted(tmp_path: Path) -> None:
    trace = json.loads((DATA / "cuda.pt.trace.json").read_text())
    kernels = [one for one in trace["traceEvents"] if one.get("cat") == "kernel"]
    kernels[0]["dur"] = -1
    del kernels[1]["dur"]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(trace))
    assert read_trace(path).left_out == {"negative_duration": 1, "no_time": 1}


def test_a_timeline_that_does_not_say_what_its_tasks_are(tmp_path: Path) -> None:
    text = (DATA / "timeline_ascend_pt" / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").read_text()
    (tmp_path / "trace_view.json").write_text(text.replace("AI_CORE", "Other"))
    trace = read_trace(tmp_path)
    assert trace.left_out == {"unknown_task_type": 6}
    assert trace.count_events("compute") == 0


def test_a_file_cut_short_gives_what_is_whole_and_says_so(tmp_path: Path) -> None:
    text = (DATA / "cuda.pt.trace.json").read_bytes()
    path = tmp_path / "a.trace.json"
    path.write_bytes(text[: len(text) * 3 // 4])
    trace, whole = read_trace(path), read_trace(DATA / "cuda.pt.trace.json")
    assert trace.cut_at == len(text) * 3 // 4
    assert whole.cut_at is None
    assert 0 < len(trace) < len(whole)
    assert trace.duration_ns.tolist() == whole.duration_ns.tolist()[: len(trace)]
    told = [one for part in analyse(path).parts for one in part.findings if one.key == "PRF304.cut_short"]
    assert [(one.status, one.args["byte"], one.args["events"]) for one in told] == [
        (Status.LOOK, trace.cut_at, len(trace))
    ]


def test_beginnings_and_ends_are_one_event(tmp_path: Path) -> None:
    trace = json.loads((DATA / "cuda.pt.trace.json").read_text())
    complete = [one for one in trace["traceEvents"] if one.get("cat") == "cpu_op"]
    halves = [one for one in trace["traceEvents"] if one.get("cat") != "cpu_op"]
    ends = [{"ph": "E", "pid": one["pid"], "tid": one["tid"], "ts": one["ts"] + one["dur"]} for one in complete]
    begins = [{**one, "ph": "B"} for one in sorted(complete, key=lambda one: -one["dur"])]
    halves += sorted(ends + begins, key=lambda one: one["ts"])  # at one moment what ends comes first
    path = tmp_path / "a.json"
    path.write_text(json.dumps({**trace, "traceEvents": halves}))
    found, whole = read_trace(path), read_trace(DATA / "cuda.pt.trace.json")
    assert sorted(events(found, "host_op")) == sorted(events(whole, "host_op"))
    launchers = [{trace.names[trace.name[by]] for by in trace.launched_by if by >= 0} for trace in (found, whole)]
    assert launchers[0] == launchers[1]
    assert found.left_out == {}
    halves += [{"ph": "E", "pid": 1, "tid": 99, "ts": 5}, {"ph": "B", "pid": 1, "tid": 98, "ts": 5}]
    path.write_text(json.dumps({**trace, "traceEvents": halves}))
    assert read_trace(path).left_out == {"unpaired": 2}


def test_times_count_from_a_base_wherever_it_stands(tmp_path: Path) -> None:
    one = {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 1.5, "dur": 2}
    path = tmp_path / "a.json"
    for content in ({"baseTimeNanoseconds": 7, "traceEvents": [one]}, {"traceEvents": [one], "baseTimeNanoseconds": 7}):
        path.write_text(json.dumps(content))
        assert read_trace(path).start_ns.tolist() == [1507]
    path.write_text(json.dumps({"baseTimeNanoseconds": "soon", "traceEvents": [one]}))
    with pytest.raises(WorkbookError) as caught:
        read_trace(path)
    assert (caught.value.key, caught.value.arguments["value"]) == ("profiling.bad_base", "soon")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"ts": None}, "no_time"),
        ({"ts": "soon"}, "no_time"),
        ({"dur": "-0.001"}, "negative_duration"),
        ({"ts": -5}, "time_out_of_range"),
        ({"ts": 1e30}, "time_out_of_range"),
        ({"dur": 1e30}, "time_out_of_range"),
    ],
)
def test_what_is_left_out_is_counted(tmp_path: Path, change: dict[str, object], reason: str) -> None:
    one = {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 1.5, "dur": 2}
    (tmp_path / "a.json").write_text(json.dumps({"traceEvents": [one, {**one, **change}]}))
    trace = read_trace(tmp_path / "a.json")
    assert (len(trace), trace.left_out) == (1, {reason: 1})


def test_what_a_trace_tells_of_collectives(tmp_path: Path) -> None:
    """NCCL's kernels name their group; a piece of a collective on an NPU names the rank it waits for."""
    kernel = {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 0, "tid": 7, "ts": 5, "dur": 2}
    told = {
        "Collective name": "allreduce",
        "Process Group Name": "3",
        "Process Group Ranks": "[0, 1]",
        "Seq": 9,
        "In msg nelems": 64,
        "dtype": "Float",
    }
    about = {"distributedInfo": {"rank": 1, "world_size": 2}}
    file = tmp_path / "a.json"
    file.write_text(json.dumps({**about, "traceEvents": [{**kernel, "args": told}, {**kernel, "name": "gemm"}]}))
    trace = read_trace(file)
    assert trace.detail_of(0) == Detail("allreduce", "3", '"[0, 1]"', "Float", 9, 64)
    assert trace.detail_of(1) == Detail() and trace.about == about

    process = {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "HCCL"}}
    wait = {"ph": "X", "name": "Notify_Wait", "pid": 1, "tid": 6, "ts": "1736408883732253.684", "dur": 3}
    waits = [{**wait, "args": {"dst rank": peer}} for peer in (5, 4294967295, "none")]
    file.write_text(json.dumps([process, *waits]))
    trace = read_trace(file)
    assert [trace.detail_of(row).peer for row in range(3)] == [5, -1, -1]


def written(folder: Path, content: object) -> Trace:
    path = folder / "trace.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return read_trace(path)


def complete(name: str, category: str, start: float, lasts: float, pid: object = 1, tid: int = 1) -> dict[str, object]:
    event: dict[str, object] = {"ph": "X", "name": name, "ts": start, "dur": lasts, "pid": pid, "tid": tid}
    return {**event, "cat": category} if category else event


def test_what_a_device_of_meta_does(tmp_path: Path) -> None:
    """Its kernels, copies and waits share a category; only its waiting is no work."""
    rows = [("merge", 10, 50), ("dma_request", 60, 5), ("event_wait", 65, 30)]
    device = [complete(name, "mtia_ccp_events", start, lasts, 17, 3) for name, start, lasts in rows]
    trace = written(tmp_path, {"traceEvents": [complete("aten::mm", "cpu_op", 0, 5), *device]})
    assert trace.on_device and not trace.left_out
    assert [events(trace, kind)[0][1] for kind in ("compute", "copy", "device_other")] == [50_000, 5_000, 30_000]


def test_copies_whatever_the_device_is_called(tmp_path: Path) -> None:
    device = [complete("HtoD", "mlu_memcpy", 10, 5), complete("set", "xpu_memset", 20, 5)]
    trace = written(tmp_path, {"traceEvents": [complete("aten::mm", "cpu_op", 0, 5), *device]})
    assert trace.count_events("copy") == 2


def test_a_list_from_before_kineto(tmp_path: Path) -> None:
    """No categories: the process says where, and an operator's time on the device lies in those around it."""
    host = [
        complete("aten::conv2d", "", 0, 9, "CPU functions"),
        complete("aten::_convolution", "", 1, 7, "CPU functions"),
    ]
    device = [
        complete("aten::conv2d", "", 10, 50, "CUDA functions", 0),
        complete("aten::_convolution", "", 11, 48, "CUDA functions", 0),
    ]
    trace = written(tmp_path, [*host, *device])
    assert (trace.dialect, trace.count_events("host_op")) == ("kineto", 2)
    assert [lasts for _, lasts in events(trace, "compute")] == [48_000]
    alone = written(tmp_path, host)
    assert alone.dialect == "kineto" and not alone.on_device


def test_a_list_of_an_npus_host_is_no_list_from_before_kineto(tmp_path: Path) -> None:
    assert written(tmp_path, [complete("aten::mm", "cpu_op", 0, 5)]).dialect == "ascend"
