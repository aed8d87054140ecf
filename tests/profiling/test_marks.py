"""When the profiler is told that a step ended, of steps that end inside an optimizer's update."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")


def test_two_steps_that_end_in_one_update_are_both_marked_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from ascend_workbook.profiling.child.profiler_plugin import Marks

    optimizer = torch.optim.Optimizer
    monkeypatch.setattr(optimizer, "profile_hook_step", staticmethod(lambda update: update))
    told: list[str] = []
    marks = Marks(lambda: told.append("mark"))

    def update() -> None:
        marks.request_mark()
        marks.request_mark()
        told.append("update")

    optimizer.profile_hook_step(update)()
    assert told == ["update", "mark", "mark"]
    marks.request_mark()
    assert told == ["update", "mark", "mark", "mark"], "outside of an update at once"
