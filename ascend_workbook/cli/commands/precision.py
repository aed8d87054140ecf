"""The command lines of the precision stage, but for `curves`, which starts sooner alone."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import partial

from ascend_workbook.cli.options import Row, Verb
from ascend_workbook.findings.report import TIERS, Report
from ascend_workbook.machine.launch.spec import DRAWS
from ascend_workbook.precision.advice import advise
from ascend_workbook.precision.align import align
from ascend_workbook.precision.attempts.verb import attempts
from ascend_workbook.precision.baselines.verb import baseline
from ascend_workbook.precision.bisect import bisect as capture_both
from ascend_workbook.precision.capture import capture
from ascend_workbook.precision.capturing.options import DATA_MODES, LEVELS, TASKS
from ascend_workbook.precision.compare import around as rows_around
from ascend_workbook.precision.compare import compare
from ascend_workbook.precision.verify import verify
from ascend_workbook.precision.views.factors import tolerances as by_tolerance
from ascend_workbook.precision.views.layers import layers as by_layer
from ascend_workbook.precision.views.questions import CLASSES, OF_COMPARE
from ascend_workbook.precision.watching.findings import CLASSES as OF_WATCH
from ascend_workbook.precision.watching.verb import watch


def _simulator_settings(fault: str, numerics: str) -> dict[str, str]:
    """Return the environment that tells the simulated NPU what to do."""
    requested = {"ASCEND_WORKBOOK_SIM_FAULT": fault, "ASCEND_WORKBOOK_SIM_NUMERICS": numerics}
    return {name: value for name, value in requested.items() if value}


def run_capture(call: partial[Report], bisect: bool = False, fault: str = "", numerics: str = "") -> Report:
    """Capture one side; both sides where the first operator that parts is sought."""
    settings = _simulator_settings(fault, numerics)
    if not bisect:
        return call(settings=settings)
    accepted = inspect.signature(capture_both).parameters
    options = {name: value for name, value in call.keywords.items() if name in accepted}
    return capture_both(**{**options, "settings": settings})


def run_compare(call: partial[Report], *, around: int = 0, replay_on: Sequence[str] | None = None) -> Report:
    """Compare, and keep the rows around the first divergence where that was asked for."""
    tiers = [tier for tier in replay_on if tier != "none"] if replay_on else None
    report = call(replay_on=tiers)
    return rows_around(report, around) if around else report


def show_compare(report: Report, lang: str | None, *, layers: bool = False, tolerances: bool = False) -> bool:
    """Print the views that were asked for, in place of the whole table; the files that are written keep it."""
    for is_asked, view in ((layers, by_layer), (tolerances, by_tolerance)):
        if is_asked:
            print(view(report).text(lang))
    return layers or tolerances


def last_compare(report: Report, lang: str | None, *, attempts: str | None = None) -> None:
    """Print whether the last change helped, where attempts are kept: good news is no remark and stands alone."""
    for finding in report.findings if attempts else ():
        if finding.rule == "ACC285":
            print(finding.message(lang))


def run_verify(call: partial[Report], *, fault: str = "", numerics: str = "") -> Report:
    """Verify, with what the simulated NPU is to do."""
    return call(settings=_simulator_settings(fault, numerics))


VERBS = {
    "advise": Verb(
        advise,
        {"again": "DIR", "log_baseline": "LOG", "log_target": "LOG", "replaying": Row("--replay")},
        details="--details",
    ),
    "align": Verb(
        align,
        {
            "replaying": Row("--no-replay"),
            "replay_budget": "S",
            "only": Row(metavar="NAME", nargs="+"),
            "sample": "SHARE",
            "attempts": "RUN",
            "fail_on": Row(metavar="CLASS", choices=CLASSES),
        },
        details="--all",
    ),
    "attempts": Verb(attempts, {"run": Row("folder", metavar="RUN")}),
    "baseline": Verb(
        baseline,
        {
            "out": "PATH",
            "device": Row(choices=("baseline", "cuda", "cpu")),
            "level": Row(choices=("L0", "L1", "mix")),
            "draws": Row(choices=DRAWS),
            "timing_steps": "N",
            "warmup": "N",
            "samples_per_step": "N",
        },
    ),
    "capture": Verb(
        capture,
        {
            "level": Row(choices=LEVELS),
            "task": Row(choices=TASKS),
            "scope": Row(metavar="NAME", nargs=2),
            "names": Row("--list", metavar="PART", dest="names"),
            "data_mode": Row(metavar="MODE", choices=DATA_MODES),
            "draws": Row(choices=DRAWS),
            "timeout_s": Row("--timeout", metavar="S"),
            "enclosed": None,
            "numerics": Row(choices=("cpu", "ascend")),
        },
        run_capture,
    ),
    "compare": Verb(
        compare,
        {
            "replaying": Row("--no-replay"),
            "replay_budget": "S",
            "replay_on": Row(metavar="TIER", nargs="+", choices=(*TIERS, "none")),
            "cells": "FILE",
            "only": Row(metavar="NAME", nargs="+"),
            "sample": "SHARE",
            "csv": "FILE",
            "scheduler": "ADDRESS",
            "around": "N",
            "attempts": "RUN",
            "fail_on": Row(metavar="CLASS", choices=OF_COMPARE),
            "progress": None,
        },
        run_compare,
        show_compare,
        last_compare,
        details="--all",
    ),
    "verify": Verb(
        verify,
        {
            "model_a": Row("baseline"),
            "model_b": Row("target"),
            "inputs": Row("--inputs"),
            "device_a": Row(choices=("baseline", "auto", *TIERS)),
            "device_b": Row(choices=("auto", *TIERS)),
            "mode": Row(choices=("eval", "train")),
            "required": "RATE",
            "limit": "N",
            "numerics": Row(choices=("cpu", "ascend")),
        },
        run_verify,
        details="--all",
    ),
    "watch": Verb(
        watch,
        {
            "update_every": "N",
            "activation_every": "N",
            "state_mib": "MIB",
            "tensorboard": "DIR",
            "feature_values": Row("--no-feature-values"),
            "baseline": Row("--baseline", choices=("baseline", *TIERS)),
            "fail_on": Row(metavar="CLASS", choices=OF_WATCH),
            "timeout_s": Row("--timeout", metavar="S"),
        },
    ),
}
