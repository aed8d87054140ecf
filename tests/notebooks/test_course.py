"""The courses run headless in Chinese too, and every case ends as its answer says."""

from __future__ import annotations

from pathlib import Path

import nbformat
import papermill
import pytest

from ascend_workbook.findings.finding import Status
from tests.conftest import ROOT

#: What a course prints: of the lessons how the failing run ends and how the mended one does; of the four cases who
#: parts first, on which step and rank; of the slow loop that it got faster; of the plan how many kernels, and where
#: memory runs out.
SAID = {
    "00_start": ("tier: npu-simulated", "its type: npu | is_cuda: False", "[matmul]"),
    "01_environment": ("libhccl.so: cannot open", "ENV051 留意 -> 通过", "device: cpu", "2.8.0.post4: 通过"),
    "02_migration": ("torch.cuda.set_device", "gradient norm None", "0, computed in torch.float32", "step 7 loss 1.12"),
    "03_divergence": (
        "first divergence: Functional.layer_norm.0.forward | step: 9",
        "first divergence: Functional.softmax.0.forward | rank: 1",
        "first divergence: Functional.softmax.0.forward\n",
        "mark",
    ),
    "03_mixed_precision": (
        "float16: share of the gradients that are 0 at step 1: 1.0",
        "the scale stopped falling at 17179869184.0 | the histogram of float32 said 17179869184.0",
        "待修 | not a number from step 2",
        "layer_norm   float32",
    ),
    "04_slow_loop": (
        "the changed loop is faster than the first: True",
        "losses agree within 0.0001: True",
        "'aten::convolution': 4.0, 'aten::item': 33.0",
        "'aten::item': 1.0",
    ),
    "07_planning": ("7B, two layers  290 kernels", "tiny            294 kernels", "llama_train.py:134"),
}


#: Predictions that hold, whatever the machine.
RIGHT: dict[str, dict[str, object]] = {
    "01_environment": {"missing": "cann", "trains_on": "cpu", "culprit": "torch"},
    "02_migration": {"first_to_fail": "set_device", "places": 8, "one_line": "wrong", "one_more": "0"},
    "03_mixed_precision": {"guess": "backward"},
    "04_slow_loop": {"guess": "loader"},
    "07_planning": {"guess": "optimizer", "limit": "host"},
}


#: What a reader does not see and nbval compares.
FACTS = "application/vnd.ascend-workbook+json"


def printed(notebook: object) -> str:
    """What a notebook prints, the text of what it shows, and the facts of its pictures."""
    cells = notebook.cells  # type: ignore[attr-defined]
    outputs = [output for cell in cells for output in cell.get("outputs", ())]
    shown = [(output.get("text", ""), output.get("data", {})) for output in outputs]
    return "".join(f"{text}{data.get('text/plain', '')}{data.get(FACTS, '')}" for text, data in shown)


COURSES = sorted((ROOT / "notebooks").glob("course/[ez]*/*.ipynb"))


@pytest.mark.parametrize("path", COURSES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_the_committed_answers_are_right(path: Path) -> None:
    said = printed(nbformat.read(path, 4))
    for status in Status:  # the word of a status in a sentence is the reader's language's
        said = said.replace(status.word(path.parent.name), status.word("zh"))
    assert all(sentence in said for sentence in SAID.get(path.stem, ()))


@pytest.mark.full
@pytest.mark.parametrize("stem", SAID)
def test_the_course_runs_headless(tmp_path: Path, simulator_env: dict[str, str], stem: str) -> None:
    done = papermill.execute_notebook(
        str(ROOT / "notebooks" / "course" / "zh" / f"{stem}.ipynb"),
        str(tmp_path / "done.ipynb"),
        parameters={"run_dir": str(tmp_path / "runs"), **RIGHT.get(stem, {})},
        kernel_name="python3",
        progress_bar=False,
    )
    assert all(sentence in printed(done) for sentence in SAID[stem])
    assert printed(done).count("正确，与你的预测一致") == len(RIGHT.get(stem, ()))
