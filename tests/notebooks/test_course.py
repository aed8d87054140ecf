"""The courses run headless in Chinese too, and every case ends as its answer says."""

from __future__ import annotations

from pathlib import Path

import nbformat
import papermill
import pytest

from tests.conftest import ROOT

#: What the four cases print: who parts first, on which step and rank.
SAID = (
    "first divergence: Functional.layer_norm.0.forward | step: 9",
    "first divergence: Functional.softmax.0.forward | rank: 1",
    "first divergence: Functional.softmax.0.forward\n",
)


def printed(notebook: object) -> str:
    cells = notebook.cells  # type: ignore[attr-defined]
    return "".join(output.get("text", "") for cell in cells for output in cell.get("outputs", ()))


COURSES = sorted((ROOT / "notebooks").glob("[ez]*/course_*.ipynb"))


@pytest.mark.parametrize("path", COURSES, ids=lambda path: path.parent.name)
def test_the_committed_answers_are_right(path: Path) -> None:
    said = printed(nbformat.read(path, 4))
    assert all(sentence in said for sentence in SAID) and "mark" in said


@pytest.mark.full
def test_the_course_runs_headless(tmp_path: Path, simulator_env: dict[str, str]) -> None:
    done = papermill.execute_notebook(
        str(ROOT / "notebooks" / "zh" / "course_divergence.ipynb"), str(tmp_path / "done.ipynb"),
        parameters={"run_dir": str(tmp_path / "runs")}, kernel_name="python3", progress_bar=False,
    )  # fmt: skip
    assert all(sentence in printed(done) for sentence in SAID)
