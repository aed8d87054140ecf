"""`profile --estimate`: every option is taken, or refused by its name."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.cli.commands.profiling import run_profile
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.planning import rehearsal
from ascend_workbook.profiling import profile


def run_estimate(monkeypatch: pytest.MonkeyPatch, **options: Any) -> dict[str, Any]:
    """Return what the rehearsal was asked for."""
    asked: dict[str, Any] = {}

    def note(script: str, args: object, **more: object) -> None:
        asked.update({"script": script, "args": args, **more})

    monkeypatch.setattr(rehearsal, "rehearse", note)
    run_profile(partial(profile, "train.py", ["--size", "7b"], **options), estimate=True)
    return asked


def test_what_a_rehearsal_can_do_is_handed_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    heard: list[object] = []
    asked = run_estimate(
        monkeypatch, out=tmp_path, nproc=4, timeout_s=9.0, python="py", ranks=(0, 3), on_progress=heard.append
    )
    asked.pop("on_progress")(3, "step")
    assert asked.pop("profile") == tmp_path / "data" and heard == ["step"]
    expected = {"script": "train.py", "args": ["--size", "7b"], "cards": 4, "timeout_s": 9.0, "python": "py"}
    assert asked == {**expected, "ranks": (0, 3)}
    assert run_estimate(monkeypatch)["cards"] is None and "ranks" not in run_estimate(monkeypatch)


@pytest.mark.parametrize(
    "options, names",
    [
        ({"steps": 3}, ["--steps"]),
        ({"device": "cpu"}, ["--device"]),
        ({"cwd": "/"}, ["--cwd"]),
        ({"shapes": False, "l2_cache": True}, ["--no-shapes", "--l2-cache"]),
        ({"simplify": False, "level": 0, "gc_ms": 5.0}, ["--keep-raw", "--level", "--gc-ms"]),
    ],
)
def test_what_it_cannot_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], names: list[str]
) -> None:
    with pytest.raises(WorkbookError) as refused:
        run_estimate(monkeypatch, **options)
    assert all(name in str(refused.value) for name in names) and "takes no" in str(refused.value)


def test_what_is_said_as_it_is_anyway_is_no_change(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_estimate(monkeypatch, steps=10, device="auto", memory=True)["script"] == "train.py"
