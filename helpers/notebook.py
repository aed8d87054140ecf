"""What every notebook begins with: where the project is, where results go, which language is spoken."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Scalar, choose_language, say
from ascend_workbook.machine.packages import add, missing_packages, outdated_packages
from ascend_workbook.machine.project import ROOT, read_stage_command, results_begin_at
from ascend_workbook.page.render import draw_run
from ascend_workbook.show import card
from ascend_workbook.show.bar import Bar
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
        """Write the report as JSON into the run's folder, with the stage's own the run's page; return it."""
        report = replace(report, command=report.command or read_stage_command())
        report.save(self.folder, name=name)
        if name == "report":
            draw_run(self.folder.parent, self.lang)
        return report

    def picture(self, report: Report) -> card.Shown:
        """Return the report's chart as a cell shows it: in the theme's colours, with facts that only tests read."""
        return card.show_chart(report, self.lang)

    def note(self, **facts: object) -> None:
        """Keep facts in the cell's output that nbval compares and nobody sees."""
        from IPython.display import display

        display(card.Shown("", "", facts))

    def bar(self) -> Bar:
        """Return the cell's progress bar: what is told goes into `progress.log` too."""
        return Bar(self.folder / "progress.log", self.lang)

    def place_card(self) -> None:
        """Show where the verdict comes; `conclude` puts it there."""
        from IPython.display import display

        display(card.show_waiting(self.lang), display_id=f"verdict-{self.stage}")

    def conclude(self, report: Report) -> None:
        """Show the verdict, here and where `place_card` was called. Raises WorkbookError where it is Fix, so that a
        batch turns red."""
        from IPython.display import display, update_display

        page = self.folder.parent / "index.html"
        update_display(card.show_report(report, self.lang, page, short=True), display_id=f"verdict-{self.stage}")
        display(card.show_report(report, self.lang, page))
        try:
            report.or_raise()
        except WorkbookError as error:  # what there is to say stands above: one line instead of the calls
            line = f"{type(error).__name__}: {error}"
            error.__dict__["_render_traceback_"] = lambda: [line]
            raise


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
    (folder / "progress.log").unlink(missing_ok=True)
    return NotebookRun(stage, lang, device, folder)
