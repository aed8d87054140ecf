"""PyTorch's own tensor and pipeline parallelism, each rank alone: what stages tell each other is handed on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ascend_workbook.findings.finding import Status
from ascend_workbook.planning.rehearsal import rehearse

SCRIPT = Path(__file__).parent / "children" / "train_tp_pp.py"


def test_stages_and_shards_are_rehearsed(simulator_env: dict[str, str], tmp_path: Path) -> None:
    """DTensor over two cards, a pipeline of three stages: ranks in the middle and at the end are told what the first
    stage sends, though it was not asked for."""
    report = rehearse(
        str(SCRIPT), ["--tp", "2", "--pp", "3", "--layers", "6"], cards=6, ranks=[2, 5], out=tmp_path / "out"
    )
    assert report.findings[0].status is Status.GOOD, report.findings[0]
    middle, last = (dict(zip((column.name for column in report.table.columns), row)) for row in report.table.rows)
    assert (middle["rank"], last["rank"]) == (2, 5) and middle["allocated_peak"] > 0
    assert {path.name for path in (tmp_path / "out" / "told").iterdir()} >= {"stage0.told", "stage1.told"}


@pytest.mark.full
def test_a_stage_alone_takes_what_it_takes_among_all(simulator_env: dict[str, str], tmp_path: Path) -> None:
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "4", str(SCRIPT), "--peaks"]
    env = {**simulator_env, "ASCEND_WORKBOOK_SIM_SHAPES_ONLY": "1", "ASCEND_WORKBOOK_SIM_DEVICES": "4"}
    done = subprocess.run(
        [sys.executable, *launcher], env=env, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    together = dict(map(int, line.split()[1:]) for line in done.stdout.splitlines() if line.startswith("peak"))
    report = rehearse(str(SCRIPT), cards=4, ranks="all", out=tmp_path / "out")
    names = [column.name for column in report.table.columns]
    alone = {row[0]: row[names.index("allocated_peak")] for row in report.table.rows}
    assert alone == {rank: pytest.approx(peak / 2**30, rel=1e-3) for rank, peak in together.items()}
