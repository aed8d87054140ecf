"""What the difference consists of."""

from __future__ import annotations

from collections.abc import Iterator

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.rules import CannotCheck
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.profiling.compare.costs import HIDDEN, REST
from ascend_workbook.profiling.compare.facts import JOINED, ONLY_BASELINE, ONLY_TARGET, Comparison, Row

BASIS = {"PRF383": "reasoned", "PRF384": "facts", "PRF385": "facts", "PRF386": "facts"}
WORTH, MOST = 0.02, 8
NAMED = 3
#: Of the difference; and of the baseline's step, below which nothing is worth a word
SHARE, SMALL = 0.1, 0.01


def check_causes(comparison: Comparison) -> Iterator[Finding]:
    """What the difference is made of, the greatest first: rows that differ by 2 % of the baseline's step or more."""
    step = comparison.baseline.step_ns
    rows = [row for row in comparison.operators if row.name not in (HIDDEN, REST)]
    rows = [row for row in rows if abs(row.difference_ns) >= WORTH * step][:MOST]
    if not rows:
        yield Finding("PRF386", Status.OK, "PRF386.none", {"share": 100 * WORTH})
    for row in rows:
        slower = row.difference_ns > 0
        args: dict[str, Scalar] = {
            "name": display_name(row),
            "ms": abs(row.difference_ns) / 1e6,
            "of_step": 100 * abs(row.difference_ns) / step,
        }
        args |= {"baseline_ms": row.baseline.ns / 1e6, "target_ms": row.target.ns / 1e6}
        key = f"PRF386.{'slower' if slower else 'faster'}"
        yield Finding("PRF386", Status.NOTE if slower else Status.OK, key, args, weight=abs(row.difference_ns) / 1e6)


def display_name(row: Row) -> Scalar:
    """Return a row's name as a reader sees it."""
    if row.pairing == JOINED:
        return Sentence(f"compare.family.{row.name.partition('.')[2]}")
    return Sentence(f"compare.{row.name}") if row.name.startswith("row.") else row.name


def check_one_sided(comparison: Comparison) -> Iterator[Finding]:
    """What runs on one side alone: another kernel library, a fallback, a fusion that is not known here, or other
    code."""
    sides = {
        word: [row for row in comparison.real_rows if row.pairing == word] for word in (ONLY_BASELINE, ONLY_TARGET)
    }
    for word, rows in sides.items():
        if rows:
            total = sum(row.baseline.ns + row.target.ns for row in rows) / 1e6
            args: dict[str, Scalar] = {"operators": len(rows), "ms": total, "names": [row.name for row in rows[:NAMED]]}
            yield Finding("PRF384", Status.NOTE, f"PRF384.{word}", args, weight=total)
    if not any(sides.values()):
        yield Finding("PRF384", Status.OK, "PRF384.none")
    yield from (_report_family(row) for row in comparison.real_rows if row.pairing == JOINED)


def _report_family(row: Row) -> Finding:
    """Report a family: one operator on one side, several on the other."""
    args: dict[str, Scalar] = {"family": display_name(row), "names": list(row.names[:NAMED])}
    args |= {"operators": len(row.names), "ms": row.difference_ns / 1e6}
    return Finding("PRF384", Status.OK, "PRF384.joined", args)


def check_spread(comparison: Comparison) -> Iterator[Finding]:
    """Is the difference larger than that between steps of one side? If not, it may be chance."""
    sides = (comparison.baseline.profile, comparison.target.profile)
    if max(len(profile.breakdown.steady) for profile in sides) < 2:
        raise CannotCheck("PRF383.one_step")
    spread = comparison.spread_ns()
    args = {"spread_ms": spread / 1e6, "difference_ms": abs(comparison.difference_ns) / 1e6}
    within = abs(comparison.difference_ns) <= spread
    status, key = (Status.NOTE, "within") if within else (Status.OK, "beyond")
    yield Finding("PRF383", status, f"PRF383.{key}", dict(args))


def check_unexplained(comparison: Comparison) -> Iterator[Finding]:
    """How much of the difference no row explains: work that the profile shows on the device but in no step's window."""
    rest = next(row.difference_ns for row in comparison.operators if row.name == REST)
    share = abs(rest) / abs(comparison.difference_ns) if comparison.difference_ns else 0.0
    large = share > SHARE and abs(rest) > SMALL * comparison.baseline.step_ns
    args = {"ms": rest / 1e6, "share": 100 * share}
    yield Finding("PRF385", Status.NOTE if large else Status.OK, f"PRF385.{'much' if large else 'little'}", dict(args))


RULES = {"PRF383": check_spread, "PRF384": check_one_sided, "PRF385": check_unexplained, "PRF386": check_causes}
