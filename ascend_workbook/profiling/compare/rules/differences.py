"""Whether the two profiles are of the same work, and what the difference consists of."""

from __future__ import annotations

from collections.abc import Iterator

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.rules import CannotCheck
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.profiling.compare.costs import HIDDEN, OPTIMIZER, REST
from ascend_workbook.profiling.compare.facts import JOINED, KERNELS, ONLY_BASELINE, ONLY_TARGET, Comparison, Row
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.figures import to_percent
from ascend_workbook.profiling.rules.recorded import args_of

BASIS = {f"PRF38{digit}": "reasoned" if digit in (1, 3) else "facts" for digit in (1, 2, 3, 4, 5, 6, 8)}
WORTH, MOST = 0.02, 8
NAMED = 3
#: Of the difference; and of the baseline's step, below which nothing is worth a word
SHARE, SMALL = 0.1, 0.01


def check_causes(comparison: Comparison) -> Iterator[Finding]:
    """What the difference is made of, the greatest first: rows that differ by 2 % of the baseline's step or more."""
    step = comparison.baseline.step_ns
    rows = [row for row in comparison.operators if row.name not in (HIDDEN, REST)]
    rows = [row for row in rows if abs(row.difference_ns) >= WORTH * step][:MOST]
    if not rows:
        yield Finding("PRF386", Status.GOOD, "PRF386.none", {"share": 100 * WORTH})
    for row in rows:
        slower = row.difference_ns > 0
        args: dict[str, Scalar] = {
            "name": display_name(row),
            "ms": abs(row.difference_ns) / 1e6,
            "of_step": 100 * abs(row.difference_ns) / step,
        }
        args |= {"baseline_ms": row.baseline.ns / 1e6, "target_ms": row.target.ns / 1e6}
        key = f"PRF386.{'slower' if slower else 'faster'}"
        yield Finding("PRF386", Status.NOTE if slower else Status.GOOD, key, args, weight=abs(row.difference_ns) / 1e6)


def display_name(row: Row) -> Scalar:
    """Return a row's name as a reader sees it."""
    if row.pairing == JOINED:
        family = row.name.partition(".")[2]
        if family.startswith(KERNELS):
            return Sentence("compare.kernels", family=Sentence(f"timeline.family.{family[len(KERNELS) :]}"))
        return Sentence(f"compare.family.{family}")
    return Sentence(f"compare.{row.name}") if row.name.startswith("row.") else row.name


def check_one_sided(comparison: Comparison) -> Iterator[Finding]:
    """What runs on one side alone: another kernel library, a fallback, a fusion that is not known here, or other
    code."""
    sides = {
        word: [row for row in comparison.real_rows if row.pairing == word] for word in (ONLY_BASELINE, ONLY_TARGET)
    }
    for word, rows in sides.items():
        if rows:
            total = sum(row.baseline.ns + row.target.ns for row in rows) / 1e6
            args: dict[str, Scalar] = {"operators": len(rows), "ms": total, "names": [row.name for row in rows[:NAMED]]}
            yield Finding("PRF384", Status.NOTE, f"PRF384.{word}", args, weight=total)
    if not any(sides.values()):
        yield Finding("PRF384", Status.GOOD, "PRF384.none")
    for row in comparison.real_rows:
        if row.pairing == JOINED:  # one operator on one side, several on the other
            args = {"family": display_name(row), "names": list(row.names[:NAMED])}
            args |= {"operators": len(row.names), "ms": row.difference_ns / 1e6}
            yield Finding("PRF384", Status.GOOD, "PRF384.joined", args)


def check_spread(comparison: Comparison) -> Iterator[Finding]:
    """Is the difference larger than that between steps of one side? If not, it may be chance."""
    sides = (comparison.baseline.profile, comparison.target.profile)
    if max(len(profile.breakdown.steady) for profile in sides) < 2:
        raise CannotCheck("PRF383.one_step")
    spread = comparison.spread_ns()
    args = {"spread_ms": spread / 1e6, "difference_ms": abs(comparison.difference_ns) / 1e6}
    within = abs(comparison.difference_ns) <= spread
    status, key = (Status.NOTE, "within") if within else (Status.GOOD, "beyond")
    yield Finding("PRF383", status, f"PRF383.{key}", dict(args))


def check_unexplained(comparison: Comparison) -> Iterator[Finding]:
    """How much of the difference no row explains: work that the profile shows on the device but in no step's window."""
    rest = next(row.difference_ns for row in comparison.operators if row.name == REST)
    share = abs(rest) / abs(comparison.difference_ns) if comparison.difference_ns else 0.0
    large = share > SHARE and abs(rest) > SMALL * comparison.baseline.step_ns
    args = {"ms": rest / 1e6, "share": 100 * share}
    yield Finding(
        "PRF385", Status.NOTE if large else Status.GOOD, f"PRF385.{'much' if large else 'little'}", dict(args)
    )


#: Of the rows of `describe_recording`, those that only one side may have without the times being others
HARMLESS = ("steps", "tier")
#: Of the operators' time, a side's share without a partner from which it is likely another model
OTHER_MODEL = 0.5
#: Shapes of operators that take less of their side than this are not told
TOLD = 0.01
MORE_CALLS = 1.5
#: One row however it is done: for each parameter or for all at once
STEP = OPTIMIZER[:-1]
MOVES = ("collective ", "copy", "aten::copy_", "aten::to")


def check_recorded(comparison: Comparison) -> Iterator[Finding]:
    """Was the same recorded? Python's stacks and the device's counters cost time themselves, so a profile with them is
    slower than one without; a file cut short, or one step alone, weighs less."""
    left, right = (describe_recording(side.profile) for side in (comparison.baseline, comparison.target))
    differing = [name for name in left if name not in HARMLESS and bool(left[name]) != bool(right[name])]
    if differing:
        named = [Sentence(f"compare.recorded.{name}") for name in differing]
        yield Finding("PRF382", Status.NOTE, "PRF382.apart", {"what": list(named)})
    else:
        yield Finding("PRF382", Status.GOOD, "PRF382.same")
    few = min(len(side.profile.breakdown.steady) for side in (comparison.baseline, comparison.target))
    if few < 2:
        yield Finding("PRF382", Status.NOTE, "PRF382.one_step")


def describe_recording(profile: Profile) -> dict[str, str | int | bool]:
    """Return what a reader wants to know of each side before its times."""
    trace = profile.trace
    return {
        "tier": profile.tier,
        "steps": len(profile.breakdown.steady),
        "marked": trace.marked,
        "device": trace.on_device,
        "python": trace.count_events("python") > 0,
        "shapes": bool((trace.shape > 0).any()),
        "memory": trace.memory_records > 0,
        "whole": trace.cut_at is None,
    }


def check_looked(comparison: Comparison) -> Iterator[Finding]:
    """Were all steps of both sides looked at? Of a large trace some are enough, but then these are what is compared."""
    sides = {"baseline": comparison.baseline.profile, "target": comparison.target.profile}
    for name, profile in sides.items():
        if looked := profile.trace.looked:
            args = {**args_of(profile, looked), "side": Sentence(f"name.compare_{name}")}
            yield Finding("PRF388", Status.NOTE, "PRF388.some", args)
            if looked.behind:
                yield Finding("PRF388", Status.LOOK, "PRF388.behind", args)


def check_same_work(comparison: Comparison) -> Iterator[Finding]:
    """Is it the same work? Operators that one side alone has, other shapes, many more calls: then a difference of times
    is no difference of devices. Fusing and other kernels change operators too, so what is told is how much of the time
    has a partner."""
    alone = [_share_alone(comparison.real_rows, left) for left in (True, False)]
    if max(alone) > OTHER_MODEL:
        args: dict[str, Scalar] = {"baseline": to_percent(alone[0]), "target": to_percent(alone[1])}
        yield Finding("PRF381", Status.LOOK, "PRF381.other_model", args, weight=900.0)
        return
    known = [row for row in comparison.real_rows if row.baseline.shapes and row.target.shapes]
    if not known:
        raise CannotCheck("PRF381.no_shapes")
    differing = [
        row
        for row in known
        if row.baseline.shapes.keys() != row.target.shapes.keys()
        and row.pairing != JOINED
        and row.baseline.ns > TOLD * comparison.baseline.step_ns
    ]
    if not differing:
        yield Finding("PRF381", Status.GOOD, "PRF381.same", {"operators": len(known)})
        return
    row = differing[0]
    shapes = [
        _choose_costliest(own_shapes, other_shapes)
        for own_shapes, other_shapes in (
            (row.baseline.shapes, row.target.shapes),
            (row.target.shapes, row.baseline.shapes),
        )
    ]
    arguments: dict[str, Scalar] = {"operators": len(differing), "of": len(known), "operator": row.name}
    arguments |= {"baseline": shapes[0], "target": shapes[1]}
    yield Finding("PRF381", Status.LOOK, "PRF381.shapes", arguments, weight=900.0)


def _share_alone(rows: tuple[Row, ...], left: bool) -> float:
    """Return the share of one side's operators' time that has no partner, or one called half as often again. What moves
    data between devices belongs to the set-up, not to the model."""
    total = alone = 0.0
    for row in rows:
        if not row.name.startswith(MOVES):
            ns = row.baseline.ns if left else row.target.ns
            fewer, more = sorted((row.baseline.calls, row.target.calls))
            unlike = row.pairing != JOINED and row.name != STEP and more > MORE_CALLS * fewer
            if row.pairing in (ONLY_BASELINE, ONLY_TARGET):
                unlike = row.pairing == (ONLY_BASELINE if left else ONLY_TARGET)
            total, alone = total + ns, alone + ns * unlike
    return alone / total if total else 0.0


def _choose_costliest(shapes: dict[str, float], other_shapes: dict[str, float]) -> str:
    """Return the shape that costs most among those that the other side lacks; of all where it lacks none."""
    own = {shape: ns for shape, ns in shapes.items() if shape not in other_shapes} or shapes
    return max(own, key=lambda shape: own[shape])


RULES = {
    "PRF381": check_same_work,
    "PRF382": check_recorded,
    "PRF383": check_spread,
    "PRF384": check_one_sided,
    "PRF385": check_unexplained,
    "PRF386": check_causes,
    "PRF388": check_looked,
}
