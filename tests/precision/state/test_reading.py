"""What is recorded is read back; a broken file is one error with its place."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.precision.child import sketch
from ascend_workbook.precision.state.reading import _drop_left_over, read_states


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


def test_gradients_that_a_replaced_model_left_behind_are_none_of_the_steps() -> None:
    """Those of parameters that no update holds and that are what they were; one that changed stays."""
    old, new, other = (["float32", [1], 1.0, 1.0, text] for text in ("old", "new", "other"))
    update = {"groups": [{"names": ["1:w"]}], "gradient": {"1:w": new}}
    nothing: dict[str, list[object]] = {"unscales": [], "clips": []}
    before = {"gradients": [{"w": other, "v": old}], "updates": [{"groups": [], "gradient": {"w": old}}], **nothing}
    step = {"gradients": [{"1:w": old, "w": old, "v": new}], "updates": [update], **nothing}
    _drop_left_over(before, step)
    assert step["gradients"] == [{"1:w": old, "v": new}]
    skipped = {"gradients": [{"w": old}], "updates": [], **nothing}
    _drop_left_over(before, skipped)
    assert skipped["gradients"] == [{"w": old}], "without an update nothing tells whose they are"
