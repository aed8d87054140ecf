"""Known causes in what is random: other numbers, another order, another result each time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.rules import CannotCheck
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.precision.advice import evidence
from ascend_workbook.precision.advice.evidence import Seen, describe_places, recorded_fact, recorded_settings
from ascend_workbook.precision.divergence import DRAWN
from ascend_workbook.precision.divergence.drawn import MASKS, SOURCE, draws_numbers, other_numbers
from ascend_workbook.precision.experiment import shared_draws
from ascend_workbook.precision.tensors.agreement import CHECKSUM, SHAPE, TensorAgreement

NONDETERMINISM_SOURCE = "https://www.hiascend.com/document/detail/en/mindstudio/830/practicalcases/LargeModelTrainingAccuracy/toolsample3_005.html"
COLLECTIVE = "https://www.hiascend.com/document/detail/zh/canncommercial/850/commlib/hcclug/hcclug_000081.html"
DATA_ORDER_SOURCE = "https://docs.pytorch.org/docs/stable/notes/randomness.html#dataloader"


def check_nondeterminism(seen: Seen) -> Iterator[Finding]:
    """ACC263: does one side give other numbers when it runs twice? Then no difference between two sides can be blamed
    on an operator before that is settled. Only a second capture of one side tells."""
    if seen.again is None:
        raise CannotCheck("ACC263.once")
    if seen.again.differences:
        raise CannotCheck("ACC263.other_experiment")
    judged = [(step.step, judgement.agreement) for step in seen.again.steps for judgement in step.judged]
    outputs = (tensor for _, agreement in judged for tensor in agreement.outputs)
    if all(tensor.error is None and not _tensor_differs(tensor) for tensor in outputs):
        raise CannotCheck("ACC263.no_values")
    apart = [(step, agreement) for step, agreement in judged if any(map(_tensor_differs, agreement.outputs))]
    if not apart:
        return
    # the earliest whose inputs agree; where a gap hides it, the earliest of all
    apart.sort(key=lambda pair: (any(map(_tensor_differs, pair[1].inputs)), pair[0], pair[1].pair.order))
    step, first = apart[0]
    operator = first.pair.target
    record = recorded_settings(seen.again.target)
    args: dict[str, Scalar] = {"operator": evidence.describe_operator(operator), "step": step, "count": len(apart)}
    args.update(source=NONDETERMINISM_SOURCE, error=first.error_out or Sentence("advice.unknown_size"))
    if operator.head.startswith("Distributed."):
        key, args["source"] = "collective", COLLECTIVE
    elif record is not None and record.flags.get("deterministic_algorithms") is True:
        key = "although"
    else:
        key = "operator"
    yield Finding("ACC263", Status.LOOK, f"ACC263.{key}", args, operator.place, weight=90)


def _tensor_differs(tensor: TensorAgreement) -> bool:
    """Return whether a tensor differs by its values, or by a checksum or shape that tells no error."""
    return bool(tensor.error) or tensor.problem in (CHECKSUM, SHAPE)


def check_random_numbers(seen: Seen) -> Iterator[Finding]:
    """ACC266: do the two sides draw other random numbers? Generators of different devices give other ones from one
    seed, so that dropout masks differ and everything after them; no seed mends that."""
    drawing = [judgement for judgement in seen.forward_judgements() if draws_numbers(judgement.agreement.pair.target)]
    if not drawing or shared_draws(seen.comparison.baseline.about, seen.comparison.target.about):
        return
    known = [judgement for judgement in drawing if judgement.agreement.error_out is not None]
    if not known:
        raise CannotCheck("ACC266.no_values", count=len(drawing))
    other = [
        judgement.agreement.pair.target
        for judgement in known
        if judgement.outcome == DRAWN or other_numbers(judgement.agreement)
    ]
    if other:
        args: dict[str, Scalar] = {"count": len(other), "all": len(known), "names": describe_places(other)}
        args["source"] = SOURCE
        key = "masks" if other[0].api in MASKS else "draws"
        yield Finding("ACC266", Status.LOOK, f"ACC266.{key}", args, other[0].place, weight=80)


def check_data_order(seen: Seen) -> Iterator[Finding]:
    """ACC267: do both sides see the same data in the same order? Fingerprints of the batches tell, of their samples too
    where the capture has them."""
    abouts = seen.comparison.baseline.about, seen.comparison.target.about
    if abouts[0] is None or abouts[1] is None:
        raise CannotCheck("ACC267.no_record")
    left, right = (side.sides for side in abouts if side)
    ranks = sorted(
        rank for rank in left.keys() & right.keys() if left[rank].get("batches") and right[rank].get("batches")
    )
    if not ranks:
        raise CannotCheck("ACC267.no_record")
    for rank in ranks:
        batches, other = left[rank]["batches"], right[rank]["batches"]
        differ = [step for step in batches if step in other and batches[step] != other[step]]
        if differ:
            yield _make_finding(seen, rank, differ, batches, other)
            return  # the first rank stands for all: their loaders are one piece of code


def _make_finding(
    seen: Seen, rank: str, differ: list[str], batches: Mapping[str, Any], other: Mapping[str, Any]
) -> Finding:
    step, facts = differ[0], seen.comparison
    elsewhere = next((at for at, batch in other.items() if batch == batches[step]), None)
    loader = next(iter(recorded_fact(facts.target, "loaders") or ()), None)  # the first: how it chooses
    args: dict[str, Scalar] = {"count": len(differ), "step": step, "rank": rank, "at": elsewhere}
    args["loader"] = f"{loader.get('sampler')}, generator {loader.get('generator')}" if loader else "-"
    args["source"] = DATA_ORDER_SOURCE
    samples: list[list[str]] = []  # of the batch's first tensor; empty where the capture has none
    for side in (facts.baseline, facts.target):
        tensors = (recorded_fact(side, "batches") or {}).get(step) or [{}]
        samples.append(sorted(tensors[0].get("samples") or []))
    within = samples[0] and samples[0] == samples[1]
    key = "steps" if elsewhere is not None else "within" if within else "other"
    return Finding("ACC267", Status.LOOK, f"ACC267.{key}", args, weight=85)


RULES = {"ACC263": check_nondeterminism, "ACC266": check_random_numbers, "ACC267": check_data_order}
