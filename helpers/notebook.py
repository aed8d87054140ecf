"""What every notebook begins with: where the project is, where results go, which language is spoken."""

from __future__ import annotations

import io
import os
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers import own_results
from helpers.errors import WorkbookError
from helpers.packages import add, lacking, older
from helpers.report import Report
from helpers.words import Scalar, language, say

#: The project's folder: relative paths in notebook parameters start here, wherever the kernel was started.
ROOT = Path(__file__).resolve().parents[1]
#: The script that notebooks take where no other is given.
SAMPLE = ROOT / "notebooks" / "scripts" / "resnet_digits.py"
#: Where relative result folders begin, if not at the project.
RUNS = "ASCEND_WORKBOOK_RUNS"


@dataclass(frozen=True)
class NotebookRun:
    """One notebook's run: its stage, language, device wish and the folder that receives its results."""

    stage: str
    lang: str
    device: str
    folder: Path

    def path(self, name: str) -> Path:
        """A path from a parameter: absolute, or relative to the project (a file in the kernel's folder wins, and where
        the project has none the user's own results)."""
        given = Path(name).expanduser()
        if given.is_absolute() or given.exists():
            return given.resolve()
        own = results_begin_at() / given
        return own if own.exists() and not (ROOT / given).exists() else ROOT / given

    def place(self, name: str) -> str:
        """A path as `path` finds it; an address such as obs://bucket/x as it is."""
        return name if "://" in name else str(self.path(name))

    def arguments(self, script: Path, given: str, sample: str) -> list[str]:
        """The script's arguments: `given`; for `auto` those that keep SAMPLE short, none for another script."""
        if given.strip() != "auto":
            return shlex.split(given)
        return shlex.split(sample) if script.resolve() == SAMPLE.resolve() else []

    def save(self, report: Report, name: str = "report") -> Report:
        """Writes the report (JSON, HTML, the chart as PNG) into the run's folder and returns it to be shown."""
        report.save(self.folder, self.lang, name=name)
        figure = report.figure(self.lang)
        if figure is not None:
            figure.savefig(self.folder / f"{name}.png", dpi=110, facecolor="white")
        return report

    def picture(self, report: Report) -> Any:
        """The report's chart as a notebook shows it, after one line of text that says what it draws.

        A figure made without pyplot has no picture in a kernel; and tests compare text, never pictures.
        """
        from IPython.display import Image

        from helpers.view.charts import facts

        print(facts(report))
        figure = report.figure(self.lang)
        if figure is None:
            return None
        stream = io.BytesIO()
        figure.savefig(stream, format="png", dpi=100, facecolor="white")
        return Image(stream.getvalue(), alt=report.title(self.lang))

    def progress(self, message: str) -> None:
        """One line of progress on standard error, so that the notebook's own output stays the same in each run."""
        print(message, file=sys.__stderr__, flush=True)


def results_begin_at() -> Path:
    """The folder below which relative result folders lie: `$ASCEND_WORKBOOK_RUNS`; else the project.

    `~/ascend-workbook` where the project is an installation that this user cannot write, as on a server many share.
    """
    told = os.environ.get(RUNS)
    if told:
        return Path(told).expanduser().resolve()
    return ROOT if os.access(ROOT, os.W_OK) or not ROOT.exists() else Path("~/ascend-workbook").expanduser()


def prepare(lang: str | None = None) -> None:
    """Adds the packages that a running notebook needs and the kernel has not; says nothing where it has all.

    Those that are older than asked are named and kept. ASCEND_WORKBOOK_INSTALL=never forbids it. `lang` is what it and
    the reports speak; None: as helpers.words.language decides. Raises WorkbookError `packages.…`; see
    helpers.packages.add.
    """
    os.environ["ASCEND_WORKBOOK_LANG"] = language(lang)
    missing, old = lacking(), older()
    if old:
        print(say("packages.older", lang, names=[*old]), flush=True)
    if not missing:
        return
    told: dict[str, Scalar] = {"names": [*missing], "python": sys.prefix}
    if os.environ.get("ASCEND_WORKBOOK_INSTALL", "").lower() == "never":
        raise WorkbookError("packages.never", **told)
    print(say("packages.adds", lang, **told), flush=True)
    print(say("packages.added", lang, names=[*add(missing)]))


def begin(stage: str, lang: str = "en", run_dir: str = "runs/notebook", device: str = "auto") -> NotebookRun:
    """Makes the stage's folder below `run_dir` and sets the language in which reports are shown."""
    from helpers.launch.child import reading

    reading.watch(listings=False)  # looking for CANN lists half of the machine
    os.environ["ASCEND_WORKBOOK_LANG"] = language(lang)
    base = Path(run_dir).expanduser()
    results = base if base.is_absolute() else results_begin_at() / base
    own_results.mark(results)
    folder = results / stage
    folder.mkdir(exist_ok=True)
    return NotebookRun(stage, lang, device, folder)
