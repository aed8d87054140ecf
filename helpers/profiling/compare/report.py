"""`analyse TARGET --baseline BASELINE`: are they comparable, and the difference by kind, operator and module."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from helpers.finding import Finding, Status
from helpers.profiling.breakdown import PARTS
from helpers.profiling.compare import rules
from helpers.profiling.compare.costs import HIDDEN, REST
from helpers.profiling.compare.facts import Comparison
from helpers.profiling.compare.rows import Row
from helpers.profiling.compare.rules.causes import shown
from helpers.profiling.compare.rules.recorded import recording
from helpers.profiling.facts import Profile
from helpers.profiling.trace import Trace
from helpers.report import Chart, Column, Report, Table, overview
from helpers.rules import judge, rules_of
from helpers.words import Scalar

STAGE = "profiling"
#: Which rules each part tells
COMPARABLE, CAUSES = ("PRF381", "PRF382", "PRF383", "PRF388"), ("PRF384", "PRF385", "PRF386")
#: Of the baseline's step: a difference below is none
WORTH = 0.03
#: Of the difference: a row that makes less of it is no cause of it
CAUSE = 0.02


def compare(baseline: Profile, target: Profile, *, top: int = 15) -> Report:
    """Parts: `comparable`, `compare_kinds`, `compare_operators`, `compare_modules`; in each table of times the
    differences add up to that of the mean steps."""
    compared = Comparison.of(baseline, target)
    findings = judge(compared, rules_of(rules))
    verdict = summary(compared, findings)
    parts = [
        _comparable(compared, [one for one in findings if one.rule in COMPARABLE]),
        _kinds(compared, [verdict]),
        _operators(compared, [one for one in findings if one.rule in CAUSES], top),
        _modules(compared, top),
    ]
    return overview(STAGE, "compare_profiles", parts, tier=_tier(compared))


def summary(compared: Comparison, findings: Sequence[Finding]) -> Finding:
    """One sentence: how much slower or faster, and the three rows that make most of it, where any stands out."""
    blind = [one.profile.trace.source for one in (compared.baseline, compared.target) if not one.profile.conclusive]
    if blind:
        return Finding("PRF380", Status.SKIPPED, "PRF380.blind", {"path": blind[0]}, weight=2000.0)
    difference = compared.difference_ns
    rows = [row for row in compared.operators if row.name != REST and
            row.difference_ns * difference > CAUSE * difference**2]  # fmt: skip
    causes: Scalar = [
        {"say": "compare.cause", "args": {"name": _OVERLAP if row.name == HIDDEN else shown(row),
                                          "ms": f"{row.difference_ns / 1e6:+.4g}"}}
        for row in rows[:3]
    ]  # fmt: skip
    share = difference / compared.baseline.step_ns
    args: dict[str, Scalar] = {"baseline_ms": compared.baseline.step_ns / 1e6}
    args |= {"target_ms": compared.target.step_ns / 1e6, "causes": causes}
    args |= {"ms": abs(difference) / 1e6, "share": abs(100 * share)}
    unlike = any(one.rule == "PRF381" and one.status is Status.WARN for one in findings)
    word = "alike" if abs(share) < WORTH else "slower" if difference > 0 else "faster"
    spread = "" if rows or word == "alike" else "_spread"
    status = max(Status.WARN if word == "slower" else Status.OK, *(one.status for one in findings))
    if compared.simulated:
        status = max(Status.SKIPPED, *(one.status for one in findings))
        return Finding("PRF380", status, f"PRF380.simulated_{word}{spread}", args, weight=2000.0)
    return Finding("PRF380", status, f"PRF380.{'unlike_' if unlike else ''}{word}{spread}", args, weight=2000.0)


def _comparable(compared: Comparison, findings: list[Finding]) -> Report:
    left, right = (recording(one.profile) for one in (compared.baseline, compared.target))
    rows: list[tuple[Scalar, ...]] = [
        ({"say": "compare.recorded.file"}, *(Path(one.profile.trace.source).name for one in (compared.baseline,
                                                                                              compared.target)))
    ]  # fmt: skip
    rows += [({"say": f"compare.recorded.{name}"}, _told(left[name]), _told(right[name])) for name in left]
    looked = (_looked(one.profile.trace) for one in (compared.baseline, compared.target))
    rows.insert(2, ({"say": "compare.recorded.looked"}, *looked))
    columns = (Column("compare_what"), Column("compare_baseline"), Column("compare_target"))
    return Report(STAGE, "comparable", tuple(findings), Table(columns, tuple(rows)), tier=_tier(compared))


def _looked(trace: Trace) -> Scalar:
    """Which steps were looked at, of how many."""
    if trace.looked:
        args: dict[str, Scalar] = {"first": trace.looked.first, "last": trace.looked.last, "steps": trace.looked.steps}
        return {"say": "profiling.steps_of", "args": args}
    return {"say": "profiling.all_steps", "args": {"steps": trace.recorded_steps}}


def _told(value: str | int | bool) -> Scalar:
    return {"say": f"compare.{'yes' if value else 'no'}"} if isinstance(value, bool) else value or None


def _kinds(compared: Comparison, findings: list[Finding]) -> Report:
    rows = tuple(
        _times({"say": f"name.profiling_{part}"}, compared.baseline.parts[part], compared.target.parts[part], compared)
        for part in PARTS
    )
    table = Table((Column("kind"), *_TIMES), rows)
    return Report(STAGE, "compare_kinds", tuple(findings), table, _chart("kind"), facts=_facts(compared),
                  tier=_tier(compared))  # fmt: skip


def _operators(compared: Comparison, findings: list[Finding], top: int) -> Report:
    rows = tuple(
        (*_times(shown(row), row.baseline.ns, row.target.ns, compared), row.baseline.calls or None,
         row.target.calls or None, {"say": f"compare.pairing.{row.pairing}"})
        for row in compared.operators[:top]
    )  # fmt: skip
    others = _others(compared.operators[top:], compared)
    rows += ((*others, None, None, None),) if others else ()
    calls = (Column("calls_baseline"), Column("calls_target"), Column("pairing"))
    table = Table((Column("operator", wrap=48), *_TIMES, *calls), rows)
    return Report(STAGE, "compare_operators", tuple(findings), table, _chart("operator"), tier=_tier(compared))


def _modules(compared: Comparison, top: int) -> Report:
    if not compared.modules:
        kinds: list[Scalar] = [{"say": f"compare.modules.{one.module_kind or 'none'}"} for one in (compared.baseline,
                                                                                                   compared.target)]
        args: dict[str, Scalar] = {"baseline": kinds[0], "target": kinds[1]}
        return Report(STAGE, "compare_modules", (Finding("PRF387", Status.SKIPPED, "PRF387.unseen", args),),
                      tier=_tier(compared))  # fmt: skip
    rows = tuple(_times(_module(row.name), row.baseline.ns, row.target.ns, compared) for row in compared.modules[:top])
    others = _others(compared.modules[top:], compared)
    table = Table((Column("module", wrap=48), *_TIMES), rows + ((others,) if others else ()))
    kind: Scalar = {"say": f"compare.modules.{compared.baseline.module_kind}"}
    found = Finding("PRF387", Status.OK, "PRF387.seen", {"kind": kind, "modules": len(compared.modules)})
    return Report(STAGE, "compare_modules", (found,), table, _chart("module"), tier=_tier(compared))


def _module(name: str) -> Scalar:
    return {"say": f"compare.{name or 'row.outside'}"} if not name or name.startswith("row.") else name


_OVERLAP: Scalar = {"say": "compare.cause_overlap"}  # a step gains what is hidden less
_TIMES = (Column("baseline_time", "ms"), Column("target_time", "ms"), Column("difference", "ms"),
          Column("share_of_difference", "%"))  # fmt: skip


def _times(name: Scalar, baseline_ns: float, target_ns: float, compared: Comparison) -> tuple[Scalar, ...]:
    """A row's times in milliseconds, and its share of the whole difference, where there is one."""
    difference, whole = target_ns - baseline_ns, compared.difference_ns
    share = round(100 * difference / whole, 6) + 0.0 if whole else None
    return name, _ms(baseline_ns), _ms(target_ns), _ms(difference), share


def _ms(nanoseconds: float) -> float:
    """To the nanosecond; minus zero is zero."""
    return round(nanoseconds / 1e6, 6) + 0.0


def _others(rows: Sequence[Row], compared: Comparison) -> tuple[Scalar, ...]:
    """What the table does not show, as one row, so that its differences add up."""
    if not rows:
        return ()
    name: Scalar = {"say": "compare.row.others", "args": {"count": len(rows)}}
    return _times(name, sum(row.baseline.ns for row in rows), sum(row.target.ns for row in rows), compared)


def _chart(x: str) -> Chart:
    return Chart("bars", x, ("baseline_time", "target_time"), "ms")


def _facts(compared: Comparison) -> dict[str, object]:
    sides = {"baseline": compared.baseline, "target": compared.target}
    return {
        "difference_ns": compared.difference_ns,
        **{name: {"source": one.profile.trace.source, "tier": one.profile.tier, "step_ns": one.step_ns,
                  **one.profile.step_facts(), "parts_ns": one.parts} for name, one in sides.items()},
    }  # fmt: skip


def _tier(compared: Comparison) -> str:
    """The target's, but a simulated one wherever one side is: no verdict is drawn from it."""
    simulated = [one.profile.tier for one in (compared.baseline, compared.target) if one.profile.simulated]
    return (simulated or [compared.target.profile.tier])[0]
