"""The list of profiles, its halves, and the command that fits on them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from ascend_workbook.estimates.basis import load_basis
from ascend_workbook.estimates.chips import find_chip
from ascend_workbook.estimates.fitting import group_kernels, leave_out
from ascend_workbook.estimates.kernels import Kernel, estimate_kernels
from ascend_workbook.profiling.calibration import read_timed_kernels
from tools.estimates.__main__ import WORKLOADS, main, read_workloads

RECORD = json.loads(WORKLOADS.read_text(encoding="utf-8"))
LICENCES = {"Mulan PSL 2", "Apache-2.0", "MIT", "BSD-3-Clause"}
SHARED = {
    "qwen3_pp2dp2_2025": ("910B4", "pp2dp2_level2/rank_0_ascend_pt", "pp2dp2_level2/rank_2_ascend_pt"),
    "alexnet_2025": ("910B2", "alexnet_910b_level1/rank0_ascend_pt", "alexnet_910b_level2/rank0_ascend_pt"),
}


#: Found after the first draw, and divided by one of their own
LATER = {"grouped_2026", "kernel_parse_2023", "matmul_2026"}


def test_the_held_half_is_the_draws() -> None:
    drawn = {name for name, entry in RECORD["workloads"].items() if not entry["known_before"]}
    held = {name for name, entry in RECORD["workloads"].items() if entry["half"] == "held"}
    first, second = (
        random.Random(20261127).sample(sorted(names), many) for names, many in ((drawn - LATER, 4), (LATER, 2))
    )
    assert held == {*first, *second}


@pytest.mark.parametrize("name", RECORD["workloads"])
def test_every_profile_has_its_source_and_a_licence_that_allows_use(name: str) -> None:
    entry = RECORD["workloads"][name]
    assert entry["licence"] in LICENCES and entry["repository"].count("/") == 1 and entry["commit"] and entry["files"]
    assert find_chip(entry["chip"]).name == entry["chip"]
    for page in ("docs/estimates.md", "docs/estimates.zh-CN.md"):
        assert f"`{name}`" in (Path(__file__).parents[2] / page).read_text(encoding="utf-8")


def test_the_shipped_numbers_rest_on_the_working_half_alone() -> None:
    working = {name for name, entry in RECORD["workloads"].items() if entry["half"] == "working"}
    assert {*load_basis().fitted_on} < working
    assert load_basis().about["links"] == RECORD["links"] and load_basis().date == RECORD["date"]


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="Ascend/msinsight at 4e16fca1"):
        read_workloads(tmp_path, "working")


def write_traces(folder: Path) -> None:
    """Write a small table for every file of the list, whose kernels take what the shipped numbers say."""
    for entry in RECORD["workloads"].values():
        for file in entry["files"]:
            path = folder / entry["repository"] / file
            path.parent.mkdir(parents=True, exist_ok=True)
            lines = ["Type,Duration(us),Input Shapes,Input Data Types,Output Shapes,Output Data Types"]
            for size in (2**at for at in range(8, 30)):
                kernel = Kernel("Add", ((size,),) * 2, ("FLOAT",) * 2, ((size,),), ("FLOAT",))
                took = estimate_kernels([kernel], find_chip(entry["chip"]), load_basis()).range.middle
                lines.append(f'Add,{took},"""{size};{size}""",FLOAT;FLOAT,"""{size}""",FLOAT')
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_the_command_judges_both_halves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_traces(tmp_path)
    assert main([str(tmp_path), "--held"]) == 0
    told = capsys.readouterr().out
    assert told.count("80 % ranges held") == 6 and "gpt_8k_2023: " in told
    assert "held 6 of 6 workloads: 100%" in told and "held 6 of 6 workloads: 100%" in told.split("the held half")[1]


@pytest.fixture(scope="module")
def real(request: pytest.FixtureRequest) -> Iterator[dict[str, list[object]]]:
    folder = request.getfixturevalue("shared") / "data" / "npu"
    yield {
        name: [
            timed
            for profile in profiles
            for timed in read_timed_kernels(folder / profile / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv")
        ]
        for name, (_, *profiles) in SHARED.items()
    }


@pytest.mark.parametrize("name", SHARED)
def test_the_sum_of_a_real_profiles_kernels(name: str, real: dict[str, list[tuple[Kernel, float]]]) -> None:
    said = estimate_kernels((kernel for kernel, _ in real[name]), find_chip(SHARED[name][0]), load_basis()).range
    took = sum(microseconds for _, microseconds in real[name])
    assert 0.75 < said.middle / took < 1.33 and said.low < took < said.high


def test_each_of_two_real_profiles_from_the_other_alone(real: dict[str, list[tuple[Kernel, float]]]) -> None:
    workloads = {name: group_kernels(real[name], find_chip(SHARED[name][0])) for name in SHARED}
    errors = {(error.workload, error.family): error.family_error for error in leave_out(workloads)}
    assert abs(errors["qwen3_pp2dp2_2025", "elementwise"]) < 0.3
    assert abs(errors["alexnet_2025", "elementwise"]) < 0.3
    assert abs(errors["alexnet_2025", "foreach"]) < 0.3
