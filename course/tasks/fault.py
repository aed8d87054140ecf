"""C. Two trainings that should be the same: name the operator, the step and the rank where they part first.

The fault is put into the simulated NPU and drawn from the student's name. How many of the three are right is told, not
which, so that trying one after the other is no shorter than looking.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.precision.capture import capture
from ascend_workbook.precision.capturing import manifest
from course.data import as_typed
from course.drawing import draw_number, pick_one
from course.editing import SCRIPTS
from course.task import Found, Place, Task

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
    with ThreadPoolExecutor(len(sides)) as pool:
        reports = list(pool.map(lambda name: _capture_run(folder / name, *sides[name]), sides))
    for report in reports:
        report.or_raise()
    return folder / "baseline", folder / "target"


def _capture_run(out: Path, device: str, settings: Mapping[str, str]) -> Report:
    return capture(
        SCRIPTS / "course_net.py",
        out=out,
        device=device,
        settings=settings,
        steps=STEPS,
        nproc=RANKS,
        dump_steps=tuple(range(STEPS)),
        estimate=False,
        force=True,
    )


def check(answer: object, place: Place) -> Found:
    submitted, trouble = _read_answer(answer)
    if trouble:
        return Found(missing=(trouble,))
    fault = draw_fault(place.student)
    _same_student(place, fault)
    right = [submitted[name] == value for name, value in vars(fault).items()]
    if all(right):
        return Found((Sentence("course.fault.found", **vars(fault)),), simulated=True)
    return Found(missing=(Sentence("course.fault.count", count=sum(right)),), simulated=True)


def _same_student(place: Place, fault: Fault) -> None:
    """Raise WorkbookError or ValueError where what was captured beside is not this student's fault."""
    captured = manifest.load_manifest(place.folder / "target")
    faults = captured.about.get("simulator", {}).get("faults", []) if captured else []
    if faults and faults != [fault.setting]:
        raise ValueError("the captures beside are of another student: run the cell that makes them again")


def _read_answer(answer: object) -> tuple[dict[str, object], Sentence | None]:
    if not isinstance(answer, dict) or any(name not in answer for name in FIELDS):
        return {}, Sentence("course.fault.fields", fields=list(FIELDS), given=type(answer).__name__)
    whole = {name: _read_whole(answer[name]) for name in FIELDS[1:]}
    for name, value in whole.items():
        if value is None:
            return {}, Sentence("course.fault.number", field=name, given=str(answer[name])[:40])
    known = operator_of(str(answer["operator"]))
    if known is None:
        return {}, Sentence("course.fault.operator", given=str(answer["operator"])[:80])
    return {**whole, "operator": known}, None


def _read_whole(value: object) -> int | None:
    """Return a whole number, of 3 as of 3.0, which a table's column may give."""
    if type(value) is float and value.is_integer():
        return int(value)
    return value if type(value) is int else None


def operator_of(name: str) -> str | None:
    """Return the simulator's name of `softmax`, `aten::_softmax`, `F.softmax`, `Functional.softmax.0.forward`; None
    where it is no operator of this network, or several."""
    parts = re.split(r"[.\s:,;/]+", as_typed(name).lower())
    operators = {operator for operator, names in OPERATORS.items() if set(parts) & set(names)}
    return operators.pop() if len(operators) == 1 else None


TASK = Task("fault", "precision", check, needs=("npu-simulated",), seconds=10)
