"""Whatever a name, a path, a log or a verdict holds, no page of ours gets an element or an attribute from it."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ascend_workbook.batch import workbook
from ascend_workbook.batch.execute import Outcome
from ascend_workbook.batch.plan.model import Expected, LeftOut, Plan
from ascend_workbook.batch.results.publish import publish_results
from ascend_workbook.diagnose import explain
from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.report import Chart, Column, Listing, Report, Table
from ascend_workbook.migration.scan import scan
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.timeline.report import report_timeline
from ascend_workbook.profiling.trace import Event, build_trace
from ascend_workbook.show import card
from ascend_workbook.show import timeline_page as timeline
from tests.batch.results.made import ended, item
from tests.page.reading import open_page
from tests.profiling.conftest import US, step
from tests.show.test_timeline_page import seen as seen_in

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
    return hostile_report(tmp_path).html("en")


def packed(tmp_path: Path) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ascend_workbook.page.render.PACKED", 0)
        return hostile_report(tmp_path).html("en")


def code(tmp_path: Path) -> str:
    (tmp_path / "planted.py").write_text(f"import torch\n# {PLANT}\nx = torch.zeros(1).cuda()  # {PLANT}\n")
    return scan(tmp_path).html("en")


def fragment(tmp_path: Path) -> str:
    return card.render_fragment(hostile_report(tmp_path), "zh")


def error_curve(tmp_path: Path) -> str:
    columns = tuple(map(Column, ("order", "operator", "direction", "error_out", "allowed")))
    table = Table(columns, ((0, PLANT, "forward", 1e-3, 1e-6), (1, PLANT, "forward", 1e-2, 1e-6)))
    chart = Chart("errors", "order", ("error_out",), mark=1, by="direction", limit="allowed")
    return Report("precision", "compare", table=table, chart=chart).html("en")


def with_timeline() -> Report:
    events = [step(0, 0, 1000), Event(PLANT, "host_op", PLANT, 100 * US, 80 * US, shape=PLANT)]
    return report_timeline(Profile.from_trace(build_trace(events, source="made", dialect="kineto")), step=0)


def timeline_page(tmp_path: Path) -> str:
    return with_timeline().html("en")


def timeline_frame(tmp_path: Path) -> str:
    return str(timeline._make_frame(with_timeline(), "en", 620).data)


def explained(tmp_path: Path) -> str:
    log = tmp_path / NAME
    log.write_text(f"Traceback (most recent call last):\nRuntimeError: {PLANT}\n")
    return explain(log).html("en")


def run_page(tmp_path: Path) -> str:
    outcomes = [Outcome("environment", "cell_failed", "k", 1.0, 2, PLANT)]
    save_checklist(tmp_path)
    workbook._publish_run(PLANT, tmp_path, ("environment", "migration"), "en", outcomes, tier="npu")
    return (tmp_path / "index.html").read_text()


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


def save_checklist(folder: Path) -> None:
    args = {"said": PLANT, "date": PLANT, "simulated": False}
    found = (
        Finding("ACP500", Status.FIX, "ACP500.plan", {"runs": PLANT, "accepted": 0}),
        Finding("ACP512", Status.FIX, "accept.evidence", args, Place(PROGRAM)),
        Finding("ACP541", Status.GOOD, "accept.by_hand", {"who": PLANT}, Place(PLANT)),
    )
    Report("batch", "accept", found, answers=("ACP500",)).save(folder, name="acceptance")


PRODUCERS = (
    whole,
    packed,
    code,
    fragment,
    error_curve,
    timeline_page,
    timeline_frame,
    explained,
    run_page,
    plan_page,
)


@pytest.mark.parametrize("producer", PRODUCERS, ids=lambda producer: str(producer.__name__))
def test_nothing_that_is_shown_comes_alive(producer: Callable[[Path], str], tmp_path: Path) -> None:
    text = producer(tmp_path)
    seen = check(text)
    shown = seen.text + "".join(seen.frames)
    assert "planted" in open_page(html.unescape(shown) if seen.frames else text), "the test would see nothing"


@pytest.mark.parametrize("producer", [producer for producer in PRODUCERS if producer is not fragment])
def test_nothing_comes_alive_in_a_browser(producer: Callable[[Path], str], tmp_path: Path, browser: str) -> None:
    """In every tab, once the script has drawn it."""
    file = tmp_path / "page.html"
    file.write_text(producer(tmp_path), encoding="utf-8")
    more = {"run_page": ("overview", "env", "code", "run"), "timeline_page": ("report?select=1",)}
    tabs = more.get(producer.__name__, ("report",))
    for tab in tabs:
        dom = seen_in(browser, file, f"#{tab}", tmp_path)
        drawn = check(re.sub(r"<script.*?</script>", "", dom, flags=re.DOTALL))
        assert tab == "code" or "planted" in drawn.text + "".join(drawn.frames), f"{tab} shows nothing of it"


def test_the_check_can_fail() -> None:
    for page in (
        f"<p>{PLANT}</p>",
        f'<a title="{PLANT}">x</a>',
        f'<a href="{PROGRAM}">x</a>',
        f"<script type='application/json'>{PLANT}</script>",
    ):
        with pytest.raises(AssertionError):
            check(page)
