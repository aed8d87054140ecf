"""From what was measured to the report: a row per configuration, the rules' findings, facts with units."""

from __future__ import annotations

from dataclasses import asdict, replace

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Chart, Column, Listing, Report, Table
from ascend_workbook.findings.rules import judge_facts, rules_of
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.profiling.benchmark import rules
from ascend_workbook.profiling.benchmark.facts import Bench, Measured, Tried, compute_ratio
from ascend_workbook.profiling.benchmark.rules import measured
from ascend_workbook.profiling.benchmark.rules.trials import find_best

PERCENTILES = (50, 90, 95, 99)


def report_benchmark(bench: Bench) -> Report:
    """Report the benchmark: a row per configuration, the rules' findings and facts that can serve as a baseline."""
    findings = judge_facts(bench, rules_of(rules))
    rate = Column("bench_rate", f"{bench.unit}/s")
    columns = [Column("bench_configuration"), rate, Column("bench_interval", "%", 2)]
    columns += [Column(f"bench_p{percent}", "ms", detail=percent == 90) for percent in PERCENTILES]
    columns += [Column("bench_tokens", "/s"), Column("bench_loading", "%", 3)]
    columns += [Column(f"bench_{where}_peak", "MiB") for where in ("device", "host")]
    columns += [Column("bench_power", "W"), Column("bench_relative", "x")]
    columns += [Column(f"trial_{name}", "%", 3) for name in ("gain", "low", "high")]
    columns += [Column("trial_rounds"), Column("trial_verdict"), Column("bench_outcome")]
    rows = [_make_row(bench, configuration) for configuration in bench.measured]
    shown = [at for at, column in enumerate(columns) if at < 3 or any(row[at] is not None for row in rows)]
    table = Table(tuple(columns[at] for at in shown), tuple(tuple(row[at] for at in shown) for row in rows))
    chart = Chart("bars", "bench_configuration", ("bench_rate",), f"{bench.unit}/s") if bench.successful else None
    facts = {"benchmark": _collect_facts(bench), "simulator": bench.facts.get("simulator") or {}}
    listed = Status.NOT_LOOKED if _answered_codes(findings) else None
    worst = max((finding.status for finding in findings if finding.status is not listed), default=Status.GOOD)
    headlines, answers = (
        tuple(
            replace(finding, status=max(finding.status, worst)) if finding.rule == measured.SPEED else finding
            for finding in findings
        ),
        _answered_codes(findings),
    )
    lines = _list_best(bench)
    return Report(
        "profiling", "benchmark", headlines, table, chart, lines, facts=facts, tier=bench.tier, answers=answers
    )


def _list_best(bench: Bench) -> Listing | None:
    """Return the best setting as lines to copy; None where none is faster beyond doubt."""
    best = find_best(bench) if bench.trial else None
    tried = best.tried if best else None
    return Listing("trial_lines", "\n".join(tried.lines) + "\n", "bash") if tried else None


def _answered_codes(findings: list[Finding]) -> tuple[str, ...]:
    """Return the codes that the report answers; none where its baseline cannot be held against it."""
    asked = any(finding.rule == measured.AGAINST and finding.status is Status.NOT_LOOKED for finding in findings)
    return () if asked else (measured.SPEED,)


def _make_row(bench: Bench, configuration: Measured) -> list[Scalar]:
    """Return the table's row of a configuration."""
    outcome: Scalar = Sentence(f"benchmark.outcome.{configuration.outcome}")
    if not configuration.done:
        return [configuration.name, *[None] * (len(PERCENTILES) + 13), outcome]
    percentiles = [configuration.percentile_ms(at) for at in PERCENTILES]
    low, high = configuration.rate_interval or (None, None)
    half = None if low is None or high is None else 50 * (high - low) / configuration.rate_per_s  # the interval's, in %
    speed = [configuration.rate_per_s, half, *percentiles, configuration.tokens_per_s, configuration.loading_percent]
    memory = [configuration.device_peak_mib, configuration.host_peak_mib, configuration.power_w]
    ratio = compute_ratio(bench, configuration)
    return [configuration.name, *speed, *memory, ratio, *_trial_cells(configuration.tried), outcome]


def _trial_cells(tried: Tried | None) -> list[Scalar]:
    """Return what a trial says of a setting: its gain in percent, between which bounds, by how many rounds."""
    if tried is None:
        return [None] * 5
    shares = (None if ratio is None else 100 * (ratio - 1) for ratio in (tried.ratio, tried.low, tried.high))
    return [*shares, tried.rounds, Sentence(f"benchmark.trial.{tried.verdict}")]


def _collect_facts(bench: Bench) -> dict[str, object]:
    """Collect what another benchmark takes as its baseline, and any other report may cite."""
    settings = {"unit": bench.unit, "axes": list(bench.axes), "repeats": bench.repeats, "no_power": bench.no_power}
    settings["trial"] = bench.trial
    facts = {name: value for name, value in bench.facts.items() if name != "simulator"}
    configurations = [_collect_figures(configuration) for configuration in bench.measured]
    return {**facts, **settings, "hardware": bench.hardware, "configurations": configurations}


def _collect_figures(configuration: Measured) -> dict[str, object]:
    """Collect the numbers of one configuration, with units in their names."""
    about: dict[str, object] = {
        "name": configuration.name,
        "settings": dict(configuration.settings),
        "outcome": configuration.outcome,
        "why": configuration.why,
    }
    if not configuration.done:
        return about
    low, high = configuration.rate_interval or (None, None)
    rates = {"rate_per_s": configuration.rate_per_s, "rate_low_per_s": low, "rate_high_per_s": high}
    rates |= {"tokens_per_s": configuration.tokens_per_s, "samples_per_step": configuration.samples}
    times = {f"p{at}_ms": configuration.percentile_ms(at) for at in PERCENTILES}
    percents = ("spread_percent", "drift_percent", "loading_percent")
    spread: dict[str, object] = {"steps": len(configuration.times_s), "runs": len(configuration.runs_s)}
    spread |= {name: getattr(configuration, name) for name in percents}
    spread["trial"] = asdict(configuration.tried) if configuration.tried else None
    resources = {name: value for name, value in asdict(configuration).items() if name.endswith(("_mib", "_w"))}
    return {**about, **rates, **times, **spread, **resources}
