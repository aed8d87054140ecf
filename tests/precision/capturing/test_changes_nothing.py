"""A capture changes no bit of the run that it captures: losses, gradients, weights and random streams of the CPU
standing in for CUDA, with what the capture hangs into it and without. About 20 seconds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.machine.launch import LaunchSpec
from ascend_workbook.precision import capture as captures
from ascend_workbook.precision.capturing.options import FINGERPRINTS, Options
from tests.machine.launch.matrix.running import BASELINE, HERE, WAYS, Way, compare, run_all

#: As a capture starts its child, but for what rides along.
SHARED: dict[str, Any] = {"transform": "baseline_cpu", "steps": 3, "seed": 1234, "deterministic": True}
TASKS = (FINGERPRINTS, "statistics", "tensor")
CASES = ("checkpointing.other", "mixed.half_with_dropout")
LONGER = (
    *("checkpointing.reentrant", "checkpointing.other_not_preserved", "drawing.attention_module", "drawing.recurrent"),
    *(
        "drawing.noise_like_the_batch",
        "mixed.half_with_scaler",
        "feeding.shuffled_with_dropout",
        "settings.convolutions",
    ),
    "settings.best_weights_kept",
)


def _way(task: str, folder: Path) -> Way:
    options = Options(HERE / "case.py", (), 3, (0, 2), "L1", task, 1234, 2048, {}, 1)
    plugin = captures._configure_plugin(folder / "dump", options, "cpu", False)
    return Way(task, {**SHARED, "plugins": [plugin]})


@pytest.fixture(scope="module")
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("captured")
    cases = [*CASES, *(LONGER if request.config.getoption("--full") else ())]
    pairs = []
    for case in cases:
        pairs.append((case, replace(WAYS[BASELINE], spec=SHARED)))
        for task in TASKS:
            folder = out / "dumps" / case / task
            folder.mkdir(parents=True)
            pairs.append((case, _way(task, folder)))
    run_all(out, pairs)
    return out


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("case", [*CASES, *(pytest.param(case, marks=pytest.mark.full) for case in LONGER)])
def test_no_bit_is_changed(ran: Path, case: str, task: str) -> None:
    assert compare(ran / case / BASELINE, ran / case / task) == {}
    if task != FINGERPRINTS:
        assert list((ran / "dumps" / case / task / "dump").glob("step*/**/dump.json")), "nothing was captured"


def test_the_launch_takes_what_a_capture_asks(tmp_path: Path) -> None:
    LaunchSpec(out=tmp_path, script=HERE / "case.py", **SHARED).check_fields()
