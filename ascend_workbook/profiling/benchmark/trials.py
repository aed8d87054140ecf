"""Settings tried beside the script as it is: a run each in turn, round after round, until each is decided.

The order turns round from one round to the next, so that what drifts slows all alike. A setting that fails is one row
with its reason; the rest goes on. What ran before an interruption is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean, median

from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine.device import Device
from ascend_workbook.profiling.benchmark.configurations import Axis, Configuration, combine_axes
from ascend_workbook.profiling.benchmark.deciding import OPEN, Decision, decide
from ascend_workbook.profiling.benchmark.facts import NOT_RUN, Measured, Tried
from ascend_workbook.profiling.benchmark.presets import NEEDS, Trial, find_refusal, lines_to_copy
from ascend_workbook.profiling.benchmark.runs import Run, Runs

#: The script as it is
AS_IT_IS = Configuration("as-is", {})


def trials_of_axes(axes: Sequence[Axis], device: Device, nproc: int) -> list[Trial]:
    """Return a trial for each combination of what is varied and can act here, none where nothing is; behind them one
    that is refused for each value of a variable that cannot act on this device."""
    refusals = {
        axis.name: find_refusal(NEEDS.get(axis.name, ""), device, nproc) for axis in axes if axis.kind == "environment"
    }
    usable = [axis for axis in axes if not refusals.get(axis.name)]
    trials = [Trial(configuration, None) for configuration in (combine_axes(usable) if usable else ())]
    for axis in axes:
        if reason := refusals.get(axis.name):
            trials += [Trial(configuration, reason) for configuration in combine_axes([axis])]
    return trials


def run_trials(runs: Runs, trials: Sequence[Trial], rounds: int) -> list[Measured]:
    """Run the script as it is and every setting that can act, until each is decided or the rounds are over."""
    tried = [trial for trial in trials if trial.refused is None]
    base, others = Run(), [Run() for _ in tried]
    try:
        for number in range(rounds):
            waiting = [at for at, run in enumerate(others) if _is_open(run, base, runs, len(tried))]
            if base.outcome or not waiting:
                break
            _run_round(runs, tried, base, others, waiting, (number, rounds))
    except KeyboardInterrupt:
        runs.interrupted = True
        if not base.times:
            raise
    rows = [runs.summarise_run(AS_IT_IS, base)]
    if not tried:
        rows = [Measured(AS_IT_IS.name, {}, NOT_RUN, Sentence("benchmark.trial.nothing"))]
    of_trial = dict(zip(map(id, tried), others))
    for trial in trials:
        if trial.refused is not None:
            rows.append(Measured(trial.configuration.name, trial.configuration.settings, NOT_RUN, trial.refused))
        elif base.outcome:
            failed = Sentence("benchmark.trial.base_failed")
            rows.append(Measured(trial.configuration.name, trial.configuration.settings, NOT_RUN, failed))
        else:
            rows.append(_summarise_trial(runs, trial, base, of_trial[id(trial)], len(tried)))
    return rows


def _run_round(
    runs: Runs, tried: Sequence[Trial], base: Run, others: Sequence[Run], waiting: list[int], round_of: tuple[int, int]
) -> None:
    """Run the script as it is and the settings that are not decided, once each; every other round the other way."""
    number, rounds = round_of
    order = [-1, *waiting] if number % 2 == 0 else [*reversed(waiting), -1]
    for place, at in enumerate(order, start=1):
        configuration, run = (AS_IT_IS, base) if at < 0 else (tried[at].configuration, others[at])
        about: dict[str, Scalar] = {"round": number + 1, "rounds": rounds, "run": place, "of": len(order)}
        runs.tell("benchmark.trial.run", **about, name=configuration.name)
        runs.run_once(configuration, run, f"{at + 1}.{number}")
        if at < 0 and run.outcome:
            return
        if run.outcome:
            runs.tell("benchmark.trial.failed", name=configuration.name, why=run.why)


def _rates(run: Run, runs: Runs) -> list[float]:
    """Return of each run how many samples, or steps where these are not told, it made a second."""
    rates = []
    for times, timings in zip(run.times, run.told):
        samples = runs.amounts["samples"] or median(timings["samples"][runs.warmup :] or [0])
        rates.append((samples or 1.0) / fmean(times))
    return rates


def _decide(run: Run, base: Run, runs: Runs, settings: int) -> Decision | None:
    """Decide on a setting by the rounds that it and the script as it is both ran; None without any."""
    both = min(len(run.times), len(base.times))
    return decide(_rates(run, runs)[:both], _rates(base, runs)[:both], settings) if both else None


def _is_open(run: Run, base: Run, runs: Runs, settings: int) -> bool:
    decision = _decide(run, base, runs, settings)
    return not run.outcome and (decision is None or decision.verdict == OPEN)


def _summarise_trial(runs: Runs, trial: Trial, base: Run, run: Run, settings: int) -> Measured:
    """Make a setting's row: what was measured, how it stands beside the script as it is, and what to copy."""
    row = runs.summarise_run(trial.configuration, run)
    decision = _decide(run, base, runs, settings)
    if decision is None or not row.done:
        return row
    same = not (trial.configuration.args or trial.configuration.autocast or trial.configuration.loader)
    apart = measure_apart(run.losses[0], base.losses[0]) if same else None
    spread = measure_apart(base.losses[1], base.losses[0]) if len(base.losses) > 1 else None
    lines = tuple(lines_to_copy(trial.configuration))
    outcome = (decision.verdict, decision.ratio, decision.low, decision.high, decision.rounds)
    return replace(row, tried=Tried(*outcome, apart, spread, lines))


def measure_apart(losses: Sequence[float | None], others: Sequence[float | None]) -> float | None:
    """Return how far two runs' losses are apart at most, as a share of the second's; None where neither tells any."""
    pairs = [(loss, other) for loss, other in zip(losses, others) if loss is not None and other is not None]
    return max((abs(loss - other) / max(abs(other), 1e-12) for loss, other in pairs), default=None)
