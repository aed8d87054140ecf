"""Are the captures whole, and are they of the same devices, formats and operators?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.precision.comparison import Comparison
from ascend_workbook.precision.pairing.reasons import find_reasons

BASIS = {"ACC201": "defined", "ACC202": "defined", "ACC206": "defined", "ACC208": "defined", "ACC210": "facts"}
COMPLETENESS_SHOWN = 3
PARTNERS_SHOWN = 4
#: Up to this share of all operators it is a remark: a single helper call that one device needs and the other does not.
REMARK = 0.01


def check_completeness(facts: Comparison) -> Iterator[Finding]:
    """ACC201: is everything there that was captured: every file as it was written, every step and rank on both
    sides?"""
    for side in (facts.baseline, facts.target):
        changed = side.about.changed_files() if side.about else []
        if changed:
            args: dict[str, Scalar] = {"count": len(changed), "files": changed[:COMPLETENESS_SHOWN]}
            args["path"] = str(side.folder)
            yield Finding("ACC201", Status.FIX, "ACC201.changed", args, weight=400)
    for name, left in zip(("baseline", "target"), facts.only):
        if left:
            where = [f"step {step} rank {rank}" for step, rank in left]
            missing: dict[str, Scalar] = {"side": Sentence(f"precision.side_{name}"), "where": where}
            yield Finding("ACC201", Status.FIX, "ACC201.one_sided", missing, weight=90)
    joined = getattr(facts, "joined", None)
    if joined is None or not joined.merged:
        yield from _compare_ranks(facts)


def _compare_ranks(facts: Comparison) -> Iterator[Finding]:
    """Find ranks that one side alone has, and ranks between others that neither side has. A rank that could not be read
    is told elsewhere (ACC202)."""
    sides = [{rank for _, rank in side.runs} for side in (facts.baseline, facts.target)]
    if facts.bare or facts.baseline.troubles or facts.target.troubles:
        return
    if sides[0] != sides[1]:
        args: dict[str, Scalar] = {"baseline": sorted(sides[0]), "target": sorted(sides[1])}
        yield Finding("ACC201", Status.LOOK, "ACC201.ranks", args, weight=85)
    all_ranks = sides[0] | sides[1]
    gaps: list[Scalar] = [rank for rank in range(max(all_ranks, default=0)) if rank not in all_ranks]
    if gaps:
        yield Finding("ACC201", Status.NOTE, "ACC201.gap", {"ranks": gaps})


def check_readable(facts: Comparison) -> Iterator[Finding]:
    """ACC202: which steps and ranks could not be read, and why. The others were compared."""
    for side in (facts.baseline, facts.target):
        for trouble in side.troubles:
            yield Finding("ACC202", Status.FIX, trouble.key, trouble.arguments, weight=95)


def check_participants(facts: Comparison) -> Iterator[Finding]:
    """ACC206: did an NPU take part? A GPU or CPU held against itself says nothing about an NPU, however well it
    agrees."""
    left, right = facts.baseline.about, facts.target.about
    if left is None or right is None:
        return
    where = [str(name) for name in right.about.get("parameter_devices", ())]
    if not right.tier.startswith("npu"):
        yield Finding("ACC206", Status.LOOK, "ACC206.no_npu", {"baseline": left.tier, "target": right.tier}, weight=400)
    elif where and not any(name.startswith("npu") for name in where):
        yield Finding("ACC206", Status.LOOK, "ACC206.off_npu", {"devices": list(where)}, weight=400)


def check_formats(facts: Comparison) -> Iterator[Finding]:
    """ACC208: convolutions or matrix products compute in a reduced format although no record of the run says so."""
    seen = {(kind, form) for step in facts.steps for kind, form in step.replays.seen.items()}
    for kind, form in sorted(seen):
        args: dict[str, Scalar] = {"what": Sentence(f"ACC208.{kind}"), "form": form.upper()}
        yield Finding("ACC208", Status.NOTE, "ACC208.seen", args, weight=40)


def check_partners(facts: Comparison) -> Iterator[Finding]:
    """ACC210: operators that only one run called. They were not compared, and that is said, with the likely reason,
    never counted as agreement. And modules that were paired although their names differ."""
    for name in ("baseline", "target"):
        left = [unpaired for step in facts.steps for unpaired in find_reasons(step.pairing, name)]
        if left:
            heads = Counter((operator.head, reason) for operator, reason in left)
            shown = [
                Sentence("precision.alone", head=head, count=count, why=Sentence(f"precision.why_{why}"))
                for (head, why), count in heads.most_common(PARTNERS_SHOWN)
            ]
            args: dict[str, Scalar] = {"count": len(left), "names": shown, "side": Sentence(f"precision.side_{name}")}
            joined = getattr(facts, "joined", None)
            divided = joined is not None and joined.merged  # which adds calls by nature
            few = divided or len(left) <= REMARK * sum(len(step.pairing.target.operators) for step in facts.steps)
            yield Finding("ACC210", Status.NOTE if few else Status.LOOK, "ACC210.only", args, weight=len(left))
    renamed = [unpaired for step in facts.steps for unpaired in step.pairing.renamed_pairs]
    if renamed:
        names: list[Scalar] = list(dict.fromkeys(f"{step.baseline.head} = {step.target.head}" for step in renamed))
        yield Finding("ACC210", Status.NOTE, "ACC210.renamed", {"count": len(renamed), "names": names[:PARTNERS_SHOWN]})


RULES = {
    "ACC201": check_completeness,
    "ACC202": check_readable,
    "ACC206": check_participants,
    "ACC208": check_formats,
    "ACC210": check_partners,
}
