"""`calibrate`: refits what a real profile has enough of, keeps the rest, refuses a simulated one."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from ascend_workbook.estimates.basis import load_basis
from ascend_workbook.estimates.chips import find_chip
from ascend_workbook.estimates.kernels import Kernel, predict_microseconds
from ascend_workbook.estimates.loads import measure_kernel
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.report import Report
from ascend_workbook.profiling.calibration import LEAST_SHAPES, calibrate, read_timed_kernels

HEAD = (
    "Name,Type,Accelerator Core,Start Time(us),Duration(us),"
    "Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types"
)


def row(kind: str, size: int, microseconds: float, core: str = "AI_VECTOR_CORE") -> str:
    return f'{kind},{kind},{core},1,{microseconds},"""{size};{size}""",FLOAT;FLOAT,ND;ND,"""{size}""",FLOAT'


def write(folder: Path, rows: list[str]) -> Path:
    output = folder / "host_1_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    (output / "kernel_details.csv").write_text("\n".join([HEAD, *rows]) + "\n", encoding="utf-8")
    return output.parent


def slow(factor: float, count: int = LEAST_SHAPES) -> list[str]:
    """Return rows of Add that take `factor` times what the shipped numbers say on a 910B3."""
    rows = []
    for at in range(count):
        kernel = Kernel("Add", ((2 ** (20 + at),),) * 2, ("FLOAT",) * 2, ((2 ** (20 + at),),), ("FLOAT",))
        said = predict_microseconds(measure_kernel(kernel), find_chip("910B3"), load_basis().times_of("elementwise"))
        rows.append(row("Add", 2 ** (20 + at), factor * said))
    return rows


def told(report: Report, lang: str = "en") -> str:
    return "\n".join(finding.message(lang) for finding in report.findings)


def test_a_slower_card_gets_its_own_numbers(tmp_path: Path) -> None:
    profile = write(tmp_path, [*slow(2.0), row("ZerosLike", 4096, 3.0)])
    report = calibrate(profile, "910B3", tmp_path / "own.json")
    own = load_basis(tmp_path / "own.json")
    assert own.families["elementwise"] != load_basis().families["elementwise"]
    assert own.families["fill"] == load_basis().families["fill"], "one kernel is too few"
    assert own.fitted_on == ("host_1_ascend_pt",) and own.about["links"] == load_basis().about["links"]
    assert "elementwise x" in told(report) and "fill" in told(report) and str(tmp_path / "own.json") in told(report)
    before, after = (report.table.column_values(f"calibrate_{when}")[0] for when in ("before", "after"))  # type: ignore[union-attr]
    assert before == pytest.approx(0.5) and after == pytest.approx(1.0, abs=0.15)


def test_numbers_that_fit_already_are_told_as_such(tmp_path: Path) -> None:
    report = calibrate(write(tmp_path, slow(1.0)), "910B3", tmp_path / "own.json")
    assert [finding.key for finding in report.findings] == ["PRF346.same", "PRF346.written"]


def test_figures_are_in_the_units_of_their_columns(tmp_path: Path) -> None:
    """Milliseconds of all kernels, and how far eight of ten left-out shapes reach: seven are too few for either."""
    rows, few = slow(2.0, 8), [row("ZerosLike", 2 ** (20 + at), 40.0) for at in range(7)]
    report = calibrate(write(tmp_path, [*rows, *rows, *few]), "910B3", tmp_path / "own.json")
    table, own = report.table, load_basis(tmp_path / "own.json")
    assert table is not None and LEAST_SHAPES == 8
    columns = {name: table.column_values(f"calibrate_{name}") for name in ("family", "kernels", "measured", "left_out")}
    at = {family: place for place, family in enumerate(columns["family"])}
    took = 2 * sum(float(line.split(",")[4]) for line in rows)
    assert columns["kernels"][at["elementwise"]] == 16
    assert columns["measured"][at["elementwise"]] == pytest.approx(took / 1000)
    assert columns["measured"][at["fill"]] == pytest.approx(7 * 40.0 / 1000)
    times = own.families["elementwise"]
    reach = math.exp(1.2816 * math.hypot(times.family_spread, times.kernel_spread))
    assert columns["left_out"][at["elementwise"]] == pytest.approx(reach) and columns["left_out"][at["fill"]] is None
    assert own.families["fill"] == load_basis().families["fill"]


def test_a_change_of_a_fifth_is_told(tmp_path: Path) -> None:
    report = calibrate(write(tmp_path, slow(1.4, 12)), "910B3", tmp_path / "own.json")
    assert "PRF346.changed" in {finding.key for finding in report.findings}


def test_a_basis_can_be_begun_at(tmp_path: Path) -> None:
    calibrate(write(tmp_path, slow(2.0)), "910B3", tmp_path / "own.json")
    report = calibrate(tmp_path / "host_1_ascend_pt", "910B3", tmp_path / "again.json", basis=tmp_path / "own.json")
    assert report.facts["basis"]["name"] == "calibrated on host_1_ascend_pt"
    assert "PRF346.same" in {finding.key for finding in report.findings}


def test_a_simulated_profile_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WorkbookError) as refused:
        calibrate(write(tmp_path, [row("aten::add", 8, 3.0, "SIMULATED")]), "910B3", tmp_path / "own.json")
    assert refused.value.key == "calibrate.simulated" and not (tmp_path / "own.json").exists()


def test_the_chip_has_to_be_named(tmp_path: Path) -> None:
    with pytest.raises(WorkbookError) as refused:
        calibrate(write(tmp_path, slow(1.0)))
    assert refused.value.key == "calibrate.no_chip" and "910B3" in refused.value.message("en")


def test_level0_has_no_shapes(tmp_path: Path) -> None:
    bare = "Add,Add,AI_VECTOR_CORE,1,2.0,N/A,N/A,N/A,N/A,N/A"
    with pytest.raises(WorkbookError) as refused:
        calibrate(write(tmp_path, [bare]), "910B3")
    assert refused.value.key == "calibrate.no_shapes"


def test_a_profile_without_a_table_says_so(tmp_path: Path) -> None:
    output = tmp_path / "host_1_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    (output / "trace_view.json").write_text("[]")
    with pytest.raises(WorkbookError) as refused:
        calibrate(tmp_path / "host_1_ascend_pt", "910B3")
    assert refused.value.key == "calibrate.no_table"


def test_a_table_that_lacks_a_column_names_it(tmp_path: Path) -> None:
    (tmp_path / "kernel_details.csv").write_text("Name,Duration(us)\nAdd,1\n")
    with pytest.raises(WorkbookError) as refused:
        calibrate(tmp_path / "kernel_details.csv", "910B3")
    assert refused.value.key == "profiling.no_column" and "Input Shapes" in refused.value.message("en")


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(WorkbookError) as refused:
        calibrate(write(tmp_path, slow(1.0)), "910B3", tmp_path / "absent" / "own.json")
    assert refused.value.key == "calibrate.unwritable"


@pytest.mark.parametrize(
    "line",
    [
        row("hcom_allReduce_", 8, 3.0, "HCCL"),
        row("Cast", 8, 3.0, "AI_CPU"),
        row("Add", 8, 0.0),
        row("Add", 8, 3.0).replace('"""8;8"""', '"""a;b"""'),
        row("Add", 8, 3.0).replace("3.0", "fast"),
        row("Add", 8, 3.0) + ",one cell too many",
    ],
)
def test_rows_that_are_no_kernels_are_left_out(tmp_path: Path, line: str) -> None:
    profile = write(tmp_path, [row("Mul", 8, 3.0), line])
    kernels = read_timed_kernels(profile / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv")
    assert [kernel.type for kernel, _ in kernels] == ["Mul"]


def test_a_scalar_is_one_element(tmp_path: Path) -> None:
    line = row("Mul", 8, 3.0).replace('"""8;8"""', '"""8;"""')
    ((kernel, took),) = read_timed_kernels(write(tmp_path, [line]) / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv")
    assert kernel.inputs == ((8,), ()) and took == 3.0


def test_a_real_profile(shared: Path, tmp_path: Path) -> None:
    profile = shared / "data" / "npu" / "pp2dp2_level2" / "rank_0_ascend_pt"
    report = calibrate(profile, "910B4", tmp_path / "own.json")
    families = report.facts["calibration"]["families"]
    refitted = {family["family"]: family["after"] for family in families if family["refitted"]}
    assert {"matmul", "elementwise", "reduce"} == refitted.keys()
    assert all(0.85 < after < 1.15 for after in refitted.values())
    assert json.loads((tmp_path / "own.json").read_text())["calibration"]["kernels"] == report.facts["kernels"] > 2000
