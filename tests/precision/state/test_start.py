"""Which random streams tell that a script drew more on one side, by what draws on the devices."""

from __future__ import annotations

import pytest

from ascend_workbook.precision.state.judge import Conditions, Judge
from ascend_workbook.precision.state.reading import Step
from ascend_workbook.precision.state.start import judge_start


def step(number: int, **streams: str) -> Step:
    return Step({"step": number, "random": streams, "updates": [], "scale": None})


@pytest.mark.parametrize(
    ("of_cpu", "of_npu", "same_streams", "told"),
    [
        (("a", "b"), ("a", "c"), False, True),
        (("a", "b"), ("a", "c"), True, True),
        (("a", "b"), ("a", "b"), True, False),
        (("a", "b"), ("z", "c"), False, False),
    ],
)
def test_the_hosts_stream_counts_where_no_device_draws(
    of_cpu: tuple[str, str], of_npu: tuple[str, str], same_streams: bool, told: bool
) -> None:
    for moves in (False, True):
        judge = Judge(Conditions(same_streams=same_streams))
        for at in (0, 1):
            judge_start(judge, step(at, torch=of_cpu[at]), step(at, torch=of_npu[at], npu="d" if at and moves else "n"))
            judge.left, judge.right = step(at, torch=of_cpu[at]), step(at, torch=of_npu[at], npu="n")
        drew = told and (same_streams or not moves)
        assert [(event.step, event.names) for event in judge.events] == ([(1, ("torch",))] if drew else [])
