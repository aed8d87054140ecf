"""`timeline`: an offline page of one profile and of two, one that is served, and what it refuses."""

from __future__ import annotations

import re
import threading
import urllib.request
from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.page.render import load_data
from ascend_workbook.profiling.timeline import verb
from ascend_workbook.profiling.timeline.index import Part, build_index
from ascend_workbook.profiling.timeline.modules import list_modules
from ascend_workbook.profiling.timeline.verb import load_index, show_timeline
from ascend_workbook.profiling.trace import Event, build_trace
from tests.profiling.conftest import DATA
from tests.profiling.readers.test_database import folder as folder
from tests.profiling.readers.test_exported import full as full

CUDA, NPU = DATA / "cuda.pt.trace.json", DATA / "timeline_ascend_pt"


def test_a_page_holds_both_profiles(tmp_path: Path) -> None:
    out = tmp_path / "both.html"
    report = show_timeline(NPU, baseline=CUDA, out=str(out))
    assert str(out) in report.verdict("en") and report.table and len(report.table.rows) == 2
    data = load_data(out.read_text(encoding="utf-8"))
    assert data and data["kind"] == "timeline" and not data["remote"]
    assert [side["label"] for side in data["sides"]] == ["A", "B"]
    assert [side["events"] for side in data["sides"]] == [len(load_index(NPU)), len(load_index(CUDA))]
    assert all(len(side["boxes"]["begin"].split()) == side["events"] for side in data["sides"])


def test_a_large_one_is_served_and_the_address_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verb, "OFFLINE", 10)
    monkeypatch.setenv("JUPYTERHUB_SERVICE_PREFIX", "/user/me/")
    lines: list[str] = []
    pages: list[bytes] = []

    def tell(line: str) -> None:
        lines.append(line)
        if line.startswith("http"):
            threading.Timer(0.2, lambda: pages.append(urllib.request.urlopen(line, timeout=20).read())).start()

    report = show_timeline(CUDA, idle_s=3, tell=tell)
    assert "ended" in report.verdict("en") and b'"remote":true' in pages[0]
    address = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/([\w-]{20,})/", lines[1])
    assert address and f"/user/me/proxy/{address[1]}/{address[2]}/" in lines[2]


def test_what_it_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WorkbookError):
        show_timeline(tmp_path / "none")
    with pytest.raises(WorkbookError):
        show_timeline(CUDA, ranks="4", out=str(tmp_path / "x.html"))
    monkeypatch.setattr(verb, "OFFLINE", 10)
    with pytest.raises(WorkbookError, match="too many"):
        show_timeline(CUDA, out=str(tmp_path / "x.html"))


def test_modules_have_the_times_of_what_they_launched() -> None:
    events = [
        Event("nn.Module: Net_0", "python", "7/7", 0, 100),
        Event("nn.Module: Linear_0", "python", "7/7", 10, 30),
        Event("aten::addmm", "host_op", "7/7", 12, 10),
        Event("gemm", "compute", "device 0 stream 7", 200, 500, launched_by=2),
        Event("nn.Module: Linear_0", "python", "7/7", 50, 20),
        Event("aten::addmm", "host_op", "7/7", 52, 10),
        Event("gemm", "compute", "device 0 stream 7", 800, 70, launched_by=5),
        Event("aten::add", "host_op", "7/7", 80, 5),
        Event("add", "compute", "device 0 stream 7", 900, 4, launched_by=7),
        Event("nn.Module: Other_0", "python", "8/8", 0, 1000),
    ]
    rows = list_modules(build_index([Part(0, build_trace(events, source="made", dialect="kineto"))]))
    told = {row[1]: row for row in rows}
    assert told["Net_0"][:6] == [-1, "Net_0", 1, 100.0, 574.0, 0]
    assert told["Linear_0"][2:5] == [2, 50.0, 570.0] and rows[told["Linear_0"][0]][1] == "Net_0"
    assert told["Other_0"][4] == 0.0


def test_curves_of_memory_of_either_export(full: Path, tmp_path: Path) -> None:
    """Also of a database; of one that cannot be read none, and the timeline is drawn nevertheless."""
    (curve,) = [curve for curve in load_index(full).curves if curve.name == "allocated"]
    assert curve.value.tolist() == [20, 30]
    (tmp_path / "trace_view.json").write_text((NPU / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").read_text())
    record = "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB)\n"
    for row, found in (("PTA,3.000,20,40\n", ["allocated", "reserved"]), ("PTA,x,20,40\n", [])):
        (tmp_path / "memory_record.csv").write_text(record + row)
        curves = load_index(tmp_path / "trace_view.json").curves
        assert [curve.name for curve in curves if curve.unit == "MB"] == found
