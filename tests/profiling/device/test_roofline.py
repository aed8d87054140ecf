"""The chip by what kernels tell, its counters by either export, and the roofline of a made table."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from ascend_workbook.profiling.device.chip import clocks_mhz, count_cubes, find_chip_of
from ascend_workbook.profiling.device.efficiency import report_roofline
from ascend_workbook.profiling.device.roofline import measure_roofline
from ascend_workbook.profiling.readers.counters import Curve, read_database_counters
from ascend_workbook.profiling.readers.tables import read_kernel_table
from tests.rules.profiling import FULL, MM, chipped

HEAD = "Name,Type,Accelerator Core,Duration(us),Block Dim,aicore_time(us),aic_total_cycles,cube_utilization(%)"


def test_the_chip_of_a_real_table(tmp_path: Path) -> None:
    """Figures of a real convolution: 16 blocks, 8927535 cycles, 66.311 % of 24 cubes at 1800 MHz."""
    rows = "Conv2D1,Conv2D,AI_CORE,311.646,16,309.984,8927535,66.311"
    (tmp_path / "kernel_details.csv").write_text(f"{HEAD}\n{rows}\n")
    table = read_kernel_table(tmp_path)
    assert table is not None
    assert clocks_mhz(table)[0] == pytest.approx(1800, abs=0.1)
    assert count_cubes(table) == 24
    match = find_chip_of(table, "Ascend910B")
    assert match is not None and not match.named and match.alike == ("910B2", "910C")
    named = find_chip_of(table, "Ascend910B4")
    assert named is not None and named.named and named.chip.name == "910B4"


def test_no_chip_is_made_up() -> None:
    profile = chipped(MM, chip="", cycles=[18e6], core_us=[500.0], blocks=[30.0])()  # 1200 MHz
    assert profile.kernels is not None and find_chip_of(profile.kernels) is None
    assert measure_roofline(profile.kernels) is None


def test_a_row_for_each_type() -> None:
    """4096 x 4096 x 4096 in float16: 137.4e9 operations, 100.7e6 bytes, 500 us."""
    profile = chipped(MM, chip="", **FULL)()
    (part,) = report_roofline(profile, "profiling", [])
    assert part.table is not None
    (row,) = part.table.rows
    assert row[:4] == ("MatMulV3", 1, 0.5, 100)
    assert row[4] == pytest.approx(2 * 4096**3 / 500e-6 / 1e12)
    assert row[5] == pytest.approx(3 * 4096**2 * 2 / 500e-6 / 1e9)
    assert part.facts["chip"] == {"name": "910B3", "named": False, "alike": ["910B3"]}
    assert part.facts["utilisation"] == pytest.approx(2 * 4096**3 / 4 / 1e-3 / (20 * 1.8e9 * 8192 * 0.942))


def test_a_curve_is_weighed_by_how_long_each_value_holds() -> None:
    curve = Curve(np.array([100, 200, 400], np.int64), np.array([1.0, 2.0, 5.0]))
    assert curve.mean_within(100, 400) == pytest.approx((100 * 1 + 200 * 2) / 300)
    assert curve.mean_within(0, 200) == 1
    assert curve.mean_within(500, 600) == 5


def test_counters_of_a_database(tmp_path: Path) -> None:
    path = tmp_path / "ascend_pytorch_profiler_0.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript("""
        CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);
        CREATE TABLE AICORE_FREQ (deviceId INTEGER, timestampNs NUMERIC, freq INTEGER);
        CREATE TABLE HBM (deviceId INTEGER, timestampNs INTEGER, bandwidth NUMERIC, hbmId INTEGER, type INTEGER);
        CREATE TABLE LLC (deviceId INTEGER, llcId INTEGER, timestampNs INTEGER, hitRate REAL, mode INTEGER);
        INSERT INTO STRING_IDS VALUES (1, 'read'), (2, 'write');
        INSERT INTO AICORE_FREQ VALUES (0, 2000, 900), (0, 1000, 1800), (0, 3000, 'x');
        INSERT INTO HBM VALUES (0, 1000, 1500000000, 0, 1), (0, 1000, 500000000, 1, 1), (0, 1000, 250000000, 0, 2);
        INSERT INTO LLC VALUES (0, 0, 1000, 80.0, 1), (0, 1, 1000, 40.0, 1), (0, 1, 1000, 10.0, 2);
        """)
    curves = read_database_counters(path).curves
    assert curves["frequency_mhz"].at_ns.tolist() == [1000, 2000]
    assert curves["frequency_mhz"].values.tolist() == [1800, 900]
    assert curves["read_gb_s"].values.tolist() == [2] and curves["write_gb_s"].values.tolist() == [0.25]
    assert curves["hit_percent"].values.tolist() == [60]
    with closing(sqlite3.connect(path)) as database:
        database.executescript("DROP TABLE HBM; DROP TABLE AICORE_FREQ; DROP TABLE LLC")
    assert read_database_counters(path).curves == {}
