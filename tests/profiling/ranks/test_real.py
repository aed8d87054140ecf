"""Real ranks: AlexNet on eight 910B, of which two were kept, and a pipeline of two stages on four NPUs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.profiling import analyse


def found(report: Report, code: str) -> Finding:
    (one,) = [one for one in report.findings if one.rule == code and one.status is not Status.NOT_LOOKED]
    return one


def test_one_rank_waits_and_does_not_send(shared: Path) -> None:
    """allReduce_0: 79.09 ms, of which 78.76 are one Notify_Wait for member 5; four calls, 105.992 ms in all."""
    report = analyse(shared / "data/npu/alexnet_910b_level1/rank0_ascend_pt")
    (part,) = [part for part in report.parts if part.verb == "collectives"]
    one = found(part, "PRF352")
    assert (one.key, one.status) == ("PRF352.unseen", Status.LOOK)
    assert one.args["waited"] == {"say": "ranks.of_its_group", "args": {"number": 5}}
    assert (one.args["wait_ms"], one.args["whole_ms"], one.args["times"]) == (101.666, 105.992, 3)
    assert one.args["gain_ms"] == pytest.approx(95.974, abs=1e-3), "member 1 comes 5.6 ms late itself"


def test_two_ranks_name_the_third(shared: Path) -> None:
    report = analyse(shared / "data/npu/alexnet_910b_level1")
    one = found(report, "PRF352")
    assert (one.args["waited_rank"], one.key) == (5, "PRF352.unseen") and "rank 5" in report.verdict("en")
    assert report.table is not None
    assert report.table.column_values("profiling_communication") == pytest.approx([101.963203, 96.359047], abs=1e-3)
    assert found(report, "PRF353").status is Status.GOOD
    sizes = next(part for part in report.parts if part.verb == "packets").table
    assert sizes is not None and sizes.rows[0][:3] == ("HCCS", 18.890752, 24)
    missing = next(one for one in report.findings if one.key == "PRF350.missing")
    assert missing.args["missing"] == "2-7" and report.facts["world_size"] == 8


def test_the_pipelines_stages(shared: Path) -> None:
    """step_trace_time.csv: 231.290, 230.904, 400.448, 401.132 ms computing in steps of 810 ms."""
    report = analyse(shared / "data/npu/pp2dp2_level2")
    one = found(report, "PRF354")
    assert one.status is Status.LOOK and (one.args["stage"], one.args["ranks"], one.args["times"]) == (1, [2, 3], 1.73)
    assert one.args["gain_ms"] == pytest.approx((400.44826 + 401.1317 - 231.2901 - 230.90372) / 4, abs=1e-3)
    assert "stage 1 (ranks 2, 3) computes 400.8 ms" in report.verdict("en")
    assert found(report, "PRF352").key == "PRF352.short_in_stage"
    warned = [one.rule for one in report.findings if one.status >= Status.LOOK]
    assert warned == ["PRF310", "PRF354"], "what the others wait is the same problem and no second one"
    assert report.table is not None and report.table.column_values("rank_stage") == [0, 0, 1, 1]
    assert report.table.column_values("step_time") == pytest.approx([810.02236, 809.43166, 809.8032, 810.15034])
    bubbles = report.table.column_values("rank_bubble")
    assert bubbles == pytest.approx([318.17, 328.54, 159.63, 159.66], abs=0.01)
    assert next(one for one in report.findings if one.key == "PRF350.tables").args["ranks"] == [1, 3]


def test_a_missing_and_a_broken_rank(shared: Path, tmp_path: Path) -> None:
    for rank in (0, 1, 2):
        shutil.copytree(shared / f"data/npu/pp2dp2_level2/rank_{rank}_ascend_pt", tmp_path / f"rank_{rank}_ascend_pt")
    broken = tmp_path / "rank_1_ascend_pt/ASCEND_PROFILER_OUTPUT/communication.json"
    broken.chmod(0o644)
    broken.write_text('{"step13": ')
    report = analyse(tmp_path)
    keys = [one.key for one in report.findings]
    assert keys.count("PRF310.unread") == 1 and keys.count("PRF350.missing") == 1
    assert report.table is not None and report.table.column_values("rank") == [0, 2]
    assert found(report, "PRF354").args["ranks"] == [2]


def test_a_broken_table_beside_one_trace(shared: Path, tmp_path: Path) -> None:
    folder = tmp_path / "rank0_ascend_pt"
    shutil.copytree(shared / "data/npu/alexnet_910b_level1/rank0_ascend_pt", folder)
    broken = folder / "ASCEND_PROFILER_OUTPUT/communication.json"
    broken.chmod(0o644)
    broken.write_text("{")
    report = analyse(folder)
    assert report.parts[0].verb == "time_by_kind" and report.parts[-1].status is Status.NOT_LOOKED
    assert "communication.json" in report.parts[-1].verdict("en")
