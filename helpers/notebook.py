"""What every notebook begins with: where the project is, where results go, which language is spoken."""

from __future__ import annotations

import io
import os
import shlex
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Scalar, choose_language, say
from ascend_workbook.machine.packages import add, missing_packages, outdated_packages
from ascend_workbook.machine.project import ROOT, read_stage_command, results_begin_at
from ascend_workbook.storage.saving import mark_results

#: The script that notebooks take where no other is given.
SAMPLE = ROOT / "notebooks" / "scripts" / "resnet_digits.py"


@dataclass(frozen=True)
class NotebookRun:
    """One notebook's run: its stage, language, device wish and the folder that receives its results."""

    stage: str
    lang: str
    device: str
    folder: Path

    def path(self, name: str) -> Path:
        """Return the path of a parameter: absolute, or relative to the project (a file in the kernel's folder wins)."""
        path = Path(name).expanduser()
        if path.is_absolute() or path.exists():
            return path.resolve()
        own = results_begin_at() / path
        return own if own.exists() and not (ROOT / path).exists() else ROOT / path

    def place(self, name: str) -> str:
        """Return a path as `path` finds it; an address such as obs://bucket/x as it is."""
        return name if "://" in name else str(self.path(name))

    def arguments(self, script: Path, words: str, sample: str) -> list[str]:
        """Return the script's arguments: those given; for `auto` those of `sample` for SAMPLE, none for another."""
        if words.strip() != "auto":
            return shlex.split(words)
        return shlex.split(sample) if script.resolve() == SAMPLE.resolve() else []

    def save(self, report: Report, name: str = "report") -> Report:
        """Write the report (JSON, HTML, the chart as PNG) into the run's folder and return it to be shown."""
        report = replace(report, command=report.command or read_stage_command())
        report.save(self.folder, self.lang, name=name)
        figure = report.figure(self.lang)
        if figure is not None:
            figure.savefig(self.folder / f"{name}.png", dpi=110, facecolor="white")
        return report

    def picture(self, report: Report) -> Any:
        """Return the report's chart as a notebook shows it, after one line of text that says what it draws.

        A figure made without pyplot has no picture in a kernel; and tests compare text, never pictures.
        """
        from IPython.display import Image

        from ascend_workbook.show.charts import describe_chart

        print(describe_chart(report))
        figure = report.figure(self.lang)
        if figure is None:
            return None
        stream = io.BytesIO()
        figure.savefig(stream, format="png", dpi=100, facecolor="white")
        return Image(stream.getvalue(), alt=report.title(self.lang))

    def progress(self, message: str) -> None:
        """Print one line of progress on standard error: the notebook's own output stays the same in each run."""
        print(message, file=sys.__stderr__, flush=True)


def prepare(lang: str | None = None) -> None:
    """Add the packages that a running notebook needs and the kernel has not; say nothing where it has all.

    Those that are older than asked are named and kept. ASCEND_WORKBOOK_INSTALL=never forbids it. `lang` is what it and
    the reports speak; None: as ascend_workbook.findings.sentence.choose_language decides. Raises WorkbookError
    `packages.…`; see ascend_workbook.machine.packages.add.
    """
    os.environ["ASCEND_WORKBOOK_LANG"] = choose_language(lang)
    missing, old = missing_packages(), outdated_packages()
    if old:
        print(say("packages.older", lang, names=[*old]), flush=True)
    if not missing:
        return
    facts: dict[str, Scalar] = {"names": [*missing], "python": sys.prefix}
    if os.environ.get("ASCEND_WORKBOOK_INSTALL", "").lower() == "never":
        raise WorkbookError("packages.never", **facts)
    print(say("packages.adds", lang, **facts), flush=True)
    print(say("packages.added", lang, names=[*add(missing)]))


def begin(stage: str, lang: str = "en", run_dir: str = "runs/notebook", device: str = "auto") -> NotebookRun:
    """Make the stage's folder below `run_dir` and set the language in which reports are shown."""
    from ascend_workbook.machine.launch.child import reading

    reading.watch_reading(listings=False)  # looking for CANN lists half of the machine
    os.environ["ASCEND_WORKBOOK_LANG"] = choose_language(lang)
    base = Path(run_dir).expanduser()
    results = base if base.is_absolute() else results_begin_at() / base
    mark_results(results)
    folder = results / stage
    folder.mkdir(exist_ok=True)
    return NotebookRun(stage, lang, device, folder)
