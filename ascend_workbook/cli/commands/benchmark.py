"""The command line of `benchmark`, which starts without what reads profiles."""

from __future__ import annotations

from ascend_workbook.cli.options import Row, Verb
from ascend_workbook.findings.report import TIERS
from ascend_workbook.profiling.benchmark.presets import PRESETS
from ascend_workbook.profiling.benchmark.script import of_script

VERBS = {
    "benchmark": Verb(
        of_script,
        {
            "device": Row(choices=("auto", *TIERS)),
            "sweep": "NAME=VALUES",
            "loader": "NAME=VALUES",
            "env": "NAME=VALUES",
            "arg": "NAME=VALUES",
            "preset": Row(metavar="NAME", names=(*PRESETS, "all")),
            "baseline": "FILE",
            "out": "DIR",
            "timeout_s": Row("--timeout", metavar="SECONDS"),
            **dict.fromkeys(("steps", "warmup", "repeats", "rounds", "samples", "tokens", "nproc"), "N"),
        },
    ),
}
