"""A case run and judged: right where the first event is of the label's kind, with its detail, at its step."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ascend_workbook.precision.state import events
from ascend_workbook.precision.state.judge import Event
from tests.precision.state import cases, running
from tests.precision.state.cases import Case

NAMES = ("right", "near", "wrong", "missed")
#: What a label's detail asks of an event.
DETAILS = {
    "one": lambda event: len(event.names) <= 4,
    "stale": lambda event: event.detail == "stale",
    "factor": lambda event: event.detail in ("factor", "read_factor"),
    "zero": lambda event: event.detail == "zero",
    "scaled": lambda event: event.detail == "scaled",
}


@dataclass(frozen=True)
class Verdict:
    case: Case
    outcome: str
    words: str


def judge_case(case: Case, root: Path, simulated: running.Simulated | None = None) -> Verdict:
    """Record the target's side and hold it against the baseline's."""
    place = root / case.half / case.name.replace(" ", "_").replace(":", "").replace("/", "_").replace("'", "")
    base = root / ("baseline" if case.draws == "device" else "baseline_host") / case.recipe
    try:
        running.record_once(base, case.recipe, seed=case.seed, draws=case.draws)
        if simulated is not None and case.device != "cpu":
            running.record_once(
                place, case.recipe, case.fault, case.start, "none", case.seed, case.draws, record=simulated.record
            )
        else:
            running.record_once(place, case.recipe, case.fault, case.start, case.noise, case.seed)
    except RuntimeError as error:  # the corpus is wrong, and not what is judged
        return Verdict(case, "broken", str(error).strip().splitlines()[-1])
    found = events.judge_folders(base, place)
    words = "; ".join(map(describe_event, found))
    first = found[0] if found else None
    if not case.fault:
        return Verdict(case, "flagged" if first else "quiet", words)
    if first is None:
        return Verdict(case, "missed", "")
    label = case.label
    right_kind = first.kind in label.kinds
    detail = DETAILS[label.detail](first) if label.detail in DETAILS else True
    wanted = cases.first_step(case)
    if right_kind and detail and wanted in (None, first.step):
        return Verdict(case, "right", words)
    near = right_kind or first.kind in label.near or any(event.kind in label.kinds for event in found)
    return Verdict(case, "near" if near else "wrong", words)


def describe_event(event: Event) -> str:
    place = Path(event.place).name
    names, args = list(event.names)[:3], dict(event.args)
    return f"{event.step} {event.kind}.{event.detail} {names} {args} {place} {event.side}"
