"""The acceptance page: the verdict, the targets, and the checklist by group with links to what ticked each item."""

from __future__ import annotations

from html import escape
from pathlib import Path
from urllib.parse import quote

from helpers.batch.acceptance.checklist import GROUPS, VERDICT, group_of, state
from helpers.finding import Finding
from helpers.report import Report
from helpers.storage import open_storage
from helpers.view import html
from helpers.words import hint, say, title

NAME = "acceptance"
#: Sign and colour of each state.
SIGNS = {"met": ("✓", "OK"), "simulated": ("◐", "NOTE"), "by_hand": ("✓", "NOTE"), "missed": ("✗", "FAIL"),
         "not_looked": ("?", "SKIPPED"), "not_applicable": ("–", "SKIPPED")}  # fmt: skip
STYLE = """
.aw .accept { width: 100%; table-layout: fixed; } .aw .accept th:nth-child(1) { width: 13.5em; }
.aw .accept th:nth-child(2) { width: 24%; } .aw .accept th:nth-child(3) { width: 36%; }
"""


def write(report: Report, folder: Path, lang: str) -> None:
    """acceptance.json and acceptance.html, each whole or not at all."""
    storage = open_storage(str(folder))
    storage.write_text(f"{NAME}.html", render(report, lang))
    storage.write_text(f"{NAME}.json", report.to_json())


def render(report: Report, lang: str) -> str:
    """The whole page."""
    name = report.title(lang)
    body = f"<style>{STYLE}</style>{section(report, lang, 1)}"
    return html.page(name, f'<div class="aw">{body}</div>{html.scripts(body)}', lang)


def folded(report: Report, lang: str) -> str:
    """What a run's page shows: the verdict, the link, and the checklist behind it."""
    said = f"{html.badge(report.status.name)} {escape(report.verdict(lang))}"
    link = f'<a href="{NAME}.html">{escape(report.title(lang))}</a>'
    return f"<style>{STYLE}</style><details><summary>{link}: {said}</summary>{section(report, lang, 3)}</details>"


def section(report: Report, lang: str, level: int) -> str:
    """The checklist by group."""
    pieces = [
        f"<h{level}>{escape(report.title(lang))}</h{level}>",
        f'<p class="verdict">{html.badge(report.status.name)} {escape(report.verdict(lang))}</p>',
        *(f'<p class="simulated">{escape(remark)}</p>' for remark in report.circumstances(lang)),
    ]
    items = [one for one in report.findings if one.rule != VERDICT]
    if not items:
        return "".join([*pieces, _plan(report, lang)])
    for group in GROUPS:
        rows = "".join(_row(one, lang) for one in items if group_of(one.rule) == group)
        heads = ("accept_state", "accept_item", "evidence", "next_step")
        head = "".join(f"<th>{escape(title(name, lang))}</th>" for name in heads)
        pieces.append(f"<h{level + 1}>{escape(say(f'accept.group.{group}', lang))}</h{level + 1}>"
                      f'<table class="accept"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>')  # fmt: skip
    return "".join(pieces)


def _row(one: Finding, lang: str) -> str:
    found = state(one)
    sign, colour = SIGNS[found]
    shown = f'<span class="badge {colour}">{sign} {escape(say(f"accept.state.{found}", lang))}</span>'
    step = say("accept.repeat", lang) if found == "simulated" else hint(f"accept.item.{one.rule}", lang)
    step = step if found in ("missed", "not_looked", "simulated") else ""
    cells = (shown, f"{escape(say(f'accept.item.{one.rule}', lang))} <small>{escape(one.rule)}</small>",
             _evidence(one, lang), escape(step))  # fmt: skip
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _evidence(one: Finding, lang: str) -> str:
    said = escape(one.message(lang))
    if one.place is None:
        return said
    return f'{said}<br><small><a href="{_address(one.place.path)}">{escape(one.place.path)}</a> · ' \
           f"{escape(str(one.args.get('date') or ''))}</small>"  # fmt: skip


def _plan(report: Report, lang: str) -> str:
    """A row per run of a plan."""
    rows = ((html.badge(one.status.name), _link(one), escape(one.message(lang))) for one in report.findings[1:])
    lines = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><tbody>{lines}</tbody></table>"


def _link(one: Finding) -> str:
    path = one.place.path if one.place else ""
    return f'<a href="{_address(path)}">{escape(path.rpartition("/")[0])}</a>'


def _address(path: str) -> str:
    return escape(quote(path, safe="/"))
