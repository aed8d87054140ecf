"""ACC230: which operator parts the runs first, on which step and rank. ACC230.none where none does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.rules import CannotCheck
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.precision import divergence
from ascend_workbook.precision.capturing.withheld import shell_line
from ascend_workbook.precision.comparison import Comparison, Side, StepComparison
from ascend_workbook.precision.divergence import AGREES, ALLOWED, DRAWN, EXPLAINED, POSSIBLE, Judgement, devices
from ascend_workbook.precision.divergence.arguments import different_arguments
from ascend_workbook.precision.divergence.drawn import SOURCE, draws_numbers
from ascend_workbook.precision.pairing import Pair
from ascend_workbook.precision.record import FORWARD, kernels_of_operator
from ascend_workbook.precision.tensors.agreement import TensorAgreement

CODE = "ACC230"
SHOWN = 3
#: Devices that `capture --device` takes by the name that a capture records.
DEVICES = ("npu", "npu-simulated", "cuda", "cpu")
#: Conditions of the simulated NPU, by the option that sets them.
CONDITIONS = {"--fault": "ASCEND_WORKBOOK_SIM_FAULT", "--numerics": "ASCEND_WORKBOOK_SIM_NUMERICS"}


def recapture_command(side: Side, step: int) -> str:
    """`ascend-workbook capture ... --task tensor` for this step alone; an empty string where the run was not recorded
    (a plain dump) or the device is not one that can be asked for."""
    about = side.about.about if side.about is not None else {}
    tier, args = str(about.get("tier", "")), about.get("args")
    if not about.get("script") or not isinstance(args, list) or tier not in DEVICES:
        return ""
    words = ["ascend-workbook", "capture", "--device", tier, "--task", "tensor", "--steps", str(step + 1)]
    words += ["--dump-steps", str(step)]
    for name in ("level", "seed", "nproc", "draws"):
        words += [f"--{name}", str(about[name])] if name in about else []
    words += ["--rm-dropout"] if about.get("rm_dropout") else []
    force = about.get("settings")
    for option, name in CONDITIONS.items():
        words += [option, str(force[name])] if isinstance(force, dict) and force.get(name) else []
    script = PurePosixPath(str(about.get("root", ""))) / str(about["script"])
    return shell_line([*words, "--out", f"again-step{step}", str(script), *map(str, args)])


def check(facts: Comparison) -> Iterator[Finding]:
    if facts.stopped:
        what = list(dict.fromkeys(difference.name for difference in facts.differences))
        raise CannotCheck("ACC230.other_experiment", what=what)
    if facts.bare:
        raise CannotCheck("ACC230.no_operators")
    if facts.first is None and facts.start:
        raise CannotCheck("ACC230.other_start")
    if facts.first is None:
        yield from _report_healthy(facts)
        return
    step, judged = facts.first
    args = _collect_arguments(step, judged)
    by_outcome = {divergence.STRUCTURE: "structure", divergence.ARGUMENT: "argument", divergence.JUMP: "unseen"}
    key = by_outcome.get(judged.outcome, "")
    key = key or ("handed_back" if judged.handed_by else "replayed" if judged.own else "amplified")
    if key == "unseen" and facts.missing_forward_calls and facts.named == facts.missing_forward_calls:
        key = "missing"
        args.update(operator=list(facts.named), receiver=judged.name)
    elif key == "unseen" and facts.named != [judged.name]:
        key = "handed"
        args.update(operator=list(facts.named), receiver=judged.name, kernels=_kernels_of_names(step, facts.named))
    elif key == "handed_back":
        args.update(operator=list(facts.named), kernels=_kernels_of_names(step, facts.named))
    if key == "amplified" and not (step.pairing.target.replayable or judged.agreement.inputs):
        key = "value"
    if key == "amplified" and judged.because:
        key, errors = "amplified_by", {slot.slot: slot.error for slot in judged.agreement.inputs}
        args.update(input=judged.because, input_error=errors[judged.because])
    if key in ("replayed", "handed_back", "amplified", "amplified_by"):
        args["next"] = _suggest_next_step(facts, step, judged)
    yield Finding(CODE, Status.FIX, f"ACC230.{key}", args, judged.agreement.pair.target.place, weight=300)


def _suggest_next_step(facts: Comparison, step: StepComparison, judged: Judgement) -> Scalar:
    """Suggest what has not been done yet: run the operator alone, where its inputs lie there and it was not run
    already."""
    ran = facts.confirmation.verdict if facts.confirmation else devices.UNKNOWN
    if ran == devices.NOT_AGAIN:
        return _suggest_capture("returns", facts, judged.side, step.step)
    if ran != devices.UNKNOWN:
        return Sentence("ACC230.known_issues")
    pair = judged.agreement.pair
    for side, operator in (("target", pair.target), ("baseline", pair.baseline)):
        if not all(tensor.file for tensor in operator.inputs):
            return _suggest_capture("save", facts, side, step.step)
    return Sentence("ACC230.run_backward" if judged.handed_by else "ACC230.run_alone")


def _suggest_capture(why: str, facts: Comparison, side: str, step: int) -> Scalar:
    line = recapture_command(facts.target if side == "target" else facts.baseline, step)
    args: dict[str, Scalar] = {"step": step, "side": Sentence(f"precision.side_{side}")}
    return Sentence(f"ACC230.{why}", **args, command=line) if line else Sentence(f"ACC230.{why}_by_hand", **args)


def _kernels_of_names(step: StepComparison, names: list[str]) -> Scalar:
    operators = filter(None, map(step.pairing.target.by_name.get, names))
    return list(dict.fromkeys(kernel for operator in operators for kernel in kernels_of_operator(operator))) or None


def describe_place(pair: Pair) -> Scalar:
    """Describe where the operator is called: file and line and, where it is known, the module that ran."""
    place, module = str(pair.target.place) if pair.target.place else None, pair.module
    if module is None:
        return place
    return Sentence("ACC230.in_module", place=place, module=module.path, kind=module.kind)


def _collect_arguments(step: StepComparison, judged: Judgement) -> dict[str, Scalar]:
    agreement = judged.agreement
    operator = agreement.pair.target
    args: dict[str, Scalar] = {"operator": operator.name, "kernels": list(kernels_of_operator(operator)) or None}
    args.update(place=describe_place(agreement.pair), step=step.step, rank=step.rank)
    args.update(error_in=agreement.error_in, error_out=agreement.error_out, allowed=judged.allowed)
    if judged.outcome == divergence.STRUCTURE:
        args["detail"] = [f"{slot.slot} {slot.detail or slot.problem}" for slot in agreement.outputs if slot.problem]
    if judged.outcome == divergence.DIVERGES and not judged.own:
        args["why"] = Sentence(f"precision.replay_{step.replays.why_not(operator)}")
    if judged.outcome == divergence.ARGUMENT:
        args["detail"] = different_arguments(agreement, 0.0)
    if judged.outcome == divergence.JUMP:
        # what was not compared just before may have made the wrong input
        earlier = step.judged[: step.judged.index(judged)]
        before = [judgement.name for judgement in earlier if judgement.outcome == divergence.NOT_COMPARED]
        before += [op.name for op in step.pairing.only_target if op.order < agreement.pair.order]
        args["before"] = list(before[-SHOWN:]) or Sentence("ACC230.start")
    if judged.own and judged.side:
        args.update(side=Sentence(f"precision.side_{judged.side}"), own=judged.own.worst)
    return args


def _report_healthy(facts: Comparison) -> Iterator[Finding]:
    judged = [judgement for step in facts.steps for judgement in step.judged]
    if any(judgement.outcome == DRAWN for judgement in judged):
        yield _make_drawn(facts.steps)
        return
    compared = [judgement for judgement in judged if judgement.outcome in (AGREES, EXPLAINED, ALLOWED, POSSIBLE)]
    if not judged and facts.joined is not None and facts.joined.merged:
        return  # ACC220 says why no operator of the merged ranks was compared
    if not compared:
        yield Finding(CODE, Status.FIX, "ACC230.nothing", {"count": len(judged)}, weight=100)
        return
    args: dict[str, Scalar] = {
        kind: sum(judgement.outcome == kind for judgement in compared) for kind in (AGREES, EXPLAINED)
    }
    if facts.proves_nothing:
        whys: list[Scalar] = [Sentence(f"ACC230.why_{why}") for why in facts.proves_nothing]
        yield Finding(CODE, Status.NOT_LOOKED, "ACC230.vacuous", {"count": len(compared), "why": whys}, weight=100)
        return
    args["left"] = sum(judgement.outcome == divergence.NOT_COMPARED for judgement in judged) + sum(
        len(step.pairing.only_target) + len(step.pairing.only_baseline) for step in facts.steps
    )
    reduced = [judgement for judgement in compared if judgement.outcome == ALLOWED]
    possible = [judgement for judgement in compared if judgement.outcome == POSSIBLE]
    if possible:
        worst = max(possible, key=lambda judgement: judgement.agreement.error_out or 0.0)
        args.update(count=len(possible), operators=[judgement.name for judgement in possible[:SHOWN]])
        args.update(allowed=worst.allowed, own=worst.agreement.error_out)
        yield Finding(CODE, Status.NOT_LOOKED, "ACC230.possible", args, weight=100)
    elif reduced:
        worst = _pick_largest_error(reduced)
        args.update(count=len(reduced), form=worst.form.upper(), operator=worst.name)
        args.update(own=worst.own_error, allowed=worst.allowed)
        yield Finding(CODE, Status.GOOD, "ACC230.reduced", args, weight=100)
    elif not any(judgement.agreement.error_out for judgement in compared):
        args["count"] = len(compared)
        outputs = [slot for judgement in compared for slot in judgement.agreement.outputs if slot.error is not None]
        yield Finding(CODE, Status.GOOD, f"ACC230.{_tell_sameness(outputs)}", args, weight=100)
    else:
        worst = _pick_largest_error(compared)
        args.update(count=len(compared), operator=worst.name, own=worst.own_error)
        yield Finding(CODE, Status.GOOD, "ACC230.none", args, weight=100)


def _tell_sameness(slots: Iterable[TensorAgreement]) -> str:
    """Tell what equal tensors show, by the weakest of what was read: equal extremes, mean and norm are no equal
    numbers, a share of the elements is not all of them, a checksum not the bytes. Only values that were all read tell
    every bit."""
    slots = list(slots)
    if any(slot.metrics is None and not slot.summed for slot in slots):
        return "same_statistics"
    if any(slot.metrics is not None and slot.metrics.measured < slot.metrics.size for slot in slots):
        return "same_sample"
    return "same_checksums" if any(slot.summed for slot in slots) else "identical"


def _make_drawn(steps: tuple[StepComparison, ...]) -> Finding:
    """Other random numbers: what ran from there on, in that step and in those after it, is no agreement. An operator
    that was run again from its own inputs is judged all the same."""
    seen = [
        ((step.step, at), judgement)
        for step in steps
        for at, judgement in enumerate(step.judged)
        if judgement.outcome in (AGREES, EXPLAINED, ALLOWED, POSSIBLE, DRAWN)
    ]
    where = min(at for at, judgement in seen if judgement.outcome == DRAWN)
    behind = [judgement for at, judgement in seen if at >= where]
    first = next(judgement for judgement in behind if judgement.outcome == DRAWN).agreement.pair.target
    calls = [judgement.agreement.pair.target for judgement in behind]
    drawing = [call for call in calls if draws_numbers(call) and call.direction == FORWARD]
    again = [judgement.own_error for judgement in behind if judgement.own is not None]
    args: dict[str, Scalar] = {"operator": first.name, "step": where[0], "source": SOURCE}
    args.update(place=str(first.place) if first.place else None, api=list(dict.fromkeys(call.api for call in drawing)))
    args.update(count=len(drawing), before=len(seen) - len(behind), behind=len(behind))
    args.update(replayed=len(again), own=max(again, default=None))
    args["error"] = max(judgement.agreement.error_out or 0.0 for judgement in behind)
    return Finding(CODE, Status.LOOK, "ACC230.drawn", args, first.place, weight=300)


def _pick_largest_error(judged: list[Judgement]) -> Judgement:
    """Pick the operator that adds the most. Forward first: a gradient that cancels to nothing has any
    relative error."""
    forward = [judgement for judgement in judged if judgement.agreement.pair.target.direction == FORWARD]
    return max(forward or judged, key=lambda judgement: judgement.own_error)
