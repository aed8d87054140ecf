"""The lesson on divergence has its answers apart from the notebook, and gives them out as copies."""

from __future__ import annotations

import re

from ascend_workbook.precision.capture import capture
from course.lessons.cases import CASES, cases_on
from tests.conftest import ROOT

SOURCE = (ROOT / "notebooks" / "source" / "course" / "03_divergence.py").read_text(encoding="utf-8")


def test_every_case_has_a_baseline_of_as_many_processes_and_steps() -> None:
    given = cases_on("npu-simulated")
    baselines = {tuple(options.items()) for where, options, settings in given.values() if where == "baseline"}
    assert len(baselines) == 2 and CASES.keys() < given.keys()
    for where, options, settings in given.values():
        assert tuple(options.items()) in baselines and bool(settings) == (where == "npu-simulated")
        assert options.keys() <= capture.__annotations__.keys()


def test_who_changes_a_fault_changes_a_copy() -> None:
    given = cases_on("npu-simulated")
    name, settings = "first", given["first"][2]
    settings.update(dict.fromkeys(settings, "aten::add:scale=2"))
    assert CASES[name][1] != settings and cases_on("npu-simulated")[name][2] == CASES[name][1]


def test_the_notebook_asks_before_it_tells() -> None:
    """No fault is written out where the student reads before deciding."""
    written = re.compile(r"aten::\w+@|:scale=")
    assert all(written.search(text) for _, settings in CASES.values() for text in settings.values() if ":" in text)
    assert not written.search(SOURCE)
