"""The interactive timeline in a real browser: nothing is requested, hostile names stay text, search and links work."""

from __future__ import annotations

import html
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from ascend_workbook.findings.report import Report, join_reports
from ascend_workbook.profiling.facts import Profile, load_profile
from ascend_workbook.profiling.timeline.report import report_timeline
from ascend_workbook.profiling.trace import Event, build_trace
from ascend_workbook.show import timeline_page as page
from ascend_workbook.show.boxed import HEADLESS
from tests.conftest import ROOT
from tests.page.reading import read_page
from tests.profiling.conftest import DATA, US, step

SCRIPT = ROOT / "tools" / "bundle" / "src" / "timeline.js"
HOSTILE = ("</script><img src=x onerror=document.title='bad'>", "<!-- \"quoted\" &amp; 'single' -->", "卷积算子\u2028x")


def hostile() -> Profile:
    events = [step(0, 0, 1000), step(1, 1000, 1000), step(2, 2000, 1000)]
    events += [
        Event(name, "host_op", f"<b>{name}", (1000 * at + 100 * number) * US, 80 * US, shape=name)
        for at in range(3)
        for number, name in enumerate(HOSTILE)
    ]
    return Profile.from_trace(build_trace(events, source="made", dialect="kineto"))


def seen(browser: str, file: Path, fragment: str, folder: Path) -> str:
    """The page's DOM after its scripts ran, and what it asked the network for, as text."""
    log = folder / "net.json"
    switches = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={folder / 'home'}",
        "--dump-dom",
        f"--log-net-log={log}",
        "--virtual-time-budget=3000",
        "--window-size=1200,900",
    ]
    line = [browser, *switches, f"{file.as_uri()}{fragment}"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=90)
    requests = re.findall(r'"url":\s*"((?:https?|wss?)://[^"]*)"', log.read_text(encoding="utf-8", errors="replace"))
    own = [address for address in requests if not re.search(r"google|gstatic|gvt1", address)]  # the browser's updates
    assert own == []
    return done.stdout


def told(dom: str, name: str) -> str:
    found = re.search(rf'class="{name}"[^>]*>(.*?)</(?:output|div)>', dom, re.S)
    assert found, f"nothing of class {name}"
    return html.unescape(re.sub("<[^>]*>", " ", found[1]))


def test_the_page_in_a_browser(browser: str, tmp_path: Path) -> None:
    """Opens, searches, zooms and selects; each changes what is told; hostile names are text."""
    file = tmp_path / "page.html"
    file.write_text(report_timeline(hostile(), step=1).html("zh"), encoding="utf-8")
    dom = seen(browser, file, "", tmp_path)
    assert told(dom, "shown") == "当前范围: 1.000 ms – 2.000 ms (1.000 ms)" and told(dom, "hits") == ""
    assert "<title>时间线 · " in dom and "<img src=x" not in re.sub("<script.*?</script>", "", dom, flags=re.S)
    dom = seen(browser, file, "#report?find=%E5%8D%B7%E7%A7%AF&next=1&from=0.2&to=0.3&select=1", tmp_path)
    assert told(dom, "hits") == "3 处命中, 240.000 us (1/3)"  # one a step
    assert told(dom, "shown") == "当前范围: 190.000 us – 290.000 us (100.000 us)"  # the hit in the middle
    assert "次数 1, 合计 80.000 us" in told(dom, "total")
    dom = seen(browser, file, "#report?from=0&to=0.5&select=1", tmp_path)
    assert "次数 3, 合计 240.000 us" in told(dom, "total")
    assert "onerror" in html.unescape(dom[dom.index('class="total"') :])
    assert "<img src=x" not in re.sub("<script.*?</script>", "", dom, flags=re.S)


@pytest.mark.parametrize("packed", [0, 10**9])
def test_data_inside_a_script_cannot_end_it(packed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ascend_workbook.page.render.PACKED", packed)
    text = report_timeline(hostile(), step=1).html("en")
    (shown,) = read_page(text)["tabs"].values()
    assert shown["facts"]["timeline"]["sides"][0]["names"][-1] in {" ".join(name.split()) for name in HOSTILE}
    assert not [data for data in re.findall(r"<script type=[^>]*>(.*?)</script>", text, re.S) if set(data) & set("<>&")]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_word_of_the_script_is_there(lang: str) -> None:
    words = read_page(report_timeline(hostile(), step=1).html(lang))["words"]
    asked = {f"timeline.{name}" for name in re.findall(r"\bwords\.(\w+)", SCRIPT.read_text(encoding="utf-8"))}
    assert asked - {f"timeline.{name}" for name in ("groups", "kinds", "familys")} <= words.keys() and len(asked) > 15
    assert {f"timeline.group.{name}" for name in ("steps", "host", "streams")} <= words.keys()
    assert all(words[key][lang == "zh"] for key in words if key.startswith("timeline."))


def test_nothing_is_loaded_and_the_script_is_there_once() -> None:
    one = report_timeline(load_profile(DATA / "cuda.pt.trace.json"))
    whole = join_reports("profiling", "analyse", [one, one]).html("en")
    (shown,) = read_page(whole)["tabs"].values()
    assert ["timeline" in part["facts"] for part in shown["parts"]] == [True, True]
    assert len(re.findall("<script>", whole)) == 1
    assert not re.search(r"""(src|href)=["'](?!data:|#)""", whole.split("<script>")[0])
    script = SCRIPT.read_text(encoding="utf-8")
    assert not [way for way in ("fetch(", "XMLHttpRequest(", "import(", "WebSocket(", "EventSource(") if way in script]


def test_a_notebook_shows_it_in_a_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above its picture, which is all that a run without a reader has."""
    pytest.importorskip("ipywidgets")
    report = join_reports("profiling", "analyse", [report_timeline(hostile(), step=1)])
    assert page.timeline_view(report, "zh").data.startswith(b"\x89PNG")
    monkeypatch.delenv(HEADLESS)
    both = page.timeline_view(report, "zh")
    shown = both.box.data
    assert both.still.data.startswith(b"\x89PNG")
    srcdoc = re.search(r'srcdoc="([^"]*)"', shown)
    assert srcdoc and 'sandbox="allow-scripts"' in shown
    framed = read_page(html.unescape(srcdoc[1]))
    assert (framed["kind"], framed["lang"]) == ("report", "zh")
    assert [tab["facts"].keys() for tab in framed["tabs"].values()] == [{"timeline"}]


def test_a_frame_is_as_tall_as_its_lanes_need() -> None:
    said = dict(re.findall(r"\b(ROW|GAP|FOLDED|CURVE|TALLEST) = (\d+)", SCRIPT.read_text(encoding="utf-8")))
    own = {name: str(getattr(page, name)) for name in ("ROW", "GAP", "FOLDED", "CURVE")}
    assert said == {**own, "TALLEST": str(page.STAGE)}
    few = report_timeline(load_profile(DATA / "cuda.pt.trace.json"))
    data = few.facts["timeline"]
    (side,) = data["sides"]

    def with_lanes(many: int) -> Report:
        lanes = [*side["lanes"], *[[0, "host", "one more", 9, 1]] * many]
        return replace(few, facts={"timeline": {**data, "sides": [{**side, "lanes": lanes}]}})

    assert page._needed_height(with_lanes(1)) == page._needed_height(few) + page.ROW + page.GAP
    assert page._needed_height(with_lanes(50)) == min(page.TALLEST, page.AROUND + page.STAGE + 4 * page.STRIP)
