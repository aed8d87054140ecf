"""What msprof-analyze's advisor says of a profile of torch_npu, where that program is installed.

It runs beside us with a time limit and writes into a folder that is removed. It ends with 0 also where it failed, so
its JSON is what counts. Its findings carry its name, and no bound unless it gives one.
https://gitcode.com/Ascend/msprof-analyze
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from helpers.finding import Finding, Status
from helpers.report import Column, Report, Table
from helpers.words import Scalar, language

CODE = "PRF329"
PROGRAM = "msprof-analyze"
SECONDS = 300
#: The table of problems, and its own breakdown, which is no problem, in its two languages
PROBLEMS = ("problems", "问题综述")
NO_PROBLEM = ("Overall Summary", "整网耗时分析")
#: Columns of the table: their headings are in its language
CATEGORY, SAYS, SUGGESTS, INCOME_US = 0, 1, 2, 6


class Silent(Exception):
    """The advisor said nothing that can be used; `key` and `arguments` as in Finding."""

    def __init__(self, key: str, **arguments: Scalar) -> None:
        super().__init__(key)
        self.key, self.arguments = key, arguments


def advised(report: Report, path: str | os.PathLike[str], lang: str | None = None, *, program: str = "") -> Report:
    """The report with one part more: what the advisor says of the profile at `path`, or why it says nothing."""
    try:
        found = _findings(_ask(Path(path), lang, program))
    except Silent as why:
        found = [Finding(CODE, Status.SKIPPED, why.key, why.arguments)]
    rows: tuple[tuple[Scalar, ...], ...] = tuple(
        (one.args["category"], one.args["says"], one.args["suggests"], one.args["gain_ms"])
        for one in found
        if one.status is Status.NOTE
    )
    columns = (Column("advisor_category"), Column("advisor_says", wrap=50), Column("advisor_suggests", wrap=50),
               Column("tuning_bound", "ms"))  # fmt: skip
    part = Report(report.stage, "advisor", tuple(found), Table(columns, rows), tier=report.tier)
    table, headline = report.table, part.headline
    assert headline is not None
    if table is not None and [column.name for column in table.columns] == ["question", "status", "verdict"]:
        row = ({"say": "name.advisor"}, part.status.name, {"say": headline.key, "args": headline.args})
        table = replace(table, rows=(*table.rows, row))
    return replace(report, parts=(*report.parts, part), findings=(*report.findings, headline), table=table)


def _ask(path: Path, lang: str | None, program: str) -> dict[str, Any]:
    found = program or shutil.which(PROGRAM) or shutil.which(PROGRAM, path=str(Path(sys.executable).parent))
    if not found:
        raise Silent("PRF329.absent")
    tongue = "cn" if language(lang) == "zh" else "en"
    with tempfile.TemporaryDirectory(prefix="advisor-") as folder:
        command = [found, "advisor", "all", "-d", str(path.resolve()), "-o", folder, "-l", tongue, "--agent"]
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                env={**os.environ, "TMPDIR": folder},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            raise Silent("PRF329.late", seconds=SECONDS) from late
        except OSError as cause:
            raise Silent("PRF329.failed", error=str(cause)) from cause
    return _told(done.stdout, done.stderr)


def _told(printed: str, errors: str) -> dict[str, Any]:
    """The JSON object that it prints; raises Silent where there is none or it says that it failed."""
    begin = printed.find("{")
    try:
        told = json.loads(printed[begin:]) if begin >= 0 else None
    except ValueError:
        told = None
    if not isinstance(told, dict):
        raise Silent("PRF329.failed", error=(errors or printed).strip()[-200:])
    if told.get("status") != "success" or not isinstance(told.get("message"), dict):
        raise Silent("PRF329.failed", error=str(told.get("message"))[:200])
    message: dict[str, Any] = told["message"]
    return message


def _findings(message: dict[str, Any]) -> list[Finding]:
    problems = next((message[name] for name in PROBLEMS if name in message), None)
    rows = problems.get("data") if isinstance(problems, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, list) and len(row) > INCOME_US for row in rows):
        raise Silent("PRF329.failed", error=f"no problems among {sorted(message)}")
    found = [_finding(row) for row in rows if row[CATEGORY] not in NO_PROBLEM]
    return found or [Finding(CODE, Status.OK, "PRF329.nothing")]


def _finding(row: list[Any]) -> Finding:
    income = row[INCOME_US]
    gain = round(income / 1000, 3) if isinstance(income, (int, float)) and not isinstance(income, bool) else None
    columns = {"category": CATEGORY, "says": SAYS, "suggests": SUGGESTS}
    texts = {name: " ".join(str(row[at] or "").split()) or None for name, at in columns.items()}
    key = "PRF329.found" if gain is None else "PRF329.bound"
    return Finding(CODE, Status.NOTE, key, {**texts, "gain_ms": gain})
