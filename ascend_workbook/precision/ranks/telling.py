"""Findings of what ranks contradict each other in: of a comparison's side, or of one capture alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.precision.ranks.laws import Fault

SHOWN = 3
#: Rules of faults, by their kinds.
COPIES = ("copies_weight", "copies_gradient", "copies_update", "copies_optimizer_state", "copies_buffer")
RULE_OF = {**dict.fromkeys(COPIES, "ACC221"), "reduced": "ACC222", "result": "ACC223", "order": "ACC224"}
RULE_OF["absent"] = RULE_OF["one_side"] = "ACC224"
#: The stages of a step, in which what is told stands before what follows from it. A forward pass reads a part of a mean
#: (a loss) where nothing is wrong too: then what else there is, is the cause.
STAGES = """
samples copies_weight order absent one_side result partial copy reduced copies_gradient copies_optimizer_state
copies_update copies_buffer partial_late partial_mean
""".split()  # noqa: SIM905 - a column of names reads better without quotes
#: Weights of what ranks contradict each other in, above those of one operator: the first, the span, room for stages.
FIRST, SPAN, MOST_STAGES = 620.0, 60.0, 20
#: What a run begins with stands above initial weights that differ from the other side's, which follow from it.
AT_START = 20.0


def weigh_stage(step: int, stage: str, at: int = 0) -> float:
    """A finding's weight: earlier steps first, within one the stages in their order, then as they are told (`at`)."""
    order = step + 1 + (STAGES.index(stage) + at / 10) / MOST_STAGES
    began = step <= 0 and STAGES.index(stage) <= STAGES.index("copies_weight")
    return FIRST - SPAN * order / (1 + order) + (AT_START if began else 0.0)


def tell_fault(fault: Fault, rule: str, root: Path | None, side: Scalar, at: int = 0) -> Finding:
    """Say a fault; `root` is the script's folder, `side` says whose ranks they are."""
    args: dict[str, Scalar] = {**fault.args, "step": fault.step, "ranks": [*fault.ranks], "side": side}
    args["names"] = [*fault.names[:SHOWN]] or "-"
    args["place"] = _shorten(fault.place, root) or "-"
    if "other_place" in args:
        args["other_place"] = _shorten(str(args["other_place"]), root)
    key = f"{rule}.{fault.kind}_{fault.detail}" if fault.detail else f"{rule}.{fault.kind}"
    status = Status.LOOK if fault.detail == "coarse" or fault.kind == "one_side" else Status.FIX
    weight = weigh_stage(fault.step, fault.kind, at)
    return Finding(rule, status, key, args, place_of(fault.place, root), weight=weight)


def tell_faults(faults: Iterable[Fault], root: Path | None, side: Scalar) -> Iterator[Finding]:
    """Say of each rule the faults of the earliest step that has any."""
    by_rule: dict[str, list[Fault]] = {}
    for fault in faults:
        by_rule.setdefault(RULE_OF[fault.kind], []).append(fault)
    for rule, own in by_rule.items():
        for at, fault in enumerate([fault for fault in own if fault.step == own[0].step][:SHOWN]):
            yield tell_fault(fault, rule, root, side, at)


def _shorten(text: str, root: Path | None) -> str:
    place = place_of(text, root)
    return str(place) if place else text


def place_of(text: str, root: Path | None) -> Place | None:
    """Read `path:line`, the path below the script's folder; None where it is no such text."""
    path, _, line = text.rpartition(":")
    if not line.isdigit():
        return None
    try:
        name = str(Path(path).relative_to(root)) if root else path
    except ValueError:
        name = path
    return Place(name, int(line))
