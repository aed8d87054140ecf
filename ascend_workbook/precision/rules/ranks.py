"""What several ranks say of one another, and how their captures were merged to whole tensors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.precision.comparison import Comparison
from ascend_workbook.precision.ranks.arranging import SUM
from ascend_workbook.precision.ranks.locating import blame_rank, find_unlike
from ascend_workbook.precision.ranks.sides import REGROUPED, Joined
from ascend_workbook.precision.ranks.telling import RULE_OF, place_of, tell_faults, weigh_stage

BASIS = "facts"
SHOWN = 3
#: Below an operator that parts before.
BELOW = 290.0
SIDES = ("baseline", "target")


def check_merging(facts: Comparison) -> Iterator[Finding]:
    """ACC220: were captures of another number of ranks merged to whole tensors, and what could not be?"""
    joined = facts.joined
    if joined is None:
        return
    for error in dict.fromkeys(error for part in joined.ranks for error in part.errors):
        yield Finding("ACC220", Status.NOT_LOOKED, "ACC220.trouble", {"error": error}, weight=20)
    if not joined.merged:
        return
    how = joined.ranks[0].how + joined.ranks[1].how
    args: dict[str, Scalar] = {"left": joined.ranks[0].count, "right": joined.ranks[1].count}
    copies = sum(count for kind, count in how.items() if set(kind.split(" x ")) == {"copy"})
    laid = sum(count for kind, count in how.items() if "laid" in kind)
    total = sum(how.values())
    args.update(parameters=len(_list_merged(joined)), tensors=total, copies=copies, laid=laid)
    args["sums"] = total - copies - laid
    yield Finding("ACC220", Status.GOOD, "ACC220.merged", args, weight=12)
    left, right = (side.about.about.get("args") if side.about else None for side in (facts.baseline, facts.target))
    if left != right:
        words: dict[str, Scalar] = {
            "left": list(map(str, left or ())) or "-",
            "right": list(map(str, right or ())) or "-",
        }
        yield Finding("ACC220", Status.NOTE, "ACC220.args", words, weight=11)
    unmerged = sorted({name for part in joined.ranks for name in (part.merged.unmerged if part.merged else {})})
    if unmerged:
        names: dict[str, Scalar] = {"count": len(unmerged), "names": [*unmerged[:SHOWN]]}
        yield Finding("ACC220", Status.NOT_LOOKED, "ACC220.unmerged", names, weight=18)
    left_out = joined.ranks[0].left_out + joined.ranks[1].left_out
    if left_out:
        count: dict[str, Scalar] = {"count": sum(left_out.values())}
        yield Finding("ACC220", Status.NOTE, "ACC220.left_out", count, weight=16)
    if any(part[1] == REGROUPED for part in joined.data):
        yield Finding("ACC220", Status.NOT_LOOKED, "ACC220.regrouped", {}, weight=19)
    if any(part.stages for part in joined.ranks):
        yield Finding("ACC220", Status.NOT_LOOKED, "ACC220.stages", {}, weight=19)
    elif any(part.missing for part in joined.ranks):
        yield Finding("ACC220", Status.NOT_LOOKED, "ACC220.missing", {}, weight=19)
    elif all(part.count > 1 for part in joined.ranks):
        yield Finding("ACC220", Status.NOT_LOOKED, "ACC220.both", {}, weight=19)


def _list_merged(joined: Joined) -> set[str]:
    return {name for part in joined.ranks if part.merged for name in part.merged.how}


def check_faults(facts: Comparison, rule: str) -> Iterator[Finding]:
    """What the ranks of each side contradict each other in."""
    if facts.joined is None:
        return
    for side, part, name in zip((facts.baseline, facts.target), facts.joined.ranks, SIDES):
        root = side.about.root if side.about else None
        own = [fault for fault in part.faults if RULE_OF[fault.kind] == rule]
        for finding in tell_faults(own, root, Sentence(f"precision.side_{name}")):
            yield replace(finding, weight=BELOW) if _follows(facts, finding) else finding


def _follows(facts: Comparison, finding: Finding) -> bool:
    """Whether copies differ after an operator parted: an earlier step's, or the same step's forward or backward."""
    if facts.first is None or finding.rule != "ACC221" or facts.joined is None or facts.joined.merged:
        return False
    step, parted = int(str(finding.args["step"])), facts.first[0].step
    return parted < step or (parted == step and finding.key != "ACC221.copies_weight")


def check_copies(facts: Comparison) -> Iterator[Finding]:
    """ACC221: are copies equal that every rank must have: weights, gradients after they are reduced, updates?"""
    yield from check_faults(facts, "ACC221")


def check_reductions(facts: Comparison) -> Iterator[Finding]:
    """ACC222: under DistributedDataParallel, is each gradient the mean of the ranks' own?"""
    yield from check_faults(facts, "ACC222")


def check_results(facts: Comparison) -> Iterator[Finding]:
    """ACC223: does every collective give what all ranks gave to it say?"""
    yield from check_faults(facts, "ACC223")


def check_order(facts: Comparison) -> Iterator[Finding]:
    """ACC224: do all ranks of a group call the same collectives in the same order, of the same dtype?"""
    yield from check_faults(facts, "ACC224")


def check_part(facts: Comparison) -> Iterator[Finding]:
    """ACC225: whose part of the first whole tensor that parts is to blame?"""
    if facts.joined is None or not facts.joined.merged:
        return
    odd = [(run.run.step, *call) for part in facts.joined.ranks for run in part.runs for call in run.odd[:1]]
    if odd:
        step, operator, ranks = odd[0]
        words: dict[str, Scalar] = {"name": operator.name, "step": step, "ranks": [*ranks]}
        yield Finding("ACC225", Status.LOOK, "ACC225.odd", words, operator.place, weight=345)
    unlike = find_unlike(facts)
    if unlike is not None:
        words = {"name": unlike.name, "step": unlike.step, "ranks": [*unlike.ranks]}
        yield Finding("ACC225", Status.FIX, "ACC225.copy", words, unlike.place, weight=weigh_stage(unlike.step, "copy"))
    blame = blame_rank(facts)
    if blame is not None:
        args: dict[str, Scalar] = {"name": blame.name, "step": blame.step, "ranks": [*blame.ranks]}
        args.update(error=blame.error, others=blame.others)
        if blame.partial:
            forward = "partial" if blame.partial == SUM else "partial_mean"
            weight = weigh_stage(blame.step, "partial_late" if blame.late else forward)
            yield Finding("ACC225", Status.FIX, "ACC225.partial", args, blame.place, weight=weight)
        elif blame.ranks:
            yield Finding("ACC225", Status.LOOK, "ACC225.rank", args, blame.place, weight=340)
        else:
            yield Finding("ACC225", Status.NOTE, "ACC225.all", args, blame.place, weight=10)


def check_formats(facts: Comparison) -> Iterator[Finding]:
    """ACC226: does one side alone reduce in a 16-bit format what the other has in the parameters' own?"""
    if facts.joined is None:
        return
    coarse = [part.coarse for part in facts.joined.ranks]
    if bool(coarse[0]) == bool(coarse[1]):
        return
    side, calls = ("baseline", coarse[0]) if coarse[0] else ("target", coarse[1])
    args: dict[str, Scalar] = {"count": len(calls), "dtype": calls[0].kind[2], "step": calls[0].step}
    args.update(operation=calls[0].operation, side=Sentence(f"precision.side_{side}"))
    about = (facts.baseline if side == "baseline" else facts.target).about
    place = place_of(calls[0].place, about.root if about else None)
    args["place"] = str(place) if place else "-"
    yield Finding("ACC226", Status.LOOK, "ACC226.coarse", args, place, weight=330)


def check_samples(facts: Comparison) -> Iterator[Finding]:
    """ACC227: are the samples of all ranks together those of the other side?"""
    data = [part for part in facts.joined.data if part[1] != REGROUPED] if facts.joined is not None else []
    if not data:
        return
    step, key, args = data[0]
    words: dict[str, Scalar] = {**args, "step": step, "steps": len(data)}
    if "side" in words:
        words["side"] = Sentence(f"precision.side_{words['side']}")
    yield Finding("ACC227", Status.FIX, f"ACC227.{key}", words, weight=weigh_stage(step, "samples"))


RULES = {
    "ACC220": check_merging,
    "ACC221": check_copies,
    "ACC222": check_reductions,
    "ACC223": check_results,
    "ACC224": check_order,
    "ACC225": check_part,
    "ACC226": check_formats,
    "ACC227": check_samples,
}
