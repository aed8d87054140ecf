"""The table of a plan's page: a row per run, red first, to be sorted and filtered."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from helpers.batch.campaign.ended import EXPECTED, GOOD, LEFT_OUT, NOT_RUN
from helpers.batch.results.expected import ended
from helpers.batch.results.links import address, file_link, run_link, stage_link
from helpers.batch.results.rows import NEWLY_RED, Row, StageRow
from helpers.batch.results.summary import Results
from helpers.view.html import badge
from helpers.words import say, show, title

#: Letters of a verdict in a row; the whole stands in the cell's title and on the run's page.
SHORT = 160


def table(results: Results, lang: str) -> str:
    """All runs. The plan's order is the column `#`."""
    stages = tuple(dict.fromkeys(stage.stage for row in results.rows for stage in row.stages))
    compared = results.changes is not None
    heads = ["#", *(title(name, lang) for name in ("planned_run", "run_result", *(["change"] if compared else []))),
             *(title(stage, lang) for stage in stages),
             *(title(name, lang) for name in ("seconds", "tries", "tier", "tags", "verdict"))]  # fmt: skip
    head = "".join(f"<th>{escape(one)}</th>" for one in heads)
    rows = sorted(results.rows, key=_urgency)
    lines = "".join("<tr>" + "".join(_cells(row, stages, lang, compared=compared)) + "</tr>" for row in rows)
    heading = f"<h2>{escape(say('plan.heading.runs', lang))}</h2>"
    made = f'<table class="browse"><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>'
    return f'{heading}<div class="scroll plan">{made}</div>'


def _urgency(row: Row) -> tuple[int, bool, int]:
    """Red, then what did not run or was expected, then what has warnings, then good, then what was left out."""
    order = {NOT_RUN: 1, EXPECTED: 2, LEFT_OUT: 5}
    doubt = 3 if row.status in ("WARN", "SKIPPED") else 4
    return (0 if row.red else order.get(row.state, doubt), row.change != NEWLY_RED, row.number)


def _cells(row: Row, stages: tuple[str, ...], lang: str, *, compared: bool) -> Iterator[str]:
    known = {stage.stage: stage for stage in row.stages}
    yield f"<td>{row.number}</td>"
    yield _td(row.name, _name(row, lang), kind="name")
    yield _td(say(f"plan.state.{row.state}", lang), _state(row, lang))
    if compared:
        yield _td(_change(row, lang), escape(_change(row, lang)))
    for name in stages:
        yield _stage(row, known.get(name), lang)
    yield _td(str(row.ended.seconds) if ended(row) else "", escape(_seconds(row)), kind="s")
    yield _td("", escape(_attempts(row, lang)), plain=True)
    yield _td("", escape(_tier(row, lang)), plain=True)
    yield _td("", escape(" ".join(row.tags)), plain=True)
    verdict = show(row.ended.verdict, lang)
    cut = verdict if len(verdict) <= SHORT else f"{verdict[: SHORT - 1]}…"
    yield f'<td class="why" title="{escape(verdict)}">{escape(cut)}</td>'


def _td(value: str, shown: str, *, kind: str = "", plain: bool = False) -> str:
    """A cell; `value` is what it is sorted and filtered by."""
    told = "" if plain else f' data-value="{escape(value)}"'
    return f"<td{told}{f' class={kind}' if kind else ''}>{shown}</td>"


def _state(row: Row, lang: str) -> str:
    """In the colour of its status: what is not green has none of green's."""
    status = {GOOD: row.status, NOT_RUN: "SKIPPED", LEFT_OUT: "SKIPPED", EXPECTED: "NOTE"}.get(row.state, "FAIL")
    return f'<span class="badge {escape(status)}">{escape(say(f"plan.state.{row.state}", lang))}</span>'


def _stage(row: Row, stage: StageRow | None, lang: str) -> str:
    """The verdict's badge with a link to the report, and the notebook beside it."""
    if stage is None:
        return '<td data-value=""></td>'
    shown = badge(stage.status)
    if f"{stage.stage}/report.html" in row.files:
        where, hover = address(row, f"{stage.stage}/report.html"), escape(show(stage.verdict, lang))
        shown = f'<a class="badge {escape(stage.status)}" href="{where}" title="{hover}">{escape(stage.status)}</a>'
    if f"{stage.stage}/notebook.ipynb" in row.files:
        link = stage_link(row, stage, "notebook.ipynb", "plan.link.notebook", lang)
        shown += f' <span class="files">{link}</span>'
    return f'<td class="s" data-value="{escape(stage.status)}">{shown}</td>'


def _name(row: Row, lang: str) -> str:
    """The run with links to what is there."""
    shown = run_link(row)
    files = _files(row, lang)
    return f'{shown}<br><span class="files">{files}</span>' if files else shown


def _files(row: Row, lang: str) -> str:
    names = [name for name in ("log.txt", "acceptance.html", "reference.html") if name in row.files]
    return " · ".join(file_link(row, name, f"plan.link.{name.partition('.')[0]}", lang) for name in names)


def _change(row: Row, lang: str) -> str:
    return say(f"plan.change.{row.change}", lang) if row.change else ""


def _seconds(row: Row) -> str:
    if not ended(row):
        return ""
    before = f" ({row.before_s:g} s)" if row.change == "slower" and row.before_s is not None else ""
    return f"{row.ended.seconds:g} s{before}"


def _attempts(row: Row, lang: str) -> str:
    return say("plan.reused", lang) if row.ended.reused else str(row.ended.attempts or "")


def _tier(row: Row, lang: str) -> str:
    tier = row.ended.tier
    return f"{tier} ({say('plan.simulated', lang)})" if row.ended.simulated and "simulated" not in tier else tier
