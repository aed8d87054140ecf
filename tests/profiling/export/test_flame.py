"""Stacks: each frame's own time, kernels under the operator that launched them, one line a stack."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.cli.main import main
from ascend_workbook.profiling.export.files import Stacks, collect_stacks, lay_out_boxes
from ascend_workbook.profiling.readers import read_trace
from ascend_workbook.profiling.trace import Event, build_trace
from tests.profiling.conftest import DATA, US


def made() -> Stacks:
    events = [
        Event("train;step", "python", "t", 0, 100 * US),
        Event("aten::conv", "host_op", "t", 10 * US, 40 * US),
        Event("aten::add", "host_op", "t", 60 * US, 10 * US),
        Event("conv kernel", "compute", "s", 70 * US, 30 * US, launched_by=1),
        Event("orphan", "copy", "s", 110 * US, 5 * US),
    ]
    return collect_stacks(build_trace(events, source="", dialect="kineto"))


def test_a_line_for_each_stack_with_time_of_its_own() -> None:
    assert made().write_collapsed().splitlines() == [
        "host;t;train:step 50000",
        "host;t;train:step;aten::conv 40000",
        "host;t;train:step;aten::add 10000",
        "device;train:step;aten::conv;conv kernel 30000",
        "device;s;orphan 5000",
    ]


def test_what_is_below_a_frame_is_in_its_width() -> None:
    laid = {(one.name, one.depth): one for one in lay_out_boxes(made())}
    whole = 135
    assert laid["host", 0].share == pytest.approx(100 / whole)
    assert laid["train;step", 2].share == pytest.approx(100 / whole)
    conv, add = laid["aten::conv", 3], laid["aten::add", 3]
    assert (conv.start, add.start) == (0, pytest.approx(40 / whole))  # the widest first
    assert laid["device", 0].start == pytest.approx(100 / whole)


@pytest.mark.parametrize("name", ["cuda.pt.trace.json", "timeline_ascend_pt", "cpu.pt.trace.json"])
def test_all_of_the_devices_time_is_there(name: str) -> None:
    trace = read_trace(DATA / name)
    found = collect_stacks(trace)
    device = [
        total
        for total, frame, above in zip(found.total_ns(), found.frame, found.above)
        if above < 0 and frame == "device"
    ]
    measured = trace.where(("compute", "communication", "copy"))
    assert sum(device) == int(trace.duration_ns[measured].sum())


def test_the_files_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {"flame": "stacks.txt", "timeline": "timeline.svg", "perfetto": "perfetto.json"}
    options = [word for name, file in files.items() for word in (f"--{name}", str(tmp_path / file))]
    assert main(["analyse", str(DATA / "cuda.pt.trace.json"), "--lang", "zh", "--step", "52", *options]) == 0
    assert "device;aten::conv2d;aten::convolution;conv_kernel 800000" in (tmp_path / "stacks.txt").read_text()
    assert "<svg" in (tmp_path / "timeline.svg").read_text()[:500]
    assert capsys.readouterr().out.count(str(tmp_path)) == 3
    assert main(["analyse", str(DATA / "cuda.pt.trace.json"), "--flame", str(tmp_path / "flame.png")]) == 0
    assert (tmp_path / "flame.png").read_bytes().startswith(b"\x89PNG")


def test_an_ending_that_is_not_known_is_told_before_reading(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyse", "absent", "--lang", "en", "--perfetto", "out.pb"]) == 2
    assert "expected a name that ends in .json, .json.gz" in capsys.readouterr().err
