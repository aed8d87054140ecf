"""C. Two trainings that should be the same: name the operator, the step and the rank where they part first.

The fault is put into the simulated NPU and drawn from the student's name. How many of the three are right is told, not
which, so that trying one after the other is no shorter than looking.
"""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.precision.capture import capture
from ascend_workbook.precision.capturing import manifest
from course.exercises.data import as_typed
from course.exercises.drawing import draw_number, pick_one
from course.exercises.editing import SCRIPTS
from course.exercises.task import Found, Place, Task

ORDER = 3
SETTING = "ASCEND_WORKBOOK_SIM_FAULT"
RANKS, STEPS = 2, 4
FIELDS = ("operator", "step", "rank")
#: The simulator's name of an operator, and what else it is called.
OPERATORS = {
    "aten::_softmax": ("softmax", "_softmax"),
    "aten::native_layer_norm": ("layer_norm", "layernorm", "native_layer_norm"),
    "aten::convolution": ("conv2d", "convolution", "conv1"),
    "aten::addmm": ("linear", "addmm", "head"),
    "aten::tanh": ("tanh",),
}


@dataclass(frozen=True)
class Fault:
    """One operator, in one step (from 1), on one rank (from 0), whose results are too large by 1 %."""

    operator: str
    step: int
    rank: int

    @property
    def setting(self) -> str:
        return f"{self.operator}@step={self.step},rank={self.rank}:scale=1.01"


def draw_fault(student: str) -> Fault:
    """Draw the student's fault, never in the first step: whoever looks at that one alone finds nothing."""
    step = 2 + draw_number(student, "fault.step", STEPS - 1)
    return Fault(pick_one(student, "fault", list(OPERATORS)), step, draw_number(student, "fault.rank", RANKS))


def evidence(folder: Path, student: str) -> tuple[Path, Path]:
    """Capture the healthy run and the one with the fault, on two ranks: the folders `baseline` and `target`."""
    sides = {"baseline": ("baseline", {}), "target": ("npu-simulated", {SETTING: draw_fault(student).setting})}
    options: dict[str, Any] = {"steps": STEPS, "nproc": RANKS, "dump_steps": (*range(STEPS),), "estimate": False}

    def capture_side(name: str) -> Report:
        device, settings = sides[name]
        script = SCRIPTS / "course_net.py"
        return capture(script, out=folder / name, device=device, settings=settings, force=True, **options)

    with ThreadPoolExecutor(len(sides)) as pool:
        reports = list(pool.map(capture_side, sides))
    for report in reports:
        report.or_raise()
    return folder / "baseline", folder / "target"


def check(answer: object, place: Place) -> Found:
    submitted, fault = _read_answer(answer), draw_fault(place.student)
    captured = manifest.load_manifest(place.folder / "target")
    faults = captured.about.get("simulator", {}).get("faults", []) if captured else []
    if faults and faults != [fault.setting]:
        raise ValueError("the captures beside are of another student: run the cell that makes them again")
    right = [submitted[name] == value for name, value in vars(fault).items()]
    if all(right):
        return Found((Sentence("course.fault.found", **vars(fault)),), simulated=True)
    return Found(missing=(Sentence("course.fault.count", count=sum(right)),), simulated=True)


def _read_answer(answer: object) -> dict[str, object]:
    if not isinstance(answer, dict) or any(name not in answer for name in FIELDS):
        raise WorkbookError("course.fault.fields", fields=list(FIELDS), given=type(answer).__name__)
    for name in FIELDS[1:]:  # of 3 as of 3.0, which a table's column may give
        value = answer[name]
        if type(value) is not int and not (type(value) is float and value.is_integer()):
            raise WorkbookError("course.fault.number", field=name, given=str(value)[:40])
    known = operator_of(str(answer["operator"]))
    if known is None:
        raise WorkbookError("course.fault.operator", given=str(answer["operator"])[:80])
    return {"operator": known, **{name: int(answer[name]) for name in FIELDS[1:]}}


def operator_of(name: str) -> str | None:
    """Return the simulator's name of `softmax`, `aten::_softmax`, `F.softmax`, `Functional.softmax.0.forward`; None
    where it is no operator of this network, or several."""
    parts = re.split(r"[.\s:,;/]+", as_typed(name).lower())
    operators = {operator for operator, names in OPERATORS.items() if set(parts) & set(names)}
    return operators.pop() if len(operators) == 1 else None


TASK = Task("fault", "precision", check, needs=("npu-simulated",), seconds=10)
