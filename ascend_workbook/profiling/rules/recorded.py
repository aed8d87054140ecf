"""What was recorded, and whether it can be used."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.rules import CannotCheck
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.profiling.facts import UNREAD, Profile
from ascend_workbook.profiling.figures import to_percent
from ascend_workbook.profiling.trace import ON_DEVICE, Looked

BASIS = {
    "PRF301": "observed",
    "PRF302": "facts",
    "PRF303": "reasoned",
    "PRF304": "facts",
    "PRF305": "facts",
    "PRF306": "observed",
    "PRF307": "defined",
    "PRF308": "facts",
}
#: Of a rank that was looked at in other steps than the other ranks
OTHERS = ("PRF302.others", "PRF302.others_unmarked", "PRF302.clocks")
ALLOWED = 0.2
ALLOWED_NS = 1000


def check_device_data(profile: Profile) -> Iterator[Finding]:
    """Were times of the device recorded at all? The profilers swallow their errors, and a simulator's are the CPU's."""
    kernels = profile.trace.count_events("compute")
    args: dict[str, Scalar] = {"kernels": kernels, "operators": profile.trace.count_events("host_op")}
    if profile.simulated:
        yield Finding("PRF301", Status.NOT_LOOKED, "PRF301.simulated" if kernels else "PRF301.simulated_host", args)
    elif profile.tier == "cpu" and args["operators"]:
        yield Finding("PRF301", Status.GOOD, "PRF301.cpu", args)
    elif not profile.trace.on_device:
        yield Finding("PRF301", Status.NOT_LOOKED, "PRF301.absent", args)
    else:
        yield Finding("PRF301", Status.GOOD, "PRF301.there", args)


def check_steps(profile: Profile) -> Iterator[Finding]:
    """Are steps marked, which of them were looked at, and was the first one left out as warm-up? torch marks a step
    where the script, or who runs it, calls `profiler.step()`."""
    steps = profile.breakdown.steps
    for remark in profile.trace.remarks:
        yield Finding("PRF302", Status.LOOK if remark.key in OTHERS else Status.NOTE, remark.key, remark.args)
    if profile.trace.looked:
        yield from _report_chosen_steps(profile, profile.trace.looked)
    elif not profile.trace.marked:
        yield Finding("PRF302", Status.NOTE, "PRF302.unmarked")
    elif len(steps) < 3:
        yield Finding("PRF302", Status.NOTE, "PRF302.few", {"steps": len(steps)})
    else:
        args: dict[str, Scalar] = {"steps": len(steps), "first_ms": profile.to_ms(steps[0].total_ns)}
        args["step_ms"] = profile.to_ms(profile.breakdown.step_ns)
        yield Finding("PRF302", Status.GOOD, "PRF302.first", args)


def _report_chosen_steps(profile: Profile, looked: Looked) -> Iterator[Finding]:
    """Report which steps of a profile were looked at, and how like the others they are."""
    steps, steady, args = profile.breakdown.steps, profile.breakdown.steady, args_of(profile, looked)
    if not profile.trace.leads_in:
        args.update(first_ms=profile.to_ms(steps[0].total_ns), steady=steady[0].number)
    key = "some" if profile.trace.leads_in else "warming" if len(steady) < len(steps) else "cold"
    yield Finding("PRF302", Status.NOTE, f"PRF302.{key}", args)
    if looked.behind:
        yield Finding("PRF302", Status.LOOK, "PRF302.behind", args)


def args_of(profile: Profile, looked: Looked) -> dict[str, Scalar]:
    """Return of the chosen steps which of how many they are, their mean, that of all, the slowest of the others."""
    args: dict[str, Scalar] = {"first": looked.first, "last": looked.last, "steps": looked.steps}
    args.update(step_ms=profile.to_ms(profile.breakdown.step_ns), mean_ms=profile.to_ms(looked.mean_ns))
    args.update(slowest=looked.slowest, slowest_ms=profile.to_ms(looked.slowest_ns))
    return args


def check_spread(profile: Profile) -> Iterator[Finding]:
    """Are the steps alike? Where they are not, the mean of a few slow ones is no usual step."""
    steady = sorted(profile.breakdown.steady, key=lambda step: step.total_ns)
    if len(steady) < 3:
        raise CannotCheck("PRF303.few", steps=len(steady))
    slowest, middle = steady[-1], profile.breakdown.median_ns
    args: dict[str, Scalar] = {"step": slowest.number, "slowest_ms": profile.to_ms(slowest.total_ns)}
    args["step_ms"] = profile.to_ms(middle)
    slow = sum(step.total_ns > (1 + ALLOWED) * middle for step in steady)
    args |= {"slow": slow, "steps": len(steady), "mean_ms": profile.to_ms(profile.breakdown.step_ns)}
    apart = slow > 0
    yield Finding("PRF303", Status.NOTE if apart else Status.GOOD, "PRF303.apart" if apart else "PRF303.alike", args)


def check_usable(profile: Profile) -> Iterator[Finding]:
    """Could every event be used? One without a time, or with a negative one, is left out and counted; of a file that
    was cut short, what is whole is read. Steps whose numbers do not rise with time tell of a clock that went back. A
    slower reader gives the same, and is told."""
    for reason, count in sorted(profile.trace.left_out.items()):
        yield Finding("PRF304", Status.LOOK, f"PRF304.{reason}", {"count": count, "events": len(profile.trace)})
    steps = profile.trace.steps
    back = next((later.number for earlier, later in zip(steps, steps[1:]) if later.number < earlier.number), None)
    if back is not None and profile.trace.marked:
        yield Finding("PRF304", Status.LOOK, "PRF304.backwards", {"step": back})
    again = [later.number for earlier, later in zip(steps, steps[1:]) if later.number == earlier.number]
    if again and profile.trace.marked:
        yield Finding("PRF304", Status.LOOK, "PRF304.same_number", {"step": again[0], "count": len(again) + 1})
    twice = _count_twice(profile)
    if twice:
        args_twice: dict[str, Scalar] = {"count": twice, "events": len(profile.trace)}
        yield Finding("PRF304", Status.LOOK, "PRF304.twice", args_twice)
    if profile.trace.cut_at is not None:
        args: dict[str, Scalar] = {"byte": profile.trace.cut_at, "events": len(profile.trace)}
        if profile.trace.damage:
            yield Finding("PRF304", Status.LOOK, "PRF304.damaged", {**args, "why": profile.trace.damage})
        else:
            yield Finding("PRF304", Status.LOOK, "PRF304.cut_short", {**args, "path": profile.trace.source})
    if profile.trace.slower:
        yield Finding("PRF304", Status.NOTE, "PRF304.slower", {"reason": profile.trace.slower})
    missing = _missing_tables(profile)
    if missing:
        yield Finding("PRF304", Status.LOOK, "PRF304.no_table", {"path": profile.trace.source, "tables": missing})
    if profile.trace.cut_at is None and not (profile.trace.left_out or missing or again or twice):
        yield Finding("PRF304", Status.GOOD, "PRF304.all", {"events": len(profile.trace)})


def _count_twice(profile: Profile) -> int:
    """Count the device's events that the file holds once more: of the same name, stream and time."""
    trace = profile.trace
    rows = np.flatnonzero(trace.where(ON_DEVICE) & (trace.duration_ns > 0))
    rows = rows[np.argsort(trace.start_ns[rows], kind="stable")]
    same_start = np.diff(trace.start_ns[rows]) == 0
    rows = rows[np.append(same_start, False) | np.insert(same_start, 0, False)] if rows.size else rows
    columns = (trace.lane, trace.name, trace.duration_ns, trace.start_ns)
    rows = rows[np.lexsort([column[rows] for column in columns])]
    return int(np.logical_and.reduce([np.diff(column[rows]) == 0 for column in columns]).sum())


def _missing_tables(profile: Profile) -> list[Scalar]:
    """Return which tables of a device's work its database lacks."""
    missing = profile.trace.about.get("missing_tables")
    return list(missing) if isinstance(missing, list) else []


def check_shapes(profile: Profile) -> Iterator[Finding]:
    """Were input shapes recorded? Without them an operator's cost can't be laid to the size of its work."""
    there = any(profile.trace.shapes)
    yield Finding("PRF305", Status.GOOD if there else Status.NOTE, "PRF305.there" if there else "PRF305.absent")


def check_agreement(profile: Profile) -> Iterator[Finding]:
    """Does the breakdown agree with the profiler's own table? torch_npu writes step_trace_time.csv beside its timeline.
    Both come from the same events, so where they part one of them is wrong: an unknown kind of task, or a timeline that
    was cut."""
    step_of_number = {step.number: step for step in profile.breakdown.steps}
    shared = [(step_of_number[number], row) for number, row in profile.told.items() if number in step_of_number]
    differences = {step.number: abs(step.parts_ns["computing"] - row["Computing"]) for step, row in shared}
    apart = {number: difference for number, difference in differences.items() if difference > ALLOWED_NS}
    if apart:
        worst = max(apart, key=apart.__getitem__)
        args = {"steps": len(apart), "of": len(shared), "step": worst, "apart_ms": profile.to_ms(apart[worst])}
        yield Finding("PRF306", Status.LOOK, "PRF306.apart", dict(args))
    elif shared:
        yield Finding("PRF306", Status.GOOD, "PRF306.same", {"steps": len(shared)})


def check_whole(profile: Profile) -> Iterator[Finding]:
    """Did the recording end as it should? `profile` and `recording` write how into the record beside the data; one that
    was killed leaves the record of a recording that still runs."""
    ended, unread = profile.record.get("status"), profile.record.get(UNREAD)
    if isinstance(unread, Sentence):
        yield Finding("PRF307", Status.LOOK, "PRF307.unread", {"error": unread})
    elif ended == "complete":
        yield Finding("PRF307", Status.GOOD, "PRF307.whole")
    elif ended:
        yield Finding("PRF307", Status.LOOK, "PRF307.failed" if ended == "failed" else "PRF307.running")


def check_devices(profile: Profile) -> Iterator[Finding]:
    """Are kernels of several devices in one trace? One process with several cards (DataParallel) records them together.
    A part of the step then goes on where at least one device is at it, and free is what all of them rest: two devices
    that compute in turns look like one that never rests. So each device's own share is told, and causes of idle time
    are not."""
    trace, steady = profile.trace, profile.breakdown.steady
    if len(trace.devices) < 2:
        return
    device, kernels = trace.device_of(), trace.where(("compute",))
    total = sum(step.total_ns for step in steady)
    shares: list[Scalar] = []
    for number in trace.devices:
        at_work = trace.intervals_of(kernels & (device == number))
        busy = sum(at_work.clip_to(step.start_ns, step.end_ns).length_ns for step in steady)
        shares.append(Sentence("profiling.device_share", device=number or "-", share=round(100 * busy / total, 1)))
    together = to_percent(profile.breakdown.share_of("computing"))
    args: dict[str, Scalar] = {"count": len(trace.devices), "devices": shares, "together": together}
    yield Finding("PRF308", Status.LOOK, "PRF308.several", args)


RULES = {
    "PRF301": check_device_data,
    "PRF302": check_steps,
    "PRF303": check_spread,
    "PRF304": check_usable,
    "PRF305": check_shapes,
    "PRF306": check_agreement,
    "PRF307": check_whole,
    "PRF308": check_devices,
}
