"""The timeline in a browser: what is offline and what is served draw the same, by hand, by keys and for those who
cannot see."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ascend_workbook.profiling.timeline.index import Index, Part, build_index, count_queue
from ascend_workbook.profiling.timeline.page import describe_side, pack_side
from ascend_workbook.profiling.timeline.server import LOOPBACK, Session, make_server
from ascend_workbook.profiling.timeline.verb import render_page, show_timeline
from tests.browser import axe
from tests.profiling.conftest import DATA
from tests.profiling.timeline.large import make_large

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

#: Every tile of these scales as one text, the same whoever made them; the colour of a box of several may be another's
TILES = """async () => {
  const [source] = document.querySelector(".timeline").timeline.sources, told = [];
  const rows = [...Array(Math.max(...source.lanes.map(lane => lane[3] + lane[4]))).keys()];
  for (const z of [0, 9, 12, 16, 22]) for (const x of [0, 1, 7]) {
    const {boxes} = await source.tile(z, x, rows);
    const list = [...boxes.row].map((row, at) => [row, boxes.begin[at], boxes.length[at], boxes.own[at],
      boxes.count[at], boxes.place[at],
      ...(boxes.place[at] < 0 ? [] : [boxes.name[at], boxes.kind[at], boxes.family[at]])]);
    told.push(list.sort((one, other) => one[0] - other[0] || one[1] - other[1]).join(";"));
  }
  const found = await source.find("softmax"), hit = await source.hit("softmax", 500), row = [...rows];
  const sum = await source.sum(1e6, 2e6, row, "");
  told.push(JSON.stringify([found.count, found.total_ns, hit.place, hit.by, hit.launched, sum.count,
    Object.entries(sum.families).sort()]));
  told.push([...await source.curve(0, 0, 1e7, 50)].join(), [...await source.strip("softmax", 0, 1e7, 50)].join());
  return told;
}"""


def opened(chromium: Browser, address: str) -> tuple[Page, list[str]]:
    page, faults = chromium.new_page(viewport={"width": 1200, "height": 900}), []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(address)
    page.locator(".timeline .stage canvas").wait_for()
    page.wait_for_timeout(800)
    return page, faults


def made() -> Index:
    trace = make_large(12_000, per_step=1_200, every_ns=5_000)
    queue = count_queue(trace)
    assert queue is not None
    return build_index([Part(0, trace, (queue,))])


def test_offline_and_served_are_the_same(chromium: Browser, tmp_path: Path) -> None:
    index = made()
    file = tmp_path / "offline.html"
    file.write_text(render_page([pack_side(index, "")], "en", remote=False), encoding="utf-8")
    session = Session(render_page([describe_side(index, "")], "en", remote=True).encode(), [index])
    server = make_server(session)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        told = []
        for address in (file.as_uri(), f"http://{LOOPBACK}:{server.server_address[1]}/{session.token}/"):
            page, faults = opened(chromium, address)
            told.append(page.evaluate(TILES))
            page.locator("input[type=search]").fill("softmax")
            page.wait_for_timeout(1500)
            softmax = sum("softmax" in index.names[number] for number in index.name.tolist())
            assert page.locator(".hits").inner_text().startswith(f"{softmax} hits")
            assert not faults
            page.close()
        assert told[0] == told[1]
        assert sum(map(len, told[0])) > 10_000 and np.diff(index.key).min() > 0
    finally:
        server.shutdown()
        server.server_close()


@axe.needed
def test_two_profiles_are_for_everyone(chromium: Browser, tmp_path: Path, pictures: Path) -> None:
    file = tmp_path / "two.html"
    show_timeline(DATA / "timeline_ascend_pt", baseline=DATA / "cuda.pt.trace.json", out=str(file), lang="en")
    page, faults = opened(chromium, file.as_uri())
    page.locator(".stage canvas").focus()
    page.keyboard.press("s")
    page.wait_for_timeout(500)
    families = page.locator(".selected table").first.inner_text()
    assert "convolution" in families and "difference" in families
    page.keyboard.press("]")
    page.locator("input[type=search]").fill("conv")
    page.keyboard.press("Enter")
    page.wait_for_timeout(800)
    page.screenshot(path=str(pictures / "timeline-two.png"), full_page=True)
    assert axe.find_violations(page) == [] and not faults
