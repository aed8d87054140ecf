"""The live chart draws while lines come, and nothing where there is no reader."""

from __future__ import annotations

import pytest

from ascend_workbook.machine.launch import Progress
from ascend_workbook.precision.views import live_scale
from ascend_workbook.show.boxed import HEADLESS

PNG = b"\x89PNG"


def told(*lines: str) -> Progress:
    return Progress(0, None, None, lines)


def test_the_picture_grows_with_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ipywidgets")
    monkeypatch.delenv(HEADLESS, raising=False)
    monkeypatch.setattr(live_scale, "EVERY_S", 0.0)
    live = live_scale.LiveScale("en")
    live(told("Loss scaler reducing loss scale to 512.0"))
    assert live.drawings == 0  # no step yet: nothing to draw
    live(told("step 1 loss 0.5 loss_scale 512", "step 2 loss 0.4 loss_scale 512"))
    first = bytes(live.box.value)
    live(told("step 3 loss 0.3 loss_scale 1024"))
    live.finish()
    assert first.startswith(PNG) and bytes(live.box.value) != first and live.drawings == 3


def test_a_run_without_a_reader_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HEADLESS, "1")
    live = live_scale.LiveScale("en")
    live(told("step 1 loss 0.5 loss_scale 512"))
    live.finish()
    assert live.box is None and live.drawings == 0
