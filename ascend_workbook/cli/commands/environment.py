"""The command lines of `check`, `setup` and `launch-facts`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from ascend_workbook.cli.options import Row, Verb
from ascend_workbook.environment import compare_settings, environment_check, launch_facts, save_settings
from ascend_workbook.environment.installing import set_up
from ascend_workbook.environment.installing.plan import write_kernel
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.report import TIERS, Report
from ascend_workbook.findings.sentence import say
from ascend_workbook.machine.settings import Settings, load_record
from ascend_workbook.machine.settings.record import check_content
from ascend_workbook.precision.capturing import manifest
from ascend_workbook.storage import refuse_unwritable


def run_check(
    call: partial[Report],
    lang: str | None,
    *,
    save: str | None = None,
    capture: str | None = None,
    compare: list[str] | None = None,
    xlsx: str | None = None,
) -> Report:
    """Check, or compare."""
    if capture and not save:
        raise WorkbookError("command.belongs", option="--run", needs="--save", verb="check")
    if xlsx and not compare:
        raise WorkbookError("command.belongs", option="--xlsx", needs="--compare", verb="check")
    if compare and save:
        raise WorkbookError("command.excludes", option="--compare", other="--save", verb="check")
    for path in filter(None, (save, xlsx)):
        refuse_unwritable(path)
    if compare:
        left_settings, right_settings = (_load_side(Path(place)) for place in compare)
        report = compare_settings(left_settings, right_settings)
        if xlsx:
            from ascend_workbook.machine.settings.msprobe import write_xlsx

            write_xlsx(left_settings, right_settings, Path(xlsx))
            print(say("settings.xlsx", lang, path=xlsx))
        return report
    captured = _load_capture(Path(capture)) if capture else None
    report = call()
    if save:
        save_settings(save, report, (captured.about, captured.sides) if captured else None)
        print(say("settings.saved", lang, path=save))
    return report


def _load_side(place: Path) -> Settings:
    if not place.is_dir():
        return load_record(place)
    captured = _load_capture(place)
    try:
        return check_content(asdict(Settings.of_capture(captured.about, captured.sides)))
    except (ValueError, TypeError, AttributeError) as error:
        why = str(error) if isinstance(error, ValueError) else type(error).__name__
        raise WorkbookError("settings.unreadable", path=str(place), error=why) from error


def _load_capture(folder: Path) -> manifest.Manifest:
    capture = manifest.load_manifest(folder)
    if capture is None or not capture.complete:
        raise WorkbookError("settings.no_capture", path=str(folder))
    return capture


def run_setup(
    device: str = "auto",
    *,
    kernelspec: str | None = None,
    display_name: str = "",
    prefix: Path | None = None,
    force: bool = False,
) -> Report:
    """Plan, or write the kernel."""
    if kernelspec is not None:
        return write_kernel(kernelspec, device=device, display_name=display_name, prefix=prefix, replace=force)
    belong = {"--display-name": display_name, "--prefix": prefix, "--force": force}
    for option in (name for name, value in belong.items() if value):
        raise WorkbookError("command.belongs", option=option, needs="--kernelspec", verb="setup")
    return set_up(device, anywhere=True)


def run_launch_facts(script: Sequence[str]) -> Report:
    """Describe the job; the line names `train.py` where no script was given."""
    return launch_facts(tuple(script)) if script else launch_facts()


VERBS = {
    "check": Verb(
        environment_check,
        {
            "device": Row(choices=("auto", *TIERS)),
            "work_folder": "DIR",
            "save": "FILE",
            "capture": Row("--run", metavar="CAPTURE", dest="capture"),
            "compare": Row(metavar=("A", "B"), nargs=2),
            "xlsx": "FILE",
        },
        run_check,
    ),
    "setup": Verb(
        run=run_setup, rows={"device": Row(choices=("auto", *TIERS)), "kernelspec": "NAME", "display_name": "TEXT"}
    ),
    "launch-facts": Verb(run=run_launch_facts, rows={"script": Row(nargs=argparse.REMAINDER)}),
}
