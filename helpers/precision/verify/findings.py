"""What a verification has to say: the pass rate first, then what was not the same, not compared or not certain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from helpers.finding import Finding, Status
from helpers.precision.verify.layers import NEARER, NONFINITE, NOTHING, ONLY_A, ONLY_B, SHAPE, STRUCTURE
from helpers.precision.verify.taken import About
from helpers.precision.verify.tally import Row, Tally, wilson
from helpers.words import Scalar

SHOWN = 4
#: Verdicts on inputs whose modules agree, or were not compared.
FOLLOWING = ("ACC270.raised", "ACC270.nothing")
WORSE = {SHAPE: "shape", STRUCTURE: "structure", NONFINITE: "nonfinite"}


def findings(tally: Tally, sides: Sequence[About], required: float) -> list[Finding]:
    """`sides` are baseline and target; `required` is the pass rate below which the verification fails."""
    rest = [*_raised(tally), *_inputs(tally), *_alone(tally), *_nothing(tally), *_nans(tally),
            *_dtypes(tally, sides), *_weights(sides), *_settings(sides),
            *_mode(tally, sides), *_truth(tally)]  # fmt: skip
    verdict = _verdict(tally, required)
    if verdict.status is Status.FAIL and _follows(verdict, rest):
        return [replace(verdict, status=Status.NOTE), *rest]
    worst = max((one.status for one in rest), default=Status.OK)
    if verdict.status < worst < Status.FAIL:  # remarks lower a good result, which stays the headline
        verdict = replace(verdict, status=worst)
    return [verdict, *rest]


def _follows(verdict: Finding, rest: list[Finding]) -> bool:
    """Whether another finding tells why inputs fail: that one is the verdict then, not a second failure."""
    causes = {one.rule for one in rest if one.status is Status.FAIL}
    return bool(causes) and verdict.key in FOLLOWING or "ACC276" in causes


def _verdict(tally: Tally, required: float) -> Finding:
    rate = tally.passed / tally.inputs if tally.inputs else 0.0
    low, high = wilson(tally.passed, tally.inputs)
    args: dict[str, Scalar] = {"passed": tally.passed, "inputs": tally.inputs, "rate": rate, "low": low, "high": high,
                               "required": required}  # fmt: skip
    worst = tally.worst
    if worst is None:
        return Finding("ACC270", Status.FAIL, "ACC270.nothing", args, weight=300)
    failed = rate < required or not tally.passed
    args.update(_row(worst))
    if worst.passed == worst.seen:
        whole = not failed and tally.passed == tally.inputs
        same = all(row.layer.error == 0.0 and not row.nans for row in tally.compared)
        key = "ACC270.raised" if not whole else "ACC270.identical" if same else "ACC270.passed"
        status = Status.FAIL if failed else Status.OK if whole else Status.WARN
        return Finding("ACC270", status, key, args, weight=300)
    first = tally.first or worst
    args.update(first=first.layer.call.name)
    key = WORSE.get(first.layer.problem, "apart")
    args.update(_row(first if key != "apart" else worst))
    return Finding("ACC270", Status.FAIL if failed else Status.WARN, f"ACC270.{key}", args, weight=300)


def _row(row: Row) -> dict[str, Scalar]:
    layer = row.layer
    error = layer.error
    return {"layer": layer.call.name, "kind": layer.call.kind, "input": row.worst, "error": error,
            "allowed": layer.allowed, "detail": layer.detail}  # fmt: skip


def _raised(tally: Tally) -> Iterator[Finding]:
    for side in ("baseline", "target"):
        mine = [one for one in tally.errors if one[1] == side]
        if mine:
            index, _, at, error = mine[0]
            args: dict[str, Scalar] = {"count": len(mine), "input": index, "layer": at or "(model)", "error": error,
                                       "side": {"say": f"verify.side_{side}"}}  # fmt: skip
            yield Finding("ACC271", Status.FAIL, "ACC271.raised", args, weight=310)


def _inputs(tally: Tally) -> Iterator[Finding]:
    if tally.other:
        args: dict[str, Scalar] = {"count": len(tally.other), "names": list(tally.other[:SHOWN])}
        yield Finding("ACC272", Status.FAIL, "ACC272.inputs", args, weight=400)


def _alone(tally: Tally) -> Iterator[Finding]:
    """Modules that one side alone ran: not compared, and so never passed."""
    for side, problem in (("baseline", ONLY_A), ("target", ONLY_B)):
        rows = [row for row in tally.rows.values() if row.layer.problem == problem]
        if rows:
            names: list[Scalar] = [f"{row.layer.call.name} ({row.layer.call.kind})" for row in rows[:SHOWN]]
            args: dict[str, Scalar] = {"count": len(rows), "names": names, "side": {"say": f"verify.side_{side}"}}
            yield Finding("ACC273", Status.WARN, "ACC273.only", args, weight=100)


def _nothing(tally: Tally) -> Iterator[Finding]:
    """What gives neither tensor nor number on both sides: whether it is the same was not looked at."""
    if tally.blind:
        args: dict[str, Scalar] = {"count": len(tally.blind), "input": tally.blind[0]}
        yield Finding("ACC273", Status.FAIL, "ACC273.blind", args, weight=320)
    rows = [row for row in tally.rows.values() if row.layer.problem == NOTHING and row.layer.call.path]
    if rows:
        args = {"count": len(rows), "names": [f"{row.layer.call.name} ({row.layer.call.kind})" for row in rows[:SHOWN]]}
        yield Finding("ACC273", Status.SKIPPED, "ACC273.nothing", args, weight=90)


def _nans(tally: Tally) -> Iterator[Finding]:
    """NaN at the same places of both sides is no difference, and no agreement either."""
    rows = sorted((row for row in tally.compared if row.nans), key=lambda row: row.layer.order)
    if rows:
        args: dict[str, Scalar] = {"count": len(rows), "layer": rows[0].layer.call.name, "places": rows[0].nans,
                                   "names": [row.layer.call.name for row in rows[:SHOWN]]}  # fmt: skip
        yield Finding("ACC273", Status.WARN, "ACC273.nan", args, weight=310)


def _dtypes(tally: Tally, sides: Sequence[About]) -> Iterator[Finding]:
    rows = [row for row in tally.compared if len(row.layer.dtypes) > 1 and "float" in row.layer.dtypes[0]]
    if rows and sides[0].dtype != sides[1].dtype:
        args: dict[str, Scalar] = {"baseline": sides[0].dtype or "-", "target": sides[1].dtype or "-",
                                   "count": len(rows)}  # fmt: skip
        yield Finding("ACC274", Status.NOTE, "ACC274.dtype", args, weight=40)
    for side, dtype in sorted(tally.casts):
        yield Finding("ACC274", Status.NOTE, "ACC274.cast", {"side": {"say": f"verify.side_{side}"}, "dtype": dtype})


def _weights(sides: Sequence[About]) -> Iterator[Finding]:
    """Other weights make other outputs: no module is to blame for that."""
    left, right = (side.weights for side in sides)
    if sides[0].dtype != sides[1].dtype:
        yield Finding("ACC275", Status.NOTE, "ACC275.unknown")
        return
    different = [name for name in left if name in right and left[name] != right[name]]
    if different:
        args: dict[str, Scalar] = {"count": len(different), "all": len(left), "names": list(different[:SHOWN])}
        yield Finding("ACC275", Status.WARN, "ACC275.weights", args, weight=150)


def _settings(sides: Sequence[About]) -> Iterator[Finding]:
    """Modules of torch that are set otherwise: an eps, a stride, a dropout's p."""
    left, right = (side.settings for side in sides)
    different = [path for path in left if path in right and left[path] != right[path]]
    if different:
        names: list[Scalar] = [f"{path or '(model)'}: {left[path]} / {right[path]}" for path in different[:SHOWN]]
        yield Finding("ACC278", Status.WARN, "ACC278.settings", {"count": len(different), "names": names}, weight=160)


def _mode(tally: Tally, sides: Sequence[About]) -> Iterator[Finding]:
    modes = [side.training for side in sides]
    if modes[0] != modes[1]:
        args: dict[str, Scalar] = {"baseline": {"say": f"verify.mode_{_word(modes[0])}"},
                                   "target": {"say": f"verify.mode_{_word(modes[1])}"}}  # fmt: skip
        yield Finding("ACC276", Status.FAIL, "ACC276.modes", args, weight=350)
    names: list[Scalar] = list(dict.fromkeys(name or "(model)" for side in sides for name in side.mode_matters))
    if names:
        args = {"count": len(names), "names": names[:SHOWN]}
        yield Finding("ACC276", Status.WARN, "ACC276.training", args, weight=120)
    if tally.drew:
        other = sides[0].device.split(":")[0] != sides[1].device.split(":")[0]
        key = "ACC276.streams" if other else "ACC276.drew"
        args = {"count": len(tally.drew), "input": tally.drew[0]}
        yield Finding("ACC276", Status.WARN if other else Status.NOTE, key, args, weight=130)


def _word(training: bool) -> str:
    return "train" if training else "eval"


def _truth(tally: Tally) -> Iterator[Finding]:
    """With a float64 reference: whose module is further from it, where the two part."""
    if tally.no_reference:
        yield Finding("ACC277", Status.SKIPPED, "ACC277.failed", {"error": tally.no_reference})
    first = tally.first
    if first is None or not first.layer.truth:
        return
    own = first.layer.truth
    far = 0 if own[0] > NEARER * own[1] else 1 if own[1] > NEARER * own[0] else None
    args: dict[str, Scalar] = {"layer": first.layer.call.name, "baseline": own[0], "target": own[1],
                               "input": first.worst}  # fmt: skip
    if far is None:
        yield Finding("ACC277", Status.NOTE, "ACC277.neither", args, weight=90)
        return
    args["side"] = {"say": f"verify.side_{('baseline', 'target')[far]}"}
    yield Finding("ACC277", Status.WARN, "ACC277.side", args, weight=90)
