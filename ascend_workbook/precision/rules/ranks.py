"""What several ranks say of one another, and how their captures were merged to whole tensors."""

from __future__ import annotations

from collections.abc import Iterator

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.precision.comparison import Comparison
from ascend_workbook.precision.ranks.laws import Fault
from ascend_workbook.precision.ranks.locating import blame_rank
from ascend_workbook.precision.ranks.sides import Joined, Ranks
from ascend_workbook.precision.ranks.telling import tell_fault

BASIS = "facts"
SHOWN = 3
SIDES = ("baseline", "target")
#: Rules of faults, by their kinds.
COPIES = ("copies_weight", "copies_gradient", "copies_update", "copies_optimizer_state")
RULE_OF = {**dict.fromkeys(COPIES, "ACC221"), "reduced": "ACC222", "result": "ACC223", "order": "ACC224"}
RULE_OF["absent"] = "ACC224"


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
        for at, fault in enumerate(_first_faults(part, rule)):
            yield tell_fault(fault, rule, root, Sentence(f"precision.side_{name}"), at)


def _first_faults(part: Ranks, rule: str) -> list[Fault]:
    """The faults of a rule at the earliest step that has any."""
    own = [fault for fault in part.faults if RULE_OF[fault.kind] == rule]
    return [fault for fault in own if fault.step == own[0].step][:SHOWN]


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
    blame = blame_rank(facts)
    if blame is not None:
        args: dict[str, Scalar] = {"name": blame.name, "step": blame.step, "ranks": [*blame.ranks]}
        args.update(error=blame.error, others=blame.others)
        if blame.partial:
            yield Finding("ACC225", Status.FIX, "ACC225.partial", args, blame.place, weight=550)
        elif blame.ranks:
            yield Finding("ACC225", Status.LOOK, "ACC225.rank", args, blame.place, weight=340)
        else:
            yield Finding("ACC225", Status.NOTE, "ACC225.all", args, blame.place, weight=10)


def check_samples(facts: Comparison) -> Iterator[Finding]:
    """ACC227: are the samples of all ranks together those of the other side?"""
    if facts.joined is None or not facts.joined.data:
        return
    step, key, args = facts.joined.data[0]
    words: dict[str, Scalar] = {**args, "step": step, "steps": len(facts.joined.data)}
    if "side" in words:
        words["side"] = Sentence(f"precision.side_{words['side']}")
    yield Finding("ACC227", Status.FIX, f"ACC227.{key}", words, weight=610)


RULES = {
    "ACC220": check_merging,
    "ACC221": check_copies,
    "ACC222": check_reductions,
    "ACC223": check_results,
    "ACC224": check_order,
    "ACC225": check_part,
    "ACC227": check_samples,
}
