"""What is recorded is read back; a broken file is one error with its place."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.precision.child import sketch
from ascend_workbook.precision.state.reading import read_states


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"schema": "other", "steps": []}', '{"schema": "ascend-workbook/state/1"}']
)
def test_a_broken_recording_is_told_with_its_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "state.rank0.json").write_text(text)
    with pytest.raises(WorkbookError, match=r"state\.rank0\.json"):
        read_states(tmp_path)


def test_a_folder_without_one_holds_nothing(tmp_path: Path) -> None:
    assert not read_states(tmp_path)


def test_sketches_are_as_far_apart_as_their_tensors() -> None:
    draw = np.random.default_rng(0)
    for size in (5, 1000, 100_000):
        left, change = draw.normal(size=size), 1e-3 * draw.normal(size=size)
        apart = np.linalg.norm(sketch.sketch(left + change) - sketch.sketch(left))
        assert apart == pytest.approx(np.linalg.norm(change), rel=1e-6 if size <= sketch.SIZE else 0.5)
    assert np.allclose(sketch.sketch(left) + sketch.sketch(change), sketch.sketch(left + change))
