"""P1. Why does a model of seven billion parameters not fit a card of 64 GB? Numbers by hand, then a change that helps.

Judged by rehearsals: the numbers are held against the memory by kind of the training that does not fit, the change is
rehearsed on eight cards.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import LANGUAGES, Sentence, say
from ascend_workbook.planning.rehearsal.memory import KINDS
from course.exercises.data import as_typed
from course.exercises.patience import is_shared
from course.exercises.rehearsing import (
    Values,
    judge_fit,
    list_words,
    memory_by_kind,
    read_arguments,
    rehearse_script,
)
from course.exercises.task import PLANNING, Found, Place, Point, Task

ORDER = 7
#: The training that does not fit, and the cards it shall fit on.
ARGUMENTS = ("--size", "7b", "--seq-length", "2048")
CARDS = 8
NUMBERS = ("weights", "gradients", "optimizer", "temporary")
FIELDS = (*NUMBERS, "breaks", "change")
#: What may be changed; the model, its format and the length of its texts stay.
OPTIONS: Values = {
    "--parallel": ("none", "ddp", "fsdp"),
    "--recompute": (),
    "--batch-size": None,
    "--gradient-accumulation-steps": None,
    "--size": ("7b",),
    "--seq-length": ("2048",),
    "--dtype": ("bfloat16",),
}
#: Of a number, how far it may be from the rehearsal's: a count of parameters without the norms is as good.
APART = 0.02
#: GiB to GB of 10^9.
GB = 2**30 / 10**9
#: What a wrong number often is of the right one.
FACTORS = (0.25, 0.5, 2.0, 4.0)


def check(answer: object, place: Place) -> Found:
    if not isinstance(answer, dict) or any(name not in answer for name in FIELDS):
        raise WorkbookError("course.fit.fields", fields=list(FIELDS), given=type(answer).__name__)
    numbers = {name: _read_number(name, answer[name]) for name in NUMBERS}
    breaks, change = read_kind(answer["breaks"]), read_arguments(answer["change"], OPTIONS)
    alone, spread = _rehearse_both(change, place.folder)
    needed = memory_by_kind(alone)
    if alone.facts["needed_bytes"] is None or not needed:
        raise WorkbookError("course.run.reference", why=judge_fit(alone)[1])
    points = [*(_judge_number(name, number, needed[name]) for name, number in numbers.items())]
    return Found.of_points([*points, _judge_breaks(breaks, alone, needed), judge_fit(spread)], simulated=True)


def _rehearse_both(change: dict[str, str], folder: Path) -> tuple[Report, Report]:
    """Rehearse the training as it is on one card and as it was changed on all, both at a time where that may be."""
    with ThreadPoolExecutor(1 if is_shared() else 2) as pool:
        alone = pool.submit(rehearse_script, ARGUMENTS, folder / "one_card")
        changed = (*ARGUMENTS, *list_words(change))
        spread = pool.submit(rehearse_script, changed, folder / "all_cards", cards=CARDS)
        return alone.result(), spread.result()


def _read_number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        raise WorkbookError("course.fit.number", field=name, given=str(value)[:40])
    return float(value)


def read_kind(value: object) -> str:
    """Return the kind of memory of this name, as the report calls it in either language, or as a fact does."""
    names = {kind: {kind, *(say(f"rehearsal.kind.{kind}", lang).lower() for lang in LANGUAGES)} for kind in KINDS}
    typed = as_typed(str(value)).lower()
    kind = next((kind for kind, known in names.items() if typed in known), None)
    if kind is None:
        raise WorkbookError("course.fit.kind", given=typed[:40], known=list(KINDS))
    return kind


def _judge_number(name: str, number: float, seen: float) -> Point:
    kind, typed = Sentence(f"rehearsal.kind.{name}"), f"{number:.4g}"
    if abs(number / seen - 1) <= APART:
        return True, Sentence("course.fit.right", kind=kind, given=typed, seen=f"{seen:.4g}")
    if number > 1000:
        return False, Sentence("course.fit.unit", kind=kind, given=typed)
    if abs(number / (seen * GB) - 1) <= APART / 2:
        return False, Sentence("course.fit.gb", kind=kind, given=typed)
    factor = next((factor for factor in FACTORS if abs(number / (seen * factor) - 1) <= APART), None)
    if factor is not None:
        return False, Sentence("course.fit.factor", kind=kind, given=typed, factor=f"{factor:g}")
    key = "course.fit.too_much" if number > seen else "course.fit.too_little"
    return False, Sentence(key, kind=kind, given=typed)


def _judge_breaks(typed: str, alone: Report, needed: dict[str, float]) -> Point:
    """Judge the kind that lacks most when the memory runs out, of what it takes on a card without a limit."""
    held = {kind: size / 2**30 for kind, size in alone.facts["ranks"][0]["by_kind"].items()}
    lacks = max(needed.keys() & held.keys(), key=lambda kind: needed[kind] - held[kind])
    kind = Sentence(f"rehearsal.kind.{typed}")
    if typed == lacks:
        sizes = {"held": f"{held[lacks]:.4g}", "needed": f"{needed[lacks]:.4g}"}
        return True, Sentence("course.fit.breaks", kind=kind, **sizes)
    return False, Sentence("course.fit.breaks_not", kind=kind)


TASK = Task("fit", "planning", check, needs=("npu-simulated",), seconds=240, notebook=PLANNING)
