"""The acceptance page: the verdict, the targets, and the checklist by group with links to what ticked each item."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from ascend_workbook.batch.acceptance.checklist import GROUPS, VERDICT, group_of, state_of_finding
from ascend_workbook.findings.finding import Finding
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import hint, say
from ascend_workbook.show import template
from ascend_workbook.storage import open_storage

NAME = "acceptance"
#: Sign and colour of each state.
SIGNS = {
    "met": ("✓", "OK"),
    "simulated": ("◐", "NOTE"),
    "by_hand": ("✓", "NOTE"),
    "missed": ("✗", "FAIL"),
    "not_looked": ("?", "SKIPPED"),
    "not_applicable": ("–", "SKIPPED"),
}


def write_page(report: Report, folder: Path, lang: str) -> None:
    """Write acceptance.json and acceptance.html, each whole or not at all."""
    storage = open_storage(str(folder))
    storage.write_text(f"{NAME}.html", render_page(report, lang))
    storage.write_text(f"{NAME}.json", report.to_json())


def render_page(report: Report, lang: str) -> str:
    """Render the whole page."""
    return template.render_page(report.title(lang), render_section(report, lang, 1), lang)


def render_section(report: Report, lang: str, level: int, *, folded: str = "") -> Markup:
    """Render the checklist by group, or a row per run of a plan.

    `folded`: the page of a run, where the list stands behind the verdict with a link to its own page.
    """
    items = [_describe_item(finding, lang) for finding in report.findings if finding.rule != VERDICT]
    groups = [(group, [item for item in items if item["group"] == group]) for group in GROUPS if items]
    return template.render_template(
        "acceptance.html", report=report, lang=lang, level=level, groups=groups, folded=folded, quote=quote
    )


def _describe_item(finding: Finding, lang: str) -> dict[str, Any]:
    """Describe a row of the checklist."""
    now = state_of_finding(finding)
    sign, colour = SIGNS[now]
    step = say("accept.repeat", lang) if now == "simulated" else hint(f"accept.item.{finding.rule}", lang)
    step = step if now in ("missed", "not_looked", "simulated") else ""
    return {
        "finding": finding,
        "group": group_of(finding.rule),
        "state": now,
        "sign": sign,
        "colour": colour,
        "step": step,
    }
