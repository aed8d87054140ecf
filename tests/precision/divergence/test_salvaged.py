"""What a killed run left is run again as far as it stands whole."""

from __future__ import annotations

from pathlib import Path

import torch

from ascend_workbook.precision.comparison import examine_captures
from benchmarks.matrix.replaying import in_this_process
from tests.precision.networks import convolutions


def wrong(value: torch.Tensor) -> torch.Tensor:
    return value * 1.01


def test_a_dump_that_was_cut_is_replayed(tmp_path: Path) -> None:
    convolutions(tmp_path / "a")
    convolutions(tmp_path / "b", faults={"Functional.conv2d.1.forward": wrong})
    path = tmp_path / "b" / "step0" / "proc7" / "dump.json"
    text = path.read_text(encoding="utf-8")
    path.write_text(text[: text.index("Functional.batch_norm.2.backward")], encoding="utf-8")
    with in_this_process():
        found = examine_captures(tmp_path / "a", tmp_path / "b")
    assert found.named == ["Functional.conv2d.1.forward"] and found.first is not None
    own = found.first[1].own
    assert own is not None and abs(own.target - 0.0099) < 2e-4, "judged by its own inputs, not by amplification"
    assert not found.steps[0].replays.error and found.target.troubles
