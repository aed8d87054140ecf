"""A comparison and its curves as answers: one report for each question, in the order in which they must be asked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import NextStep, Scalar, Sentence
from ascend_workbook.precision.curves.verb import MOST
from ascend_workbook.precision.tensors.tolerance import AMPLIFICATION
from ascend_workbook.precision.views import platform, questions
from ascend_workbook.precision.views.questions import NO_MANIFEST, UNPAIRED, is_unseen, question_of

# Losses that part, read in the light of the comparison by tensor: amplified rounding, or what no tensor explains.

#: Rule that says where the optimizer's update parted the weights, or was not looked at.
UPDATE = "ACC235"
#: Rules from here on are of curves, bundles and attempts; those before it are of the comparison by tensor.
OF_CURVES = "ACC250"
#: Answers of the comparison that found an error, and none too large. Without any there is nothing to amplify.
ROUNDING = ("ACC230.none", "ACC230.reduced")


def explain_losses(finding: Finding, losses: Report, comparison: Report) -> Finding:
    """The finding; where losses part though no operator does, as what it is then: behind the last dumped step, which
    is to be dumped; at a dumped step by far more than any tensor of it (what makes that was not recorded); else a NOTE,
    where both ends, the update and all between were looked at and showed rounding."""
    steps = [int(str(step)) for step in losses.table.column_values("step")] if losses.table else []
    dumped = comparison.facts.get("steps", [])
    if finding.key != "ACC250.apart" or comparison.status >= Status.LOOK or not steps or not dumped:
        return finding
    at = int(str(finding.args["step"])) - steps[0]  # logs count steps from 1, dumps from 0
    if at > dumped[-1]:
        return replace(finding, key="ACC250.later", args={**finding.args, "dumped": dumped, "at": at})
    # else the tensors were not wholly looked at, or do not differ by rounding
    remarks = [remark for remark in comparison.findings if remark.rule < OF_CURVES]
    if not any(remark.key in ROUNDING for remark in remarks) or any(map(is_unseen, remarks)):
        return finding
    beside = _find_gap_beside(losses, comparison, float(str(finding.args["tolerance"])))
    if beside:
        return replace(finding, key="ACC250.beside", args={**finding.args, **beside})
    if (
        dumped[0] != 0
        or dumped[-1] != steps[-1] - steps[0]
        or any(remark.rule == UPDATE for remark in comparison.findings)
    ):
        return finding
    return replace(finding, key="ACC250.amplified", status=Status.NOTE, args={**finding.args, "dumped": dumped})


def _find_gap_beside(losses: Report, comparison: Report, tolerance: float) -> dict[str, Scalar]:
    """Find the first dumped step whose losses differ by far more than its tensors do; empty where there is none."""
    assert losses.table
    largest: dict[int, float] = defaultdict(float)  # of the tensors of each dumped step
    if comparison.table and comparison.table.rows:
        for step, *errors in zip(*(comparison.table.column_values(name) for name in ("step", "error_in", "error_out"))):
            largest[step] = max(largest[step], *(float(str(error)) for error in errors if error is not None), 0.0)
    for step, gap in enumerate(losses.table.column_values("relative_error")) if len(losses.table.rows) < MOST else ():
        if step in largest and isinstance(gap, float) and gap > max(tolerance, AMPLIFICATION * largest[step]):
            return {"at": step, "gap": gap, "most": largest[step]}
    return {}


FIRST = (questions.EXPERIMENT, questions.DEVICE, questions.INCOMPLETE)
#: The last answer: what is to be done, the gravest first.
STEPS = "ACC291"


def answer_experiment(comparison: Report) -> Report:
    """Answer whether both ran the same experiment, wholly recorded, with an NPU; with what each side ran on."""
    selected = [finding for finding in comparison.findings if question_of(finding) in FIRST and not _of_curves(finding)]
    selected = [
        replace(finding, status=Status.NOT_LOOKED, weight=10) if finding.key == NO_MANIFEST else finding
        for finding in selected
    ]
    table = platform.platform_table(comparison)
    if not any(finding.status >= Status.LOOK or finding.key == NO_MANIFEST for finding in selected):
        # the good answer names what differs by the table under it, though neither device nor tolerance answers for it
        beside: list[Scalar] = [fact for fact, *_, same in table.rows if same == Sentence(platform.DIFFERS)]
        args: dict[str, Scalar] = {"what": beside} if beside else {}
        key = "ACC205.beside" if beside else "ACC205.same"
        # remarks lower the status of the good answer, but it stays the headline
        worst = max([Status.GOOD, *(finding.status for finding in selected)])
        selected.insert(0, Finding("ACC205", worst, key, args, weight=90))
    facts: dict[str, object] = {"simulator": comparison.facts.get("simulator") or {}}
    return Report("precision", "experiment", tuple(selected), table, facts=facts, tier=comparison.tier)


def answer_divergence(comparison: Report) -> Report:
    """Answer which operator parts the runs first, with the error curve through the network."""
    apart = (*FIRST, UNPAIRED)
    rest = (finding for finding in comparison.findings if question_of(finding) not in apart and not _of_curves(finding))
    return replace(comparison, verb="divergence", findings=tuple(rest))


def answer_unpaired(comparison: Report) -> Report:
    """What only one side called, by API and side, with the likely reason: it was not compared."""
    counts: dict[tuple[str, str, str], list[list[Scalar]]] = {}
    for step, rank, side, name, why in comparison.facts.get("unpaired", []):
        counts.setdefault((side, questions.head_of_name(name), why), []).append([step, rank, name])
    rows = tuple(
        (Sentence(f"precision.side_{side}"), name, len(amount), Sentence(f"precision.why_{why}"), *amount[0])
        for (side, name, why), amount in counts.items()
    )
    columns = ("only_side", "api", "count", "likely", "step", "rank", "first")
    amount = [entry for entry in comparison.findings if question_of(entry) == UNPAIRED]
    if not comparison.facts["judged"] or not comparison.facts["outcomes"]:
        amount += [entry for entry in comparison.findings if entry.rule == "ACC230"]  # says why nothing was judged
    elif not rows:
        amount.insert(0, Finding("ACC210", Status.GOOD, "ACC210.all"))
    table = Table(tuple(map(Column, columns)), rows) if rows else None
    return Report("precision", "unpaired", tuple(amount), table, tier=comparison.tier)


def next_steps(reports: Iterable[Report]) -> Report:
    """List what to do, the gravest first; after a healthy comparison, where to go from there."""
    hinting = [finding for report in reports for finding in report.findings if finding.hint("en")]
    hinting = list({(finding.key, repr(finding.args)): finding for finding in hinting}.values())
    hinting.sort(key=lambda finding: (-finding.status, -finding.weight))
    rows: list[tuple[Scalar, ...]] = [
        (number, finding.status.json, finding.rule, NextStep(finding.key, **finding.args))
        for number, finding in enumerate(hinting, 1)
    ]
    headline = Finding(STEPS, Status.GOOD, "ACC291.profile")
    if hinting:
        first: Scalar = NextStep(hinting[0].key, **hinting[0].args)
        status = Status.NOTE if hinting[0].status < Status.LOOK else Status.GOOD
        headline = Finding(STEPS, status, "ACC291.first", {"first": first, "count": len(hinting)})
    columns = tuple(map(Column, ("order", "status", "rule", "next_step")))
    return Report("precision", "next", (headline,), Table(columns, tuple(rows)) if rows else None)


def _of_curves(finding: Finding) -> bool:
    """Return whether the finding is of the curves, which have a part of their own here."""
    return finding.rule.startswith("ACC25")
