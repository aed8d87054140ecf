"""The counters of a timeline: found by either reader, with their own units."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ascend_workbook.profiling.facts import load_profile
from ascend_workbook.profiling.readers import loading
from ascend_workbook.profiling.readers.counters import Curve

WORK = {"name": "aten::mm", "cat": "cpu_op", "ts": "1.000", "dur": 100, "pid": 4, "tid": 0, "ph": "X"}
#: Counters that tell nothing that is read, and what looks like one
OTHERS = [
    {"name": "APP/DDR", "ts": "1.000", "pid": 7, "tid": 0, "args": {"KB": 7}, "ph": "C"},
    {"name": "AI Core Freq", "pid": 7, "tid": 0, "args": {"name": "AI Core Freq"}, "ph": "M"},
    {"name": "AI Core Freq", "ts": "x", "pid": 7, "tid": 0, "args": {"MHz": 1}, "ph": "C"},
    {"name": "AI Core Freq", "ts": "3.000", "pid": 7, "tid": 0, "args": {"MHz": "fast"}, "ph": "C"},
    {"name": "AI Core Freq", "ts": "3.000", "pid": 7, "tid": 0, "args": {"MHz": 1, "V": 2}, "ph": "C"},
    {"name": "AI Core Freq", "ts": "3.000", "pid": 7, "tid": 0, "ph": "C"},
    {"name": "HBM 0/Total", "ts": "3.000", "pid": 7, "tid": 0, "args": {"MB/s": 1}, "ph": "C"},
    {"name": "LLC 0 Write/Hit Rate", "ts": "3.000", "pid": 7, "tid": 0, "args": {"rate": 1}, "ph": "C"},
    {"name": 5, "ts": "3.000", "pid": 7, "tid": 0, "args": {"rate": 1}, "ph": "C"},
]


def event(name: str, moment: object, value: float) -> dict[str, object]:
    return {"name": name, "ts": moment, "pid": 7, "tid": 0, "args": {"value": value}, "ph": "C"}


def read_counters(path: Path, monkeypatch: pytest.MonkeyPatch, fast: bool) -> dict[str, Curve]:
    if not fast:
        monkeypatch.setattr(loading, "_make_scanner", lambda: (None, "off"))
    profile = load_profile(path)
    assert bool(profile.trace.slower) != fast
    return profile.counters.curves


@pytest.mark.parametrize("fast", [True, False])
def test_all_that_is_read_and_nothing_else(fast: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events = [WORK, *OTHERS]
    for moment in range(1, 40):
        at = f"{moment}.000"
        events += [{**WORK, "name": "x" * (moment % 7)}, event("AI Core Freq", at, 1800 - moment)]
        events += [event("HBM 0/Read", at, 1000), event("HBM 1/Read", at, 500.0), event("HBM 0/Write", at, 4)]
        events += [event("LLC 0 Read/Hit Rate", at, 0.5), event("LLC 1 Read/Hit Rate", at, 0.25)]
    path = tmp_path / "trace_view.json"
    text = json.dumps(events)
    path.write_text(text.replace("HBM 1/Read", "\\u0048BM 1/Read"))  # an escape is for the reader in Python
    curves = read_counters(path, monkeypatch, fast)
    assert curves["frequency_mhz"].values.tolist() == [1800 - moment for moment in range(1, 40)]
    assert set(curves["read_gb_s"].values) == {1.5} and set(curves["write_gb_s"].values) == {0.004}
    assert set(curves["hit_percent"].values) == {37.5} and all(len(curve) == 39 for curve in curves.values())


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("separators", [(", ", ": "), (",", ":")])
def test_moments_and_units(
    fast: bool, separators: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "trace_view.json"
    events = [WORK, event("AI Core Freq", "2000", 900), event("AI Core Freq", "1000.500", 1800)]
    events += [event("HBM 0/Read", 1000, 1500.0), event("HBM 0/Write", 1000.25, 250.0)]
    path.write_text(json.dumps(events, separators=separators))
    curves = read_counters(path, monkeypatch, fast)
    assert curves["frequency_mhz"].at_ns.tolist() == [1_000_500, 2_000_000]
    assert curves["frequency_mhz"].values.tolist() == [1800, 900]
    assert curves["read_gb_s"].at_ns.tolist() == [1_000_000] and curves["read_gb_s"].values.tolist() == [1.5]
    assert curves["write_gb_s"].at_ns.tolist() == [1_000_250] and curves["write_gb_s"].values.tolist() == [0.25]


def test_a_timeline_without_counters_tells_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "trace_view.json"
    path.write_text(json.dumps([WORK]))
    assert read_counters(path, monkeypatch, fast=True) == {}
