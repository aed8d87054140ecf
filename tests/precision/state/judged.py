"""A case run and judged: right where the first event is of the label's kind, with its detail, at its step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from ascend_workbook.precision.capturing.manifest import load_manifest
from ascend_workbook.precision.comparison import Side
from ascend_workbook.precision.experiment import differences
from ascend_workbook.precision.ranks.copies import check_copies
from ascend_workbook.precision.ranks.reading import Record, read_records
from ascend_workbook.precision.ranks.sides import Joined, Ranks
from ascend_workbook.precision.state import events
from ascend_workbook.precision.state.judge import Event
from ascend_workbook.precision.state.reading import States, read_states
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
    found = judge_folders(base, place)
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


def join_copies(states: tuple[States, States], records: tuple[dict[int, Record], dict[int, Record]]) -> Joined:
    """What `compare` knows of the copies of both sides' ranks."""
    sides = [Side(Path(), {}, None, states=own) for own in states]
    ranks = [
        Ranks(len(own.ranks), faults=tuple(check_copies(record, own, other)))
        for own, other, record in zip(states, reversed(states), records)
    ]
    return Joined(sides[0], sides[1], (ranks[0], ranks[1]))


def judge_folders(baseline: Path, target: Path) -> list[Event]:
    """The events of two captures' first rank, data and copies that differ among them; the earliest first."""
    left, right = load_manifest(baseline), load_manifest(target)
    discrepancies = differences(left, right)
    states = read_states(baseline), read_states(target)
    judged = events.judge_states(*states, events.known_conditions(left, right, discrepancies, states=states))
    joined = join_copies(states, (read_records(baseline), read_records(target)))
    kept = [event for rank in judged for event in joined.drop_consequences(rank, math.inf).events]
    kept += [
        Event(fault.step, "ranks", fault.kind[len("copies_") :], fault.names, fault.args, fault.place, side)
        for side, part in zip(("baseline", "target"), joined.ranks)
        for fault in part.faults
        if fault.kind.startswith("copies_")
    ]
    found = sorted(kept, key=lambda event: (event.step, event.kind not in ("random", "ranks")))
    data = [
        Event(int(part.name), "data", part.fact)
        for part in discrepancies
        if part.fact in events.OF_DATA and part.name.isdigit()
    ]
    return [*data, *found] if data and (not found or data[0].step <= found[0].step) else found


def describe_event(event: Event) -> str:
    place = Path(event.place).name
    names, args = list(event.names)[:3], dict(event.args)
    return f"{event.step} {event.kind}.{event.detail} {names} {args} {place} {event.side}"
