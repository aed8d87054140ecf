"""What a dry run proved beside its losses: that the training trained, and gradients, parameters and files agree.

Equal losses prove nothing where no optimizer reads them: a constant, a loss without a graph, a learning rate of 0.
Where the baseline itself shows nothing that can differ, the run is not looked at, never Good.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.machine.launch import LaunchResult
from ascend_workbook.migration.dry_run import judge

#: Norms of gradients add up more roundings than a loss: so many times its tolerance. Below this share of the largest
#: norm of the run a norm is rounding itself.
GRADIENTS, FAINT = 10.0, 1e-3
#: How far the parameters may be apart, as a share of how far the baseline's moved: Adam makes whole steps of gradients
#: that are rounding alone (a bias before a softmax), which are few among all. Beyond the second figure nothing of the
#: update is the same.
PARAMETERS, OTHER = 0.05, 0.5
#: A movement below so many roundings of the values themselves says nothing.
ROUNDINGS = 100.0
EPSILON = {"float32": 6e-8, "float16": 4.9e-4, "bfloat16": 3.9e-3}
#: A saved file, as a share of its values: so many times a loss's tolerance; beyond the second it is another file.
SAVED, OTHER_SAVED = 100.0, 0.05


@dataclass(frozen=True)
class Proof:
    """What the run of one side left behind. `steps` are those in which an optimizer changed something."""

    losses: list[float | None]
    norms: list[float | None]
    norm_unknown: bool
    begin: Mapping[str, Sequence[float]]
    end: Mapping[str, Sequence[float]]
    saved: Mapping[str, Mapping[str, Any]]

    @property
    def moved(self) -> bool | None:
        """Whether any parameter has changed; None where none was seen."""
        seen = [name for name, values in self.begin.items() if values and self.end.get(name)]
        return any(self.begin[name] != self.end[name] for name in seen) if seen else None


def read_proof(result: LaunchResult) -> Proof:
    """Read what rank 0 of a side kept."""
    try:
        content: dict[str, Any] = json.loads((result.out / "proof.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        content = {"begin": {}, "end": {}, "saved": {}}
    unknown = any(note.get("code") == "grad_norm_failed" for log in result.logs for note in log.notes)
    norms = [step.grad_norm for step in result.steps]
    return Proof(list(result.losses), norms, unknown, content["begin"], content["end"], content["saved"])


def find_void(proof: Proof) -> str:
    """Return why equal losses of this run would prove nothing; empty where they prove something."""
    losses = [loss for loss in proof.losses if loss is not None and math.isfinite(loss)]
    if losses and not any(losses):
        return "zero"
    if len(losses) > 1 and len(set(losses)) == 1:
        return "constant"
    if not proof.norms and not proof.moved:
        return "no_update"
    norms = [norm for norm in proof.norms if norm is not None]
    if norms and not any(map(math.isfinite, norms)):
        return "gradient_not_finite"
    if proof.norms and not any(norms) and not proof.norm_unknown:
        return "no_gradient"
    return "unchanged" if proof.moved is False else ""


def judge_proof(before: LaunchResult, after: LaunchResult, dtype: str, verdict: list[Finding]) -> list[Finding]:
    """Judge what stands behind the losses: the verdict, taken back where nothing was proven, and what differs."""
    left, right = read_proof(before), read_proof(after)
    finite = [loss for loss in left.losses if loss is not None and math.isfinite(loss)]
    void = find_void(left) if finite else ""
    differing = [
        *_judge_gradients(left, right, after, dtype),
        *(_judge_parameters(left, right, dtype) if judge.read_draws_log(after) is None else []),
        *(_judge_saved(left, right, dtype) if judge.read_draws_log(after) is None else []),
    ]
    if any(finding.status > Status.NOT_LOOKED for finding in verdict):  # what the losses say stays the verdict
        return [*verdict, *(replace(finding, weight=judge.WEIGHT - 1) for finding in differing)]
    if not void:
        return [*verdict, *differing]
    args: dict[str, Scalar] = {"steps": len(finite if void in ("zero", "constant") else left.losses)}
    beside = [finding for finding in verdict if finding.status is Status.NOTE]
    return [Finding("MIG157", Status.NOT_LOOKED, f"MIG157.{void}", args, weight=judge.WEIGHT + 2), *beside, *differing]


def collect_proof_facts(before: LaunchResult, after: LaunchResult, dtype: str) -> dict[str, object]:
    """Collect the figures: what was void, the largest errors, and the files that both sides saved."""
    left, right = read_proof(before), read_proof(after)
    far = judge.find_worst_step(_pair_norms(left, right))
    return {
        "void": find_void(left) or None,
        "gradient_error": far.error if far else None,
        "parameter_error": _parameter_error(left, right, dtype),
        "parameters": len(left.begin),
        "saved": {name: _saved_error(left.saved[name], right.saved.get(name)) for name in left.saved},
    }


def _differ(outcome: str, status: Status, **args: Scalar) -> list[Finding]:
    return [Finding("MIG158", status, f"MIG158.{outcome}", args, weight=judge.WEIGHT + 1)]


def _pair_norms(left: Proof, right: Proof) -> list[judge.LossPair]:
    floor = FAINT * max((norm for norm in left.norms if norm and math.isfinite(norm)), default=0.0)
    ours, theirs = ([norm if norm is None else max(norm, floor) for norm in side] for side in (left.norms, right.norms))
    return judge.pair_losses(ours, theirs)


def _judge_gradients(left: Proof, right: Proof, after: LaunchResult, dtype: str) -> list[Finding]:
    if right.norm_unknown or left.norm_unknown:
        return []
    if any(left.norms) and right.norms and not any(right.norms):
        return _differ("no_gradient", Status.FIX, steps=len(right.norms))
    far = judge.find_worst_step(judge.select_unexcused_pairs(_pair_norms(left, right), after))
    allowed = GRADIENTS * judge.TOLERANCE[dtype]
    if far is None or far.error is None or far.error <= allowed:
        return []
    status = Status.LOOK if far.error <= judge.FAR * allowed else Status.FIX
    sides = {"baseline": f"{far.baseline:.6g}", "target": f"{far.target:.6g}"}
    return _differ("gradients", status, worst=f"{far.error:.2g}", step=far.step, allowed=f"{allowed:g}", **sides)


def _parameter_error(left: Proof, right: Proof, dtype: str) -> float | None:
    """How far the sides' parameters are apart at the end, as a share of how far the baseline's have moved."""
    names = [name for name in left.end if len(left.end[name]) == len(right.end.get(name, ())) == len(left.begin[name])]
    ends = [value for name in names for value in left.end[name]]
    moved = _distance(ends, (value for name in names for value in left.begin[name]))
    if moved <= ROUNDINGS * EPSILON[dtype] * _distance(ends, [0.0] * len(ends)):
        return None
    return _distance(ends, (value for name in names for value in right.end[name])) / moved


def _distance(first: Iterable[float], second: Iterable[float]) -> float:
    """The length of the difference; infinite where a value is none."""
    length = math.sqrt(sum((a - b) ** 2 for a, b in zip(first, second)))
    return length if math.isfinite(length) else math.inf


def _judge_parameters(left: Proof, right: Proof, dtype: str) -> list[Finding]:
    error = _parameter_error(left, right, dtype)
    if left.moved and right.moved is False:
        return _differ("unchanged", Status.FIX)
    if error is None or error <= PARAMETERS:
        return []
    status = Status.LOOK if error <= OTHER else Status.FIX
    return _differ("parameters", status, share=f"{error:.0%}", allowed=f"{PARAMETERS:.0%}", count=len(left.begin))


def _saved_error(left: Mapping[str, Any], right: Mapping[str, Any] | None) -> float | None:
    """How far two saved files are apart, as a share of the values; None where they hold other tensors."""
    shapes, others = ({at: shape for at, (shape, _) in side.items()} for side in (left, right or {}))
    if right is None or shapes != others:
        return None
    ours = [value for at in left for value in left[at][1]]
    size = _distance(ours, [0.0] * len(ours))
    apart = _distance(ours, (value for at in left for value in right[at][1]))
    return 0.0 if not apart else apart / size if size else math.inf


def _judge_saved(left: Proof, right: Proof, dtype: str) -> list[Finding]:
    findings: list[Finding] = []
    allowed = SAVED * judge.TOLERANCE[dtype]
    for name, tensors in left.saved.items():
        error = _saved_error(tensors, right.saved.get(name))
        if error is None:
            findings += _differ("other_file", Status.FIX, path=name, count=len(tensors))
        elif error > allowed:
            status = Status.LOOK if error <= max(OTHER_SAVED, allowed) else Status.FIX
            shares = {"share": f"{error:.2g}", "allowed": f"{allowed:g}"}
            findings += _differ("file", status, path=name, count=len(tensors), **shares)
    return findings
