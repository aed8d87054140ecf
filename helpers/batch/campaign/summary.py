"""The runs of a plan as one Report, with its page, summary.json and junit.xml."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from html import escape
from pathlib import Path

from helpers.batch.campaign.ended import NOT_RUN, Ended
from helpers.batch.plan.model import Plan
from helpers.finding import Finding, Place, Status
from helpers.report import Chart, Column, Report, Table
from helpers.storage import open_storage
from helpers.view import html
from helpers.words import Scalar, say, show, title


def publish(plan: Plan, ended: Mapping[str, Ended], folder: Path, lang: str) -> Report:
    """Writes index.html, report.json, summary.json and junit.xml as things stand."""
    rows = [ended.get(item.name) or Ended(item.name, NOT_RUN, "SKIPPED", {"say": "RUN400.not_run"})
            for item in plan.items]  # fmt: skip
    report = summary(plan, rows, folder)
    storage = open_storage(str(folder))
    storage.write_text("index.html", page(report, rows, lang))
    storage.write_text("report.json", report.to_json())
    storage.write_text("junit.xml", report.junit(lang))
    content = {"plan": plan.name, "status": report.status.name, "runs": [asdict(row) for row in rows]}
    storage.write_text("summary.json", json.dumps(content, ensure_ascii=False, indent=1))
    return report


def summary(plan: Plan, rows: list[Ended], folder: Path) -> Report:
    """A row per run and a finding for each that is not good."""
    names = ("planned_run", "run_result", "status", "verdict", "tier")
    columns = (*(Column(name) for name in names), Column("seconds", "s"))
    table = Table(columns, tuple(
        (row.name, {"say": f"plan.state.{row.state}"}, row.status, row.verdict, row.tier, row.seconds) for row in rows
    ))  # fmt: skip
    findings = [_finding(row) for row in rows]
    red = sum(row.red for row in rows)
    waiting = sum(row.state == NOT_RUN for row in rows)
    status = Status.FAIL if red else Status.SKIPPED if waiting else max(Status[row.status] for row in rows)
    args: dict[str, Scalar] = {"runs": len(rows), "red": red, "waiting": waiting}
    findings.append(Finding("RUN410", status, "RUN410.total", args, weight=300))
    return Report("batch", "run", tuple(findings), table, Chart("bars", "planned_run", ("seconds",), "s"),
                  facts={"name": plan.name, "page": str(folder / "index.html"), "runs": [asdict(row) for row in rows],
                         "simulated": any(row.simulated for row in rows)})  # fmt: skip


def _finding(row: Ended) -> Finding:
    status = Status.FAIL if row.red else Status[row.status]
    said: dict[str, Scalar] = {"run": row.name, "verdict": row.verdict}
    return Finding("RUN410", status, "RUN410.run", said, Place(f"{row.name}/index.html"), weight=20 if row.red else 10)


def page(report: Report, rows: list[Ended], lang: str) -> str:
    """The index: a row per run with its links. Static, opens offline."""
    assert report.table
    name = f"{title('run', lang)}: {report.facts['name']}"
    heads = "".join(f"<th>{escape(title(column.name, lang))}</th>" for column in report.table.columns)
    lines = "".join(_line(row, lang) for row in rows)
    body = (f'<h1>{escape(name)}</h1><p class="verdict">{html.badge(report.status.name)} '
            f"{escape(report.verdict(lang))}</p><table><thead><tr>{heads}</tr></thead>"
            f"<tbody>{lines}</tbody></table>")  # fmt: skip
    return html.page(name, f'<div class="aw">{body}</div>{html.scripts(body)}', lang)


def _line(row: Ended, lang: str) -> str:
    link = f'<a href="{escape(row.name)}/index.html">{escape(row.name)}</a>'
    cells = (link, escape(say(f"plan.state.{row.state}", lang)), html.badge("FAIL" if row.red else row.status),
             escape(show(row.verdict, lang)), escape(row.tier), f"{row.seconds} s")  # fmt: skip
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
