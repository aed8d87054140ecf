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
from typing import Any

from helpers.course.data import as_typed
from helpers.course.drawing import number, pick
from helpers.course.editing import SCRIPTS
from helpers.course.task import Found, Place, Sentence, Task, sentence
from helpers.precision.capture import capture
from helpers.precision.capturing import manifest
from helpers.report import Report

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


def drawn(student: str) -> Fault:
    """The first step is never it: whoever looks at that one alone finds nothing."""
    step = 2 + number(student, "fault.step", STEPS - 1)
    return Fault(pick(student, "fault", list(OPERATORS)), step, number(student, "fault.rank", RANKS))


def evidence(folder: Path, student: str) -> tuple[Path, Path]:
    """Captures the healthy run and the one with the fault, on two ranks: the folders `baseline` and `target`."""
    sides = {"baseline": ("baseline", {}), "target": ("npu-simulated", {SETTING: drawn(student).setting})}
    with ThreadPoolExecutor(len(sides)) as pool:
        reports = list(pool.map(lambda name: _captured(folder / name, *sides[name]), sides))
    for report in reports:
        report.or_raise()
    return folder / "baseline", folder / "target"


def _captured(out: Path, device: str, settings: Mapping[str, str]) -> Report:
    return capture(SCRIPTS / "course_net.py", out=out, device=device, settings=settings, steps=STEPS, nproc=RANKS,
                   dump_steps=tuple(range(STEPS)), estimate=False, force=True)  # fmt: skip


def check(answer: Any, place: Place) -> Found:
    given, trouble = _given(answer)
    if trouble:
        return Found(missing=(trouble,))
    fault = drawn(place.student)
    _same_student(place, fault)
    right = [given["operator"] == fault.operator, given["step"] == fault.step, given["rank"] == fault.rank]
    if all(right):
        told = sentence("course.fault.found", operator=fault.operator, step=fault.step, rank=fault.rank)
        return Found((told,), simulated=True)
    count = sentence("course.fault.count", count=sum(right))
    return Found(missing=(count,), simulated=True)


def _same_student(place: Place, fault: Fault) -> None:
    """What was captured beside must be this student's fault. Raises WorkbookError or ValueError where it is not."""
    kept = manifest.load(place.folder / "target")
    faults = kept.about.get("simulator", {}).get("faults", []) if kept else []
    if faults and faults != [fault.setting]:
        raise ValueError("the captures beside are of another student: run the cell that makes them again")


def _given(answer: Any) -> tuple[dict[str, Any], Sentence | None]:
    if not isinstance(answer, dict) or any(name not in answer for name in FIELDS):
        return {}, sentence("course.fault.fields", fields=list(FIELDS), given=type(answer).__name__)
    whole = {name: _whole(answer[name]) for name in FIELDS[1:]}
    for name, value in whole.items():
        if value is None:
            return {}, sentence("course.fault.number", field=name, given=str(answer[name])[:40])
    known = operator_of(str(answer["operator"]))
    if known is None:
        return {}, sentence("course.fault.operator", given=str(answer["operator"])[:80])
    return {**whole, "operator": known}, None


def _whole(value: Any) -> int | None:
    """3 and 3.0, which a table's column may give."""
    if type(value) is float and value.is_integer():
        return int(value)
    return value if type(value) is int else None


def operator_of(name: str) -> str | None:
    """`softmax`, `aten::_softmax`, `F.softmax`, `Functional.softmax.0.forward`: the simulator's name; None where it is
    none of this network's operators, or several."""
    parts = re.split(r"[.\s:,;/]+", as_typed(name).lower())
    found = {operator for operator, names in OPERATORS.items() if set(parts) & set(names)}
    return found.pop() if len(found) == 1 else None


TASK = Task("fault", "precision", check, needs=("npu-simulated",), seconds=10)
