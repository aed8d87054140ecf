"""Whatever a name, a path, a log or a verdict holds, no page of ours gets an element or an attribute from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ascend_workbook.batch import workbook
from ascend_workbook.batch.acceptance import checklist
from ascend_workbook.batch.execute import Outcome
from ascend_workbook.batch.plan.model import Expected, LeftOut, Plan
from ascend_workbook.batch.results.publish import publish_results
from ascend_workbook.batch.workbook import summarize_run
from ascend_workbook.diagnose import explain
from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.report import Chart, Column, Listing, Report, Table
from ascend_workbook.show import card, html, template
from ascend_workbook.show import timeline_page as timeline
from tests.batch.results.made import ended, item

#: Ends an attribute of either quotes, an element, a script, a comment; brings an element and an attribute of its own.
PLANT = """x"'><planted onplant=alert(1)>&</script></title></style>--><script>alert("planted")</script>"""
#: The same as a file name can be.
NAME = PLANT.replace("/", "")
PROGRAM = "javascript:alert(1)"


class Seen(HTMLParser):
    """All elements and attributes of a page, the texts of its scripts, and all text as a reader sees it."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.names: set[str] = set()
        self.links: list[str] = []
        self.frames: list[str] = []
        self.scripts: list[str] = []
        self.text = ""
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.names |= {name for name, _ in attrs}
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]
        self.frames += [value or "" for name, value in attrs if name == "srcdoc"]
        self.text += " ".join(value or "" for _, value in attrs)
        self._inside = tag if tag in ("script", "style") else ""
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts[-1] += data
        self.text += data


def check(page: str) -> Seen:
    """Raises AssertionError for a page that the plant came alive in; what the page holds."""
    seen = Seen()
    seen.feed(page)
    seen.close()
    assert "planted" not in seen.tags and not {name for name in seen.names if name.startswith("on")}, seen.names
    assert not any(text.strip().startswith("alert(") for text in seen.scripts)
    assert not any(link.strip().lower().startswith("javascript:") for link in seen.links), seen.links
    for frame in seen.frames:
        check(frame)
    return seen


def hostile_report(tmp_path: Path) -> Report:
    """Its finding, place, table, details, listing, part and chart are all the plant."""
    found = Finding("RUN413", Status.FIX, "RUN413.run", {"run": PLANT, "verdict": PLANT}, Place(PLANT))
    columns = (Column("operator"), Column("status"), Column("seconds", "s"), Column("place", detail=True))
    rows = ((PLANT, PLANT, 1.0, PLANT), (f"https://x/{PLANT}", "Good", 2.0, PROGRAM))
    part = Report("profiling", "analyse", (found,), facts={"rank": PLANT}, listing=Listing("diff", PLANT))
    return Report(
        "profiling",
        "analyse",
        (found,),
        Table(columns, rows),
        Chart("bars", "operator", ("seconds",), "s"),
        Listing("diff", f"+{PLANT}\n-{PLANT}\n{PLANT}", "diff"),
        tier="npu-simulated",
        parts=(part,),
        facts={"simulator": {"numerics": "cpu", "faults": [PLANT], "dtypes_unknown": [PLANT]}},
    )


def whole(tmp_path: Path) -> str:
    return html.render_page(hostile_report(tmp_path), "en")


def fragment(tmp_path: Path) -> str:
    return card.render_fragment(hostile_report(tmp_path), "zh")


def error_curve(tmp_path: Path) -> str:
    columns = tuple(map(Column, ("order", "operator", "direction", "error_out", "allowed")))
    table = Table(columns, ((0, PLANT, "forward", 1e-3, 1e-6), (1, PLANT, "forward", 1e-2, 1e-6)))
    chart = Chart("errors", "order", ("error_out",), mark=1, by="direction", limit="allowed")
    return html.render_page(Report("precision", "compare", table=table, chart=chart), "en")


def with_timeline() -> Report:
    data = {"names": [PLANT], "lanes": [{"name": PLANT}], PLANT: "\u2028"}
    return Report("profiling", "timeline", facts={"timeline": data})


def timeline_page(tmp_path: Path) -> str:
    body = timeline.render_view(with_timeline(), "en", f"<p>{len(PLANT)}</p>")
    return template.render_page(PLANT, body, "en")


def timeline_frame(tmp_path: Path) -> str:
    return str(timeline._make_frame(with_timeline(), "en", 620).data)


def explained(tmp_path: Path) -> str:
    log = tmp_path / NAME
    log.write_text(f"Traceback (most recent call last):\nRuntimeError: {PLANT}\n")
    return explain(log).html("en")


def run_page(tmp_path: Path) -> str:
    outcomes = [Outcome("environment", "cell_failed", "k", 1.0, 2, PLANT)]
    result = summarize_run(PLANT, tmp_path, outcomes, ("environment", "migration"), "npu")
    return workbook.render_page(result, tmp_path, outcomes, "en")


def plan_page(tmp_path: Path) -> str:
    done = {name: ended(tmp_path, name, how) for name, how in ((NAME, "error"), (PROGRAM, "oom"), ("known", "red"))}
    done[NAME] = replace(done[NAME], verdict=PLANT, where=PLANT, notes=(PLANT,))
    plan = Plan(
        PLANT,
        tuple(item(name, tags=(PLANT,)) for name in done),
        left_out=(LeftOut(PLANT, PLANT),),
        expect=(Expected("known", "2999-01-01", PLANT), Expected(PLANT, "2999-01-01", PLANT)),
    )
    publish_results(plan, done, tmp_path, "en", finished=True)
    return (tmp_path / "index.html").read_text()


def acceptance_page(tmp_path: Path) -> str:
    args = {"said": PLANT, "date": PLANT, "simulated": False}
    found = (
        Finding("ACP500", Status.FIX, "ACP500.plan", {"runs": PLANT, "accepted": 0}),
        Finding("ACP512", Status.FIX, "accept.evidence", args, Place(PROGRAM)),
        Finding("ACP541", Status.GOOD, "accept.by_hand", {"who": PLANT}, Place(PLANT)),
    )
    report = Report("batch", "accept", found, answers=("ACP500",))
    return checklist.render_page(report, "en") + checklist.render_section(report, "zh", 3, folded="acceptance.html")


def acceptance_of_a_plan(tmp_path: Path) -> str:
    found = Finding("ACP500", Status.FIX, "ACP500.plan", {"runs": PLANT, "accepted": 0}, Place(f"{PLANT}/x.html"))
    return checklist.render_page(Report("batch", "accept", (found, found)), "en")


PRODUCERS = (
    whole,
    fragment,
    error_curve,
    timeline_page,
    timeline_frame,
    explained,
    run_page,
    plan_page,
    acceptance_page,
    acceptance_of_a_plan,
)


@pytest.mark.parametrize("producer", PRODUCERS, ids=lambda producer: str(producer.__name__))
def test_nothing_that_is_shown_comes_alive(producer: Callable[[Path], str], tmp_path: Path) -> None:
    seen = check(producer(tmp_path))
    shown = seen.text + "".join(seen.frames)
    assert "planted" in shown, "what was fed in is not shown: the test would see nothing"


def test_the_check_can_fail() -> None:
    for page in (
        f"<p>{PLANT}</p>",
        f'<a title="{PLANT}">x</a>',
        f'<a href="{PROGRAM}">x</a>',
        f"<script type='application/json'>{PLANT}</script>",
    ):
        with pytest.raises(AssertionError):
            check(page)
