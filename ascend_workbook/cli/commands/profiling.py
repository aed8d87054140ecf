"""The command lines of `analyse` and `profile`."""

from __future__ import annotations

import inspect
from functools import partial
from pathlib import Path

from ascend_workbook.cli.options import Row, Verb
from ascend_workbook.findings.report import TIERS, Report
from ascend_workbook.findings.sentence import say
from ascend_workbook.profiling import profile
from ascend_workbook.profiling.answers import analyse
from ascend_workbook.profiling.collecting.options import Options
from ascend_workbook.profiling.export import ENDINGS


def run_analyse(
    call: partial[Report], timeline: str | None = None, perfetto: str | None = None, flame: str | None = None
) -> Report:
    """Analyse, and write the files that were asked for."""
    files = {"timeline": timeline, "perfetto": perfetto, "flame": flame}
    return call(files={name: path for name, path in files.items() if path})


def last_analyse(
    report: Report, lang: str | None, timeline: str | None = None, perfetto: str | None = None, flame: str | None = None
) -> None:
    """Print where the files are."""
    for path in filter(None, (timeline, perfetto, flame)):
        print(say("command.written", lang, path=path))


def run_profile(call: partial[Report], estimate: bool = False) -> Report:
    """Record; or with `estimate` write what the same steps would be by estimates, of a rehearsal without a device."""
    if not estimate:
        return call()
    from ascend_workbook.planning.rehearsal import rehearse

    asked = inspect.signature(call.func).bind(*call.args, **call.keywords)
    asked.apply_defaults()
    arguments = asked.arguments
    cards = arguments["nproc"] if arguments["nproc"] > 1 else None
    return rehearse(
        arguments["script"],
        arguments["args"],
        cards=cards,
        profile=Path(arguments["out"]) / "data",
        timeout_s=arguments["timeout_s"],
    )


VERBS = {
    "analyse": Verb(
        analyse,
        {
            "top": "N",
            "step": "N",
            "baseline": "PROFILE",
            "files": None,
            "steps": "A-B",
            "scheduler": "ADDRESS",
            **{name: Row(metavar="FILE", names=endings) for name, endings in ENDINGS.items()},
        },
        run_analyse,
        last=last_analyse,
        details="--all",
    ),
    "profile": Verb(
        profile,
        {
            "device": Row(choices=("auto", *TIERS)),
            "out": "DIR",
            "level": Row(choices=(0, 1, 2)),
            "metrics": "NAME",
            "export": "FORM",
            "gc_ms": "MS",
            "simplify": Row("--keep-raw"),
            "limit_mib": "MIB",
            "timeout_s": Row("--timeout", metavar="SECONDS"),
            **dict.fromkeys(("steps", "warmup", "wait", "nproc"), "N"),
        },
        run_profile,
        options_of=Options,
    ),
}
