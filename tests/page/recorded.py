"""Runs of the workbook as they were recorded: their reports alone. `python -m tests.page.recorded NAME RUN` packs one.

good: the sample; fault: with `-p precision.fault aten::convolution@3:scale=1.01`; broken: a project that stops.
"""

from __future__ import annotations

import sys
import zipfile
from dataclasses import replace
from pathlib import Path

from ascend_workbook.findings.report import load_report

FOLDER = Path(__file__).parents[1] / "data" / "page"
NAMES = ("good", "fault", "broken")


def unpack_run(name: str, into: Path) -> Path:
    """Unpack a recorded run below `into` and return its folder."""
    with zipfile.ZipFile(FOLDER / f"{name}.zip") as archive:
        archive.extractall(into / name)
    return into / name


def add_plan(run: Path) -> Path:
    """Add a recorded planning stage to a run's folder, of a training that does not fit, and return the folder."""
    with zipfile.ZipFile(FOLDER / "planned.zip") as archive:
        archive.extractall(run)
    report = load_report(run / "report.json")
    words = ["ascend-workbook", "run", "--name", run.name, "--stage", "planning"]
    ended = {"stage": "planning", "state": "red", "seconds": 12.5, "blocked_by": "", "command": words}
    replace(report, facts={**report.facts, "outcomes": [*report.facts["outcomes"], ended]}).save(run)
    return run


def pack_run(name: str, run: Path, *more: str) -> Path:
    """Pack the reports of a run, without the names of this machine's folders (`more` of them).

    All files have one date, so that the same run gives the same bytes.
    """
    files = sorted(path for path in (*run.glob("*.json"), *run.glob("*/*.json")) if path.stat().st_size < 2**22)
    with zipfile.ZipFile(FOLDER / f"{name}.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in files:
            text = path.read_text(encoding="utf-8")
            for place in (run.resolve().parents[1], *map(Path, more), Path.home()):
                text = text.replace(str(place), "/home/me/project")
            archive.writestr(
                zipfile.ZipInfo(path.relative_to(run).as_posix(), (2026, 1, 1, 0, 0, 0)), text, zipfile.ZIP_DEFLATED
            )
    return FOLDER / f"{name}.zip"


if __name__ == "__main__":
    print(pack_run(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:]))
