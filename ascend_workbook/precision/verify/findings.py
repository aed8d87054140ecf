"""What a verification has to say: the pass rate first, then what was not the same, not compared or not certain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.precision.verify import layers
from ascend_workbook.precision.verify.layers import NEARER, Row, Tally, wilson_interval
from ascend_workbook.precision.verify.sides import About

SHOWN = 4
#: Verdicts on inputs whose modules agree, or were not compared.
FOLLOWING = ("ACC270.raised", "ACC270.nothing")
WORSE = {layers.SHAPE: "shape", layers.STRUCTURE: "structure", layers.NONFINITE: "nonfinite"}


def collect_findings(tally: Tally, sides: Sequence[About], required: float) -> list[Finding]:
    """Collect all findings; `sides` are baseline and target, below the pass rate `required` it fails."""
    rest = [
        *_report_uncompared(tally),
        *_report_sides(tally, sides),
        *_report_mode(tally, sides),
        *_report_truth(tally),
    ]
    verdict = _judge_pass_rate(tally, required)
    causes = {finding.rule for finding in rest if finding.status is Status.FIX}
    explained = bool(causes) and verdict.key in FOLLOWING or "ACC276" in causes
    if verdict.status is Status.FIX and explained:  # by another finding: that is the verdict then, no second failure
        return [replace(verdict, status=Status.NOTE), *rest]
    worst = max((finding.status for finding in rest), default=Status.GOOD)
    if verdict.status < worst < Status.FIX:  # remarks lower a good result, which stays the headline
        verdict = replace(verdict, status=worst)
    return [verdict, *rest]


def _judge_pass_rate(tally: Tally, required: float) -> Finding:
    rate = tally.passed / tally.inputs if tally.inputs else 0.0
    low, high = wilson_interval(tally.passed, tally.inputs)
    args: dict[str, Scalar] = {"passed": tally.passed, "inputs": tally.inputs, "rate": rate, "low": low, "high": high}
    args["required"] = required
    worst = tally.worst
    if worst is None:
        return Finding("ACC270", Status.FIX, "ACC270.nothing", args, weight=300)
    failed = rate < required or not tally.passed
    args.update(_describe_row(worst))
    if worst.passed == worst.seen:
        whole = not failed and tally.passed == tally.inputs
        same = all(row.layer.error == 0.0 and not row.nans for row in tally.compared_rows)
        key = "ACC270.raised" if not whole else "ACC270.identical" if same else "ACC270.passed"
        status = Status.FIX if failed else Status.GOOD if whole else Status.LOOK
        return Finding("ACC270", status, key, args, weight=300)
    first = tally.first or worst
    args.update(first=first.layer.call.name)
    key = WORSE.get(first.layer.problem, "apart")
    args.update(_describe_row(first if key != "apart" else worst))
    return Finding("ACC270", Status.FIX if failed else Status.LOOK, f"ACC270.{key}", args, weight=300)


def _describe_row(row: Row) -> dict[str, Scalar]:
    layer = row.layer
    numbers: dict[str, Scalar] = {"input": row.worst, "error": layer.error, "allowed": layer.allowed}
    return {"layer": layer.call.name, "kind": layer.call.kind, **numbers, "detail": layer.detail}


def _name_rows(rows: Sequence[Row]) -> dict[str, Scalar]:
    return {"count": len(rows), "names": [f"{row.layer.call.name} ({row.layer.call.kind})" for row in rows[:SHOWN]]}


def _report_uncompared(tally: Tally) -> Iterator[Finding]:
    """Report what a model raised, inputs that are not the same, and what was not compared, and so never passed."""
    sides = [(name, Sentence(f"verify.side_{name}")) for name in ("baseline", "target")]
    for name, side in sides:
        mine = [error for error in tally.errors if error[1] == name]
        if mine:
            index, _, at, error = mine[0]
            args: dict[str, Scalar] = {"count": len(mine), "input": index, "layer": at or "(model)", "error": error}
            yield Finding("ACC271", Status.FIX, "ACC271.raised", {**args, "side": side}, weight=310)
    if tally.other:
        args = {"count": len(tally.other), "names": list(tally.other[:SHOWN])}
        yield Finding("ACC272", Status.FIX, "ACC272.inputs", args, weight=400)
    for (_, side), problem in zip(sides, (layers.ONLY_A, layers.ONLY_B)):
        rows = [row for row in tally.rows.values() if row.layer.problem == problem]
        if rows:
            yield Finding("ACC273", Status.LOOK, "ACC273.only", {**_name_rows(rows), "side": side}, weight=100)
    if tally.blind:  # neither tensor nor number on both sides: whether it is the same was not looked at
        args = {"count": len(tally.blind), "input": tally.blind[0]}
        yield Finding("ACC273", Status.FIX, "ACC273.blind", args, weight=320)
    rows = [row for row in tally.rows.values() if row.layer.problem == layers.NOTHING and row.layer.call.path]
    if rows:
        yield Finding("ACC273", Status.NOT_LOOKED, "ACC273.nothing", _name_rows(rows), weight=90)
    # NaN at the same places of both sides is no difference, and no agreement either
    rows = sorted((row for row in tally.compared_rows if row.nans), key=lambda row: row.layer.order)
    if rows:
        names: list[Scalar] = [row.layer.call.name for row in rows]
        args = {"count": len(rows), "layer": names[0], "places": rows[0].nans, "names": names[:SHOWN]}
        yield Finding("ACC273", Status.LOOK, "ACC273.nan", args, weight=310)


def _report_sides(tally: Tally, sides: Sequence[About]) -> Iterator[Finding]:
    """Report other dtypes, weights and settings, which make other outputs: no module is to blame for that."""
    left, right = sides
    rows = [row for row in tally.compared_rows if len(row.layer.dtypes) > 1 and "float" in row.layer.dtypes[0]]
    if rows and left.dtype != right.dtype:
        args: dict[str, Scalar] = {"baseline": left.dtype or "-", "target": right.dtype or "-", "count": len(rows)}
        yield Finding("ACC274", Status.NOTE, "ACC274.dtype", args, weight=40)
    for side, dtype in sorted(tally.casts):
        yield Finding("ACC274", Status.NOTE, "ACC274.cast", {"side": Sentence(f"verify.side_{side}"), "dtype": dtype})
    weights, others = left.weights, right.weights
    different = [name for name in weights if name in others and weights[name] != others[name]]
    if left.dtype != right.dtype:
        yield Finding("ACC275", Status.NOTE, "ACC275.unknown")
    elif different:
        args = {"count": len(different), "all": len(weights), "names": list(different[:SHOWN])}
        yield Finding("ACC275", Status.LOOK, "ACC275.weights", args, weight=150)
    mine, theirs = left.settings, right.settings  # of torch's own modules: an eps, a stride, a dropout's p
    changed = [path for path in mine if path in theirs and mine[path] != theirs[path]]
    if changed:
        names: list[Scalar] = [f"{path or '(model)'}: {mine[path]} / {theirs[path]}" for path in changed[:SHOWN]]
        yield Finding("ACC278", Status.LOOK, "ACC278.settings", {"count": len(changed), "names": names}, weight=160)


def _report_mode(tally: Tally, sides: Sequence[About]) -> Iterator[Finding]:
    modes = [side.training for side in sides]
    if modes[0] != modes[1]:
        args: dict[str, Scalar] = {
            side: Sentence(f"verify.mode_{'train' if training else 'eval'}")
            for side, training in zip(("baseline", "target"), modes)
        }
        yield Finding("ACC276", Status.FIX, "ACC276.modes", args, weight=350)
    names: list[Scalar] = list(dict.fromkeys(name or "(model)" for side in sides for name in side.mode_matters))
    if names:
        args = {"count": len(names), "names": names[:SHOWN]}
        yield Finding("ACC276", Status.LOOK, "ACC276.training", args, weight=120)
    if tally.drew:
        other = sides[0].device.split(":")[0] != sides[1].device.split(":")[0]
        key = "ACC276.streams" if other else "ACC276.drew"
        args = {"count": len(tally.drew), "input": tally.drew[0]}
        yield Finding("ACC276", Status.LOOK if other else Status.NOTE, key, args, weight=130)


def _report_truth(tally: Tally) -> Iterator[Finding]:
    """Report, with a float64 reference, whose module is further from it, where the two part."""
    if tally.no_reference:
        yield Finding("ACC277", Status.NOT_LOOKED, "ACC277.failed", {"error": tally.no_reference})
    first = tally.first
    if first is None or not first.layer.truth:
        return
    own = first.layer.truth
    far = 0 if own[0] > NEARER * own[1] else 1 if own[1] > NEARER * own[0] else None
    name = first.layer.call.name
    args: dict[str, Scalar] = {"layer": name, "baseline": own[0], "target": own[1], "input": first.worst}
    if far is None:
        yield Finding("ACC277", Status.NOTE, "ACC277.neither", args, weight=90)
    else:
        args["side"] = Sentence(f"verify.side_{('baseline', 'target')[far]}")
        yield Finding("ACC277", Status.LOOK, "ACC277.side", args, weight=90)
