"""npu-smi's tables: real outputs of 22 machines where at hand, made ones of each layout, damage of any kind."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascend_workbook.machine.npu_smi import NpuSmi, parse_npu_smi

#: file -> chips, processes, error (read off the files by eye)
SAMPLES = {
    "01": (8, 0, None),
    "02": (16, 0, None),
    "03": (8, 0, None),
    "04": (1, 0, None),
    "05": (1, 0, None),
    "06": (2, 0, None),
    "07": (2, 1, None),
    "08": (1, 0, None),
    "09": (4, 1, None),
    "10": (2, 0, None),
    "11": (1, 0, None),
    "12": (1, 0, None),
    "13": (1, 0, None),
    "14": (1, 0, None),
    "15": (1, 0, None),
    "16": (0, 0, -8005),
    "17": (0, 0, -8020),
    "18": (0, 0, None),
    "19": (0, 0, None),
    "20": (0, 0, None),
    "21": (0, 5, None),
    "22": (2, 0, None),
}

#: Made after the layouts of Atlas A3 (two dies, Phy-ID) and 310P (Device, no HBM); the values are invented.
A3 = """\
+------------------------------------------------------------------------------------------------+
| npu-smi 25.2.1                   Version: 25.2.1                                               |
+---------------------------+---------------+----------------------------------------------------+
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip  Phy-ID              | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================================+
| 3     Ascend910           | OK            | 151.5       41                0    / 0             |
| 0     6                   | 0000:9D:00.0  | 7           0    / 0          3001 / 65536         |
+------------------------------------------------------------------------------------------------+
| 3     Ascend910           | Warning       | -           42                0    / 0             |
| 1     7                   | 0000:9F:00.0  | 0           0    / 0          20701/ 65536         |
+===========================+===============+====================================================+
+---------------------------+---------------+----------------------------------------------------+
| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |
+===========================+===============+====================================================+
| 3       1                 | 4711          | python3                  | 17700                   |
+===========================+===============+====================================================+
"""
INFERENCE = """\
+--------------------------------------------------------------------------------------------------------+
| npu-smi 23.0.0                                   Version: 22.0.2                                       |
+-------------------------------+-----------------+------------------------------------------------------+
| NPU     Name                  | Health          | Power(W)     Temp(C)           Hugepages-Usage(page) |
| Chip    Device                | Bus-Id          | AICore(%)    Memory-Usage(MB)                        |
+===============================+=================+======================================================+
| 6       310P3                 | Alarm           | NA           50                0     / 0             |
| 0       0                     | NA              | 3            1839 / 21525                            |
+===============================+=================+======================================================+
| No running processes found in NPU 6                                                                    |
"""


@pytest.mark.parametrize("number", SAMPLES)
def test_real_outputs(shared: Path, number: str) -> None:
    path = next((shared / "facts" / "npu_smi").glob(f"{number}_*.txt"))
    found = parse_npu_smi(path.read_text(encoding="utf-8"))
    assert (len(found.chips), len(found.processes), found.error) == SAMPLES[number]
    assert not found.unread


def test_two_dies() -> None:
    found = parse_npu_smi(A3)
    first, second = found.chips
    assert (first.npu, first.chip, first.physical_id, first.power_w, first.core_use_percent) == (3, 0, 6, 151.5, 7.0)
    assert (second.chip, second.health, second.power_w, second.hbm_used_mib) == (1, "Warning", None, 20701)
    assert (second.hbm_total_mib, second.memory_total_mib, second.bus_id) == (65536, 0, "0000:9F:00.0")
    process = found.processes[0]
    assert (process.npu, process.chip, process.pid, process.name, process.memory_mib) == (3, 1, 4711, "python3", 17700)


def test_no_hbm_column() -> None:
    found = parse_npu_smi(INFERENCE)
    assert (found.version, found.driver) == ("23.0.0", "22.0.2")
    chip = found.chips[0]
    assert (chip.npu, chip.name, chip.health, chip.bus_id, chip.power_w) == (6, "310P3", "Alarm", None, None)
    assert (chip.memory_used_mib, chip.memory_total_mib, chip.hbm_total_mib) == (1839, 21525, None)


def test_columns_are_taken_from_the_header() -> None:
    """A column the parser does not know shifts nothing."""
    wider = A3.replace("Power(W)    Temp(C) ", "Power(W) New(%) Temp(C) ")
    wider = wider.replace("151.5       41 ", "151.5 99 41 ").replace("-           42 ", "- 98 42 ")
    assert [chip.temperature_c for chip in parse_npu_smi(wider).chips] == [41.0, 42.0]


@pytest.mark.parametrize("text", [A3, INFERENCE])
def test_output_cut_anywhere(text: str) -> None:
    """Cut after any line: chips that are whole are read, the rest is told, nothing is invented."""
    whole = parse_npu_smi(text)
    lines = text.splitlines()
    for end in range(len(lines)):
        cut = parse_npu_smi("\n".join(lines[:end]))
        assert cut.chips == whole.chips[: len(cut.chips)]
        half = end and lines[end - 1].startswith(("| 3     Ascend910", "| 6       310P3"))
        assert bool(cut.unread) == bool(half)


def test_a_damaged_line_is_told() -> None:
    assert parse_npu_smi(
        A3.replace("| 0     6                   | 0000:9D:00.0  |", "| 0     6     0000:9D:00.0  |")
    ).unread
    assert parse_npu_smi(A3.replace("| 4711          |", "| four          |")).unread
    assert parse_npu_smi("| 0     910B3               | OK            | 98.2        37 |").unread


@given(st.text(alphabet=st.sampled_from("| +=-0123456789²NPUChipNameHealth/\n"), max_size=400))
def test_any_text_is_survived(text: str) -> None:
    assert isinstance(parse_npu_smi(text), NpuSmi)


@given(st.lists(st.sampled_from(A3.splitlines()), max_size=30))
def test_lines_in_any_order_give_no_invented_chip(lines: list[str]) -> None:
    assert len(parse_npu_smi("\n".join(lines)).chips) <= sum("0000:9" in line for line in lines)


def test_a_chip_without_its_second_line_takes_no_other_chips() -> None:
    second = next(line for line in A3.splitlines() if "0000:9D:00.0" in line)
    found = parse_npu_smi(A3.replace(second + "\n", ""))
    assert [(chip.chip, chip.health) for chip in found.chips] == [(1, "Warning")]
    assert len(found.unread) == 1 and "151.5" in found.unread[0]


def test_a_line_with_more_values_than_names_is_told() -> None:
    found = parse_npu_smi(A3.replace("| 151.5       41 ", "| 151.5 1 2 3  41 "))
    assert len(found.chips) == 1 and any("151.5" in line for line in found.unread)


def test_a_line_with_a_cell_too_many_is_told() -> None:
    first = next(line for line in A3.splitlines() if "151.5" in line)
    found = parse_npu_smi(A3.replace(first, first + " new |"))
    assert [chip.chip for chip in found.chips] == [1] and any("new" in line for line in found.unread)


def test_only_the_stand_in_is_simulated() -> None:
    assert not NpuSmi().simulated and not parse_npu_smi(A3).simulated
    assert parse_npu_smi(A3 + "SIMULATED\n").simulated


@pytest.mark.parametrize(
    ("old", "new"),
    [("| 0     6    ", "| x     6    "), ("| Health        |", "| State         |")],
)
def test_a_chip_without_a_number_or_a_health_is_told(old: str, new: str) -> None:
    assert old in A3
    found = parse_npu_smi(A3.replace(old, new))
    assert found.unread and len(found.chips) < 2 and all(chip.chip == 1 for chip in found.chips)


def test_a_line_that_begins_as_the_header_does_is_none() -> None:
    second = "| 3     Ascend910           | Warning "
    found = parse_npu_smi(A3.replace(second, "| NPU 9 is busy | here | there |\n" + second))
    assert [chip.chip for chip in found.chips] == [0, 1] and len(found.unread) == 1
