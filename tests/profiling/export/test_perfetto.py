"""What Perfetto needs: times as numbers, slices of a thread that nest or lie apart, flows from slice to slice.

Real traces loaded into Perfetto's trace_processor kept every slice (alexnet_910b_level2: 4,429 of 4,429, of its
hardware's own 535 of 535, where of the profiler's own file 422 are kept).
"""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.profiling.export.perfetto import write_perfetto
from ascend_workbook.profiling.readers import read_trace
from ascend_workbook.profiling.trace import Event, Trace, build_trace
from tests.profiling.conftest import DATA, US, WITH_DEVICE


def written(trace: Trace, path: Path) -> list[dict[str, Any]]:
    assert write_perfetto(trace, path) == len(trace)
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    events: list[dict[str, Any]] = json.loads(text, parse_float=float)["traceEvents"]
    return events


def slices(events: list[dict[str, Any]]) -> dict[tuple[int, int], list[tuple[int, int]]]:
    """Thread -> (start, end) in nanoseconds, outer ones first."""
    found = defaultdict(list)
    for one in events:
        if one["ph"] == "X":
            assert isinstance(one["ts"], float) and isinstance(one["dur"], float) and one["ts"] >= 0 <= one["dur"]
            start = round(one["ts"] * 1000)
            found[one["pid"], one["tid"]].append((start, start + round(one["dur"] * 1000)))
    return {thread: sorted(some, key=lambda one: (one[0], -one[1])) for thread, some in found.items()}


def check(trace: Trace, events: list[dict[str, Any]]) -> None:
    threads = slices(events)
    assert sum(map(len, threads.values())) == len(trace)
    assert sum(end - start for some in threads.values() for start, end in some) == int(trace.duration_ns.sum())
    for some in threads.values():
        open_ones: list[int] = []
        for start, end in some:
            while open_ones and open_ones[-1] <= start:
                open_ones.pop()
            assert not open_ones or end <= open_ones[-1], "slices of one thread overlap without nesting"
            open_ones.append(end)
    named = {(one["pid"], one["tid"]) for one in events if one["name"] == "thread_name"}
    assert threads.keys() <= named
    assert {pid for pid, _ in threads} <= {one["pid"] for one in events if one["name"] == "process_name"}
    flows(trace, events, threads)


def flows(trace: Trace, events: list[dict[str, Any]], threads: dict[tuple[int, int], list[tuple[int, int]]]) -> None:
    ends = {kind: {one["id"]: one for one in events if one["ph"] == kind} for kind in "sf"}
    assert ends["s"].keys() == ends["f"].keys() and len(ends["s"]) == int((trace.launched_by >= 0).sum())
    for one in (*ends["s"].values(), *ends["f"].values()):
        at = round(one["ts"] * 1000)
        assert any(start <= at <= end for start, end in threads[one["pid"], one["tid"]])


@pytest.mark.parametrize("name", [*WITH_DEVICE, "cpu.pt.trace.json", "old_ascend_pt", "new_ascend_pt"])
def test_every_dialect_becomes_valid(tmp_path: Path, name: str) -> None:
    trace = read_trace(DATA / name)
    check(trace, written(trace, tmp_path / "out.json.gz"))


def test_a_real_npu_profile_keeps_every_slice(shared: Path, tmp_path: Path) -> None:
    trace = read_trace(shared / "data" / "npu" / "alexnet_910b_level2" / "rank0_ascend_pt")
    events = written(trace, tmp_path / "out.json")
    check(trace, events)
    hardware = Counter(trace.lanes[at] for at in trace.lane.tolist())
    of_hardware = sum(count for lane, count in hardware.items() if lane.startswith("Ascend Hardware"))
    named = {(one["pid"], one["tid"]): one["args"]["name"] for one in events if one["name"] == "thread_name"}
    kept = [one for one in events if one["ph"] == "X" and named[one["pid"], one["tid"]].startswith("Ascend Hardware")]
    assert len(kept) == of_hardware == 535


def test_what_overlaps_on_a_stream_stands_in_threads_of_its_own(tmp_path: Path) -> None:
    events = [Event("outer", "host_op", "t", 0, 100 * US), Event("inner", "host_op", "t", 10 * US, 5 * US)]
    events += [Event(f"k{at}", "compute", "stream 2", 20 * US, 30 * US, launched_by=1) for at in range(3)]
    found = written(build_trace(events, source="made", dialect="ascend"), tmp_path / "out.json")
    named = {one["tid"]: one["args"]["name"] for one in found if one["name"] == "thread_name"}
    where = {one["name"]: named[one["tid"]] for one in found if one["ph"] == "X"}
    assert where == {"outer": "t", "inner": "t", "k0": "stream 2", "k1": "stream 2 (2)", "k2": "stream 2 (3)"}


def test_nanoseconds_of_today_survive(tmp_path: Path) -> None:
    epoch = 1_736_408_883_000_000_001
    events = [Event("a", "host_op", "t", epoch, 999), Event("b", "host_op", "t", epoch + 1_234_567_891, 1)]
    found = written(build_trace(events, source="made", dialect="kineto"), tmp_path / "out.json")
    assert [(one["ts"], one["dur"]) for one in found if one["ph"] == "X"] == [(0.0, 0.999), (1_234_567.891, 0.001)]


def test_names_are_kept_whatever_they_are(tmp_path: Path) -> None:
    names = ['</script><b>"q"\\', "卷积\n算子", "lone \ud800 half"]
    events = [Event(name, "host_op", name, at * US, US) for at, name in enumerate(names)]
    found = written(build_trace(events, source="made", dialect="kineto"), tmp_path / "out.json")
    assert [one["name"] for one in found if one["ph"] == "X"][:2] == names[:2]


def test_nothing_half_is_left(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        write_perfetto(read_trace(DATA / "cpu.pt.trace.json"), tmp_path / "absent.json" / "out.json")
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError):
        write_perfetto(read_trace(DATA / "cpu.pt.trace.json"), tmp_path / "file" / "out.json")
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_the_copy_is_not_taken_for_a_profile(tmp_path: Path) -> None:
    write_perfetto(read_trace(DATA / "cuda.pt.trace.json"), tmp_path / "out.json")
    with pytest.raises(WorkbookError, match="no usable event"):
        read_trace(tmp_path / "out.json")
