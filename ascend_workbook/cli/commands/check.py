"""The command line of `check`."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path

from ascend_workbook.cli.options import Row, Verb
from ascend_workbook.environment import compare_settings, environment_check, save_settings
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.report import TIERS, Report
from ascend_workbook.findings.sentence import say
from ascend_workbook.machine.settings import Settings, load_record
from ascend_workbook.machine.settings.record import check_content
from ascend_workbook.precision.capturing import manifest
from ascend_workbook.storage import refuse_unwritable


def run(
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
        return _compare_settings(compare, xlsx, lang)
    captured = _load_capture(Path(capture)) if capture else None
    report = call()
    if save:
        save_settings(save, report, (captured.about, captured.sides) if captured else None)
        print(say("settings.saved", lang, path=save))
    return report


def _compare_settings(places: list[str], xlsx: str | None, lang: str | None) -> Report:
    left_settings, right_settings = (_load_side(Path(place)) for place in places)
    report = compare_settings(left_settings, right_settings)
    if xlsx:
        from ascend_workbook.machine.settings.msprobe import write_xlsx

        write_xlsx(left_settings, right_settings, Path(xlsx))
        print(say("settings.xlsx", lang, path=xlsx))
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


ROWS = {
    "device": Row(choices=("auto", *TIERS)),
    "work_folder": Row(metavar="DIR"),
    "save": Row(metavar="FILE"),
    "capture": Row("--run", metavar="CAPTURE", dest="capture"),
    "compare": Row(metavar=("A", "B"), nargs=2),
    "xlsx": Row(metavar="FILE"),
}
EXAMPLES = """
  ascend-workbook check
  ascend-workbook check --device npu
  ascend-workbook check --no-compute --json check.json
  ascend-workbook check --device cpu  # computes on the CPU too
  ascend-workbook check --lang zh --html check.html
  ascend-workbook check --save npu.json
  ascend-workbook check --no-compute --save npu.json --run runs/demo/npu
  ascend-workbook check --compare gpu.json npu.json
  ascend-workbook check --compare runs/demo/baseline runs/demo/npu --xlsx settings.xlsx
"""
VERB = Verb(environment_check, ROWS, run, examples=EXAMPLES)
