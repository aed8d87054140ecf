"""A finding about time that the ranks could save together: graded by its share of the step, with the bound in it."""

from __future__ import annotations

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.profiling.figures import round_ms, to_percent
from ascend_workbook.profiling.ranks.cluster import Cluster
from ascend_workbook.profiling.ranks.waiting import FIRST_UNMAPPED, NOBODY

WORTH, MUCH = 0.03, 0.10


def make_saving_finding(cluster: Cluster, code: str, key: str, gain_ms: float, args: dict[str, Scalar]) -> Finding:
    """Make the finding of a saving: a NOTE, from a tenth of the step on a WARN; on a simulated NPU always a NOTE, for
    its times are the CPU's."""
    share = gain_ms / cluster.step_ms
    status = Status.WARN if share >= MUCH and not cluster.is_simulated else Status.NOTE
    all_args = {**args, "gain_ms": round_ms(gain_ms), "share": to_percent(share)}
    return Finding(code, status, f"{code}.{key}", all_args, weight=100 * share)


def is_worth_telling(cluster: Cluster, gain_ms: float) -> bool:
    """Return whether the saving is long enough to be told."""
    return gain_ms >= WORTH * cluster.step_ms


def name_waited_rank(cluster: Cluster, who: int) -> Sentence:
    """Return the rank that is waited for, in words."""
    if who == NOBODY:
        return Sentence("ranks.nobody")
    if who > FIRST_UNMAPPED:
        return Sentence("ranks.rank", number=who)
    _, number = cluster.waits.unmapped[FIRST_UNMAPPED - who]
    return Sentence("ranks.of_its_group", number=number)


def short_rank_name(cluster: Cluster, who: int) -> Scalar:
    """Return the rank that is waited for as a table's cell: its number where it has one, None for nobody."""
    return who if who >= 0 else None if who == NOBODY else name_waited_rank(cluster, who)
