"""Are the two runs the same experiment, from the same start?"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.precision.comparison import Comparison
from ascend_workbook.precision.experiment import compare_surroundings, find_remarks, list_unrecorded, shared_draws
from ascend_workbook.precision.experiment.start import Changed

BASIS = "facts"
START_SHOWN = 3
#: A share of all weights from which on they are another model's, or another seed's.
MOST = 0.4
EXPERIMENT_SHOWN = 5
#: The first of a kind is told; more of them are counted.
KINDS_SHOWN = 12


def check_start(facts: Comparison) -> Iterator[Finding]:
    """ACC204: dumps without a record of the experiment: their first step began with other weights or other data."""
    start = facts.start
    if not start:
        return
    worst = sorted((*start.weights, *start.data), key=lambda change: -change.error)
    names = [_describe_change(change) for change in worst[:START_SHOWN]]
    args: dict[str, Scalar] = {"count": len(start.weights), "total": start.total, "names": names}
    of_weights = "seed" if start.data else "weights" if len(start.weights) >= MOST * start.total else "few"
    yield Finding("ACC204", Status.FIX, f"ACC204.{of_weights if start.weights else 'data'}", args, weight=400)


def _describe_change(change: Changed) -> Scalar:
    args: dict[str, Scalar] = {"where": change.where, "error": change.error}
    if math.isnan(change.factor):
        return Sentence("ACC204.one", **args)
    return Sentence("ACC204.scaled", **args, factor=f"{change.factor:.4g}")


def check_experiment(facts: Comparison) -> Iterator[Finding]:
    """ACC205: are the two runs the same experiment? Another seed, other weights or another batch make every tensor
    differ, and then no operator is to blame: the difference here is the verdict, and no tensor is judged."""
    left, right = facts.baseline.about, facts.target.about
    if left is None or right is None:
        yield Finding("ACC205", Status.NOTE, "ACC205.no_manifest")
        return
    if left.about.get("script_sha256") != right.about.get("script_sha256"):
        yield Finding("ACC205", Status.NOTE, "ACC205.script")
    # where the tensors are judged anyway the verdict is theirs, and this is to be known beside it
    status = Status.LOOK if facts.anyway else Status.FIX
    for at, difference in enumerate(facts.differences[:KINDS_SHOWN]):
        yield Finding("ACC205", status, f"ACC205.{difference.fact}", difference.words, weight=600 - at)
    if len(facts.differences) > KINDS_SHOWN:
        more = [difference.name for difference in facts.differences[KINDS_SHOWN:]]
        count: dict[str, Scalar] = {"count": len(more), "names": more[:EXPERIMENT_SHOWN]}
        yield Finding("ACC205", status, "ACC205.more", count, weight=500)
    if shared_draws(left, right):
        yield Finding("ACC205", Status.NOTE, "ACC205.host_draws", weight=19)
    if left.about.get("rm_dropout") and right.about.get("rm_dropout"):
        yield Finding("ACC205", Status.NOTE, "ACC205.no_dropout", weight=19)
    for difference in find_remarks(left, right):
        yield Finding("ACC205", Status.NOTE, f"ACC205.{difference.fact}", difference.words, weight=20)
    missing = list_unrecorded(left, right)
    if missing:
        yield Finding("ACC205", Status.NOT_LOOKED, "ACC205.not_looked", {"names": [*missing]}, weight=25)


def check_settings(facts: Comparison) -> Iterator[Finding]:
    """ACC207: do the two sides differ in settings that change numbers: package versions, torch's flags, variables?

    They make no other experiment, so nothing is concluded from them; but where the runs part they are to be ruled out
    before an operator is blamed."""
    differences = compare_surroundings(facts.baseline.about, facts.target.about)
    if not differences:
        return
    first = differences[0]
    args: dict[str, Scalar] = {"count": len(differences), "what": first.name, "baseline": first.left}
    args.update(target=first.right, why=Sentence(f"settings.why.{first.why}"))
    args["others"] = [difference.name for difference in differences[1:4]] or "-"
    yield Finding("ACC207", Status.NOTE, "ACC207.differ", args, weight=30)


RULES = {"ACC204": check_start, "ACC205": check_experiment, "ACC207": check_settings}
