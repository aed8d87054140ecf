"""The command lines of `analyse` and `profile`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path

from ascend_workbook.cli.options import Row, Verb
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.report import TIERS, Report
from ascend_workbook.findings.sentence import Scalar, say
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
    options = dict(arguments.pop("options"))
    ranks, listen = options.pop("ranks", None), arguments["on_progress"]
    refused = [*_list_changed(arguments, ESTIMATED, call.func), *_list_changed(options, (), Options)]
    if refused:
        raise WorkbookError("profiling.not_estimated", options=refused)
    return rehearse(
        arguments["script"],
        arguments["args"],
        cards=arguments["nproc"] if arguments["nproc"] > 1 else None,
        profile=Path(arguments["out"]) / "data",
        timeout_s=arguments["timeout_s"],
        python=arguments["python"],
        on_progress=None if listen is None else lambda rank, progress: listen(progress),
        **({} if ranks is None else {"ranks": ranks}),
    )


#: What a rehearsal takes of that which can be asked of a profile
ESTIMATED = ("script", "args", "out", "nproc", "timeout_s", "python", "on_progress")


def _list_changed(chosen: Mapping[str, object], known: Collection[str], of: Callable[..., object]) -> list[Scalar]:
    """Return the options, as they are written, that are not `known` and ask for something else than their defaults."""
    defaults = {name: parameter.default for name, parameter in inspect.signature(of).parameters.items()}
    changed = [name for name, value in chosen.items() if name not in known and value != defaults[name]]
    flags = {"simplify": "--keep-raw"}
    return [flags.get(name, f"--{'no-' if defaults[name] is True else ''}{name.replace('_', '-')}") for name in changed]


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
