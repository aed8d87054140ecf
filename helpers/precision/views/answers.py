"""A comparison and its curves as answers: one report for each question, in the order in which they must be asked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from helpers.finding import Finding, Status
from helpers.precision.views import platform
from helpers.precision.views.cases import head
from helpers.precision.views.questions import DEVICE, EXPERIMENT, INCOMPLETE, NO_MANIFEST, UNPAIRED, question_of
from helpers.report import Column, Report, Table
from helpers.words import Scalar

FIRST = (EXPERIMENT, DEVICE, INCOMPLETE)
#: The good answer to the first question
SAME = ("ACC205.same", "ACC205.beside")
#: The last answer: what is to be done, the gravest first.
STEPS = "ACC291"


def experiment(comparison: Report) -> Report:
    """Are the two runs the same experiment, wholly recorded, and did an NPU take part? With what each side ran on."""
    found = [one for one in comparison.findings if question_of(one) in FIRST and not _of_curves(one)]
    found = [replace(one, status=Status.SKIPPED, weight=10) if one.key == NO_MANIFEST else one for one in found]
    table = platform.table(comparison)
    if not any(one.status >= Status.WARN or one.key == NO_MANIFEST for one in found):
        found.insert(0, _same(platform.beside(table)))
    simulator = comparison.facts.get("simulator") or {}
    return Report("precision", "experiment", _led(found, SAME), table, facts={"simulator": simulator},
                  tier=comparison.tier)  # fmt: skip


def divergence(comparison: Report) -> Report:
    """Which operator parts the runs first, with the error curve through the network."""
    apart = (*FIRST, UNPAIRED)
    found = tuple(one for one in comparison.findings if question_of(one) not in apart and not _of_curves(one))
    return replace(comparison, verb="divergence", findings=found)


def unpaired(comparison: Report) -> Report:
    """What only one side called, by API and side, with the likely reason: it was not compared."""
    counts: dict[tuple[str, str, str], list[list[Scalar]]] = {}
    for one in comparison.facts.get("unpaired", []):
        step, rank, side, name, why = one
        counts.setdefault((side, head(name), why), []).append([step, rank, name])
    rows = tuple(({"say": f"precision.side_{side}"}, name, len(found), {"say": f"precision.why_{why}"},
                  *found[0]) for (side, name, why), found in counts.items())  # fmt: skip
    columns = ("only_side", "api", "count", "likely", "step", "rank", "first")
    found = [one for one in comparison.findings if question_of(one) == UNPAIRED]
    if not comparison.facts["judged"] or not comparison.facts["outcomes"]:
        found += [one for one in comparison.findings if one.rule == "ACC230"]  # says why nothing was judged
    elif not rows:
        found.insert(0, Finding("ACC210", Status.OK, "ACC210.all"))
    table = Table(tuple(map(Column, columns)), rows) if rows else None
    return Report("precision", "unpaired", tuple(found), table, tier=comparison.tier)


def next_steps(reports: Iterable[Report]) -> Report:
    """What to do, the gravest first; after a healthy comparison, where to go from there."""
    found = [one for report in reports for one in report.findings if one.hint("en")]
    found = list({(one.key, repr(one.args)): one for one in found}.values())
    found.sort(key=lambda one: (-one.status, -one.weight))
    rows: list[tuple[Scalar, ...]] = [(number, one.status.name, one.rule, {"hint": one.key, "args": one.args})
                                      for number, one in enumerate(found, 1)]  # fmt: skip
    headline = Finding(STEPS, Status.OK, "ACC291.profile")
    if found:
        first: Scalar = {"hint": found[0].key, "args": found[0].args}
        status = Status.NOTE if found[0].status < Status.WARN else Status.OK
        headline = Finding(STEPS, status, "ACC291.first", {"first": first, "count": len(found)})
    columns = tuple(map(Column, ("order", "status", "rule", "next_step")))
    return Report("precision", "next", (headline,), Table(columns, tuple(rows)) if rows else None)


def _of_curves(finding: Finding) -> bool:
    """A comparison with a bundle tells the curves' findings too; here they have a part of their own."""
    return finding.rule.startswith("ACC25")


def _same(beside: list[Scalar]) -> Finding:
    """The good answer; it names what the table under it shows as different."""
    if not beside:
        return Finding("ACC205", Status.OK, "ACC205.same", weight=90)
    return Finding("ACC205", Status.OK, "ACC205.beside", {"what": beside}, weight=90)


def _led(found: list[Finding], keys: tuple[str, ...]) -> tuple[Finding, ...]:
    """Remarks lower the status of a good answer, but the answer stays the headline."""
    worst = max(one.status for one in found)
    return tuple(replace(one, status=worst) if one.key in keys else one for one in found)
