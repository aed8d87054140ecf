"""From what was measured to the report: a row per configuration, the rules' findings, facts with units."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from helpers.finding import Finding, Status
from helpers.profiling.benchmark import relative, rules
from helpers.profiling.benchmark.facts import Bench, Measured
from helpers.profiling.benchmark.rules import against, speed
from helpers.report import Chart, Column, Report, Table
from helpers.rules import judge, rules_of
from helpers.words import Scalar

PERCENTILES = (50, 90, 95, 99)


def report(bench: Bench) -> Report:
    findings = judge(bench, rules_of(rules))
    rate = Column("bench_rate", f"{bench.unit}/s")
    columns = [Column("bench_configuration"), rate, Column("bench_interval", "%", 2)]
    columns += [Column(f"bench_p{percent}", "ms", detail=percent == 90) for percent in PERCENTILES]
    columns += [Column("bench_tokens", "/s"), Column("bench_loading", "%", 3), Column("bench_device_peak", "MiB"),
                Column("bench_host_peak", "MiB"), Column("bench_power", "W"), Column("bench_relative", "x"),
                Column("bench_outcome")]  # fmt: skip
    rows = [_row(bench, one) for one in bench.measured]
    kept = [at for at, column in enumerate(columns) if at < 3 or any(row[at] is not None for row in rows)]
    table = Table(tuple(columns[at] for at in kept), tuple(tuple(row[at] for at in kept) for row in rows))
    chart = Chart("bars", "bench_configuration", ("bench_rate",), f"{bench.unit}/s") if bench.ran else None
    facts = {"benchmark": _facts(bench), "simulator": bench.facts.get("simulator") or {}}
    return Report("profiling", "benchmark", _headed(findings), table, chart, facts=facts, tier=bench.tier,
                  answers=_answers(findings))  # fmt: skip


def without_samples(one: Measured) -> Measured:
    """Where one configuration does not tell its samples steps are counted in all of them."""
    return replace(one, samples=None)


def _answers(findings: list[Finding]) -> tuple[str, ...]:
    """What was measured answers; not so where it was asked for beside a baseline that cannot be held against it."""
    asked = any(one.rule == against.CODE and one.status is Status.SKIPPED for one in findings)
    return () if asked else (speed.CODE,)


def _headed(findings: list[Finding]) -> tuple[Finding, ...]:
    """What was measured is the verdict: it carries the worst status, so that it stays the headline. Beside its answer,
    questions that these configurations cannot answer are only listed."""
    listed = Status.SKIPPED if _answers(findings) else None
    worst = max((one.status for one in findings if one.status is not listed), default=Status.OK)
    return tuple(replace(one, status=max(one.status, worst)) if one.rule == speed.CODE else one for one in findings)


def _row(bench: Bench, one: Measured) -> list[Scalar]:
    outcome: Scalar = {"say": f"benchmark.outcome.{one.outcome}"}
    if not one.done:
        return [one.name, *[None] * (len(PERCENTILES) + 8), outcome]
    figures: list[Scalar] = [one.rate_per_s, _half_percent(one), *(one.percentile_ms(at) for at in PERCENTILES)]
    memory: list[Scalar] = [one.device_peak_mib, one.host_peak_mib]
    ratio = relative.ratio(bench, one)
    return [one.name, *figures, one.tokens_per_s, one.loading_percent, *memory, one.power_w, ratio, outcome]


def _half_percent(one: Measured) -> float | None:
    """Half the 95 % interval of the throughput, in percent of it."""
    return None if one.rate_interval is None else 50 * (one.rate_interval[1] - one.rate_interval[0]) / one.rate_per_s


def _facts(bench: Bench) -> dict[str, Any]:
    """What another benchmark takes as its baseline, and any other report may cite."""
    settings = {"unit": bench.unit, "axes": list(bench.axes), "repeats": bench.repeats, "no_power": bench.no_power}
    told = {name: value for name, value in bench.facts.items() if name != "simulator"}
    return {**told, **settings, "hardware": bench.hardware, "configurations": [_figures(one) for one in bench.measured]}


def _figures(one: Measured) -> dict[str, Any]:
    about = {"name": one.name, "settings": dict(one.settings), "outcome": one.outcome, "why": one.why}
    if not one.done:
        return about
    low, high = one.rate_interval or (None, None)
    rates = {"rate_per_s": one.rate_per_s, "rate_low_per_s": low, "rate_high_per_s": high,
             "tokens_per_s": one.tokens_per_s, "samples_per_step": one.samples}  # fmt: skip
    times = {f"p{at}_ms": one.percentile_ms(at) for at in PERCENTILES}
    spread = {"steps": len(one.times_s), "runs": len(one.runs_s), "spread_percent": one.spread_percent,
              "drift_percent": one.drift_percent, "loading_percent": one.loading_percent}  # fmt: skip
    kept = {name: value for name, value in asdict(one).items() if name.endswith(("_mib", "_w"))}
    return {**about, **rates, **times, **spread, **kept}
