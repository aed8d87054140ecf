"""What msprof-analyze's advisor says of a profile of torch_npu, where that program is installed.

It runs beside us with a time limit and writes into a folder that is removed. It ends with 0 also where it failed, so
its JSON is what counts. Its findings carry its name, and no bound unless it gives one.
https://gitcode.com/Ascend/msprof-analyze"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.rules import CannotCheck
from ascend_workbook.findings.sentence import Scalar, Sentence, choose_language

CODE = "PRF329"
PROGRAM = "msprof-analyze"
SECONDS = 300
#: The table of problems, and its own breakdown, which is no problem, in its two languages
PROBLEMS = ("problems", "问题综述")
NO_PROBLEM = ("Overall Summary", "整网耗时分析")
#: Columns of the table: their headings are in its language
CATEGORY, SAYS, SUGGESTS, INCOME_US = 0, 1, 2, 6


def add_advisor_part(
    report: Report, path: str | os.PathLike[str], lang: str | None = None, *, program: str = ""
) -> Report:
    """Return the report with one part more: what the advisor says of the profile at `path`, or why it says nothing."""
    try:
        findings = _read_findings(_run_advisor(Path(path), lang, program))
    except CannotCheck as silent:
        findings = [Finding(CODE, Status.NOT_LOOKED, silent.key, silent.arguments)]
    rows: tuple[tuple[Scalar, ...], ...] = tuple(
        (finding.args["category"], finding.args["says"], finding.args["suggests"], finding.args["gain_ms"])
        for finding in findings
        if finding.status is Status.NOTE
    )
    texts = (Column("advisor_says", wrap=50), Column("advisor_suggests", wrap=50))
    columns = (Column("advisor_category"), *texts, Column("tuning_bound", "ms"))
    part = Report(report.stage, "advisor", tuple(findings), Table(columns, rows), tier=report.tier)
    table, headline = report.table, part.headline
    assert headline is not None
    if table is not None and [column.name for column in table.columns] == ["question", "status", "verdict"]:
        row = (Sentence("name.advisor"), part.status.json, Sentence(headline.key, **headline.args))
        table = replace(table, rows=(*table.rows, row))
    return replace(report, parts=(*report.parts, part), findings=(*report.findings, headline), table=table)


def _run_advisor(path: Path, lang: str | None, program: str) -> dict[str, object]:
    """Run the advisor on the profile and return its answer; raises CannotCheck where it gives none."""
    executable = program or shutil.which(PROGRAM) or shutil.which(PROGRAM, path=str(Path(sys.executable).parent))
    if not executable:
        raise CannotCheck("PRF329.absent")
    advisor_language = "cn" if choose_language(lang) == "zh" else "en"
    with tempfile.TemporaryDirectory(prefix="advisor-") as folder:
        where = ["-d", str(path.resolve()), "-o", folder]
        command = [executable, "advisor", "all", *where, "-l", advisor_language, "--agent"]
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
            raise CannotCheck("PRF329.late", seconds=SECONDS) from late
        except OSError as cause:
            raise CannotCheck("PRF329.failed", error=str(cause)) from cause
    return _parse_answer(done.stdout, done.stderr)


def _parse_answer(printed: str, errors: str) -> dict[str, object]:
    """Return the JSON object that the advisor prints; raises CannotCheck where there is none or it failed."""
    begin = printed.find("{")
    try:
        answer = json.loads(printed[begin:]) if begin >= 0 else None
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise CannotCheck("PRF329.failed", error=(errors or printed).strip()[-200:])
    if answer.get("status") != "success" or not isinstance(answer.get("message"), dict):
        raise CannotCheck("PRF329.failed", error=str(answer.get("message"))[:200])
    message: dict[str, object] = answer["message"]
    return message


def _read_findings(message: dict[str, object]) -> list[Finding]:
    """Return a finding for each problem in the advisor's answer."""
    problems = next((message[name] for name in PROBLEMS if name in message), None)
    rows = problems.get("data") if isinstance(problems, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, list) and len(row) > INCOME_US for row in rows):
        raise CannotCheck("PRF329.failed", error=f"no problems among {sorted(message)}")
    findings = [_make_finding(row) for row in rows if row[CATEGORY] not in NO_PROBLEM]
    return findings or [Finding(CODE, Status.GOOD, "PRF329.nothing")]


def _make_finding(row: list[object]) -> Finding:
    income = row[INCOME_US]
    gain = round(income / 1000, 3) if isinstance(income, (int, float)) and not isinstance(income, bool) else None
    columns = {"category": CATEGORY, "says": SAYS, "suggests": SUGGESTS}
    texts = {name: " ".join(str(row[at] or "").split()) or None for name, at in columns.items()}
    return Finding(CODE, Status.NOTE, "PRF329.found" if gain is None else "PRF329.bound", {**texts, "gain_ms": gain})
