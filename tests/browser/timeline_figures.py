"""Measures the served timeline of a profile of any size in a headless Chromium, and prints the figures as JSON.

`python -m tests.browser.timeline_figures EVENTS`; the times are those of this machine, with what else runs on it."""

from __future__ import annotations

import json
import os
import statistics
import sys
import threading
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from ascend_workbook.profiling.timeline.index import Part, build_index, count_queue
from ascend_workbook.profiling.timeline.page import describe_side
from ascend_workbook.profiling.timeline.server import LOOPBACK, Session, make_server
from ascend_workbook.profiling.timeline.verb import render_page
from tests.profiling.timeline.large import make_large

#: Waits until all that the window needs is drawn; returns the milliseconds since `act` began
SETTLE = """async ([from, to]) => {
  const line = document.querySelector(".timeline").timeline, began = performance.now();
  line.look(from, to);
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
  while (line.busy()) await new Promise(done => setTimeout(done, 1));
  return performance.now() - began;
}"""


def measure(events: int) -> dict[str, Any]:
    """Measure preparing, the first picture, moves, a search and the page's memory."""
    figures: dict[str, Any] = {"load": os.getloadavg()[0], "cores": os.cpu_count()}
    trace = make_large(events)
    began, spent = time.monotonic(), time.process_time()
    queue = count_queue(trace)
    index = build_index([Part(0, trace, (queue,) if queue else ())]).prepare()
    figures |= {
        "events": len(index),
        "prepare_s": time.monotonic() - began,
        "prepare_cpu_s": time.process_time() - spent,
    }
    page = render_page([describe_side(index, "")], "en", remote=True)
    session = Session(page.encode(), [index])
    server = make_server(session)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as play:
        switches = ["--no-sandbox", "--disable-gpu", "--enable-precise-memory-info"]
        browser = play.chromium.launch(executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"), args=switches)
        tab = browser.new_page(viewport={"width": 1280, "height": 900})
        tab.goto("about:blank")
        address = f"http://{LOOPBACK}:{server.server_address[1]}/{session.token}/"
        tab.goto(address)
        line = "document.querySelector('.timeline')?.timeline"
        wait_until(tab, f"Boolean({line}?.tiles.size) && !{line}.busy()")
        figures["first_picture_ms"] = tab.evaluate("performance.now()")
        figures |= move_about(tab, index.span_ns)
        softmax = len([number for number in index.name.tolist() if "softmax" in index.names[number]])
        field = tab.locator("input[type=search]")
        field.fill("softmax")
        wait_until(tab, "document.querySelector('.hits').textContent.includes('hits')")
        figures |= {"softmax": softmax, "softmax_told": tab.locator(".hits").inner_text()}
        field.fill("")
        gathered = tab.context.new_cdp_session(tab)
        gathered.send("HeapProfiler.collectGarbage")
        figures["page_heap_mb"] = tab.evaluate("performance.memory.usedJSHeapSize / 1e6")
        figures["array_buffers_mb"] = tab.evaluate(
            "[...new Set([...document.querySelector('.timeline').timeline.tiles.values()].flatMap(tile => "
            "[...tile.rows.values()].map(row => row[2].begin.buffer)))].reduce((sum, one) => sum + one.byteLength, 0) "
            "/ 1e6"
        )
        processes = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
        figures["renderer_rss_mb"] = max(resident_mb(one["id"]) for one in processes if one["type"] == "renderer")
        if os.environ.get("PICTURE"):
            tab.screenshot(path=os.environ["PICTURE"])
        browser.close()
    server.shutdown()
    return figures


def resident_mb(process: int) -> float:
    """Return what a process holds of the machine's memory."""
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1e3


def wait_until(tab: Page, holds: str) -> None:
    """Wait until an expression holds: the page's policy allows no waiting that evaluates texts."""
    until = time.monotonic() + 120
    while not tab.evaluate(holds):
        if time.monotonic() > until:
            raise TimeoutError(holds)
        time.sleep(0.005)


def move_about(tab: Page, span_ns: int) -> dict[str, Any]:
    """Zoom from the whole to single events, and pan at every third scale; from each move to its complete picture."""
    zooms, pans, width, middle = [], [], span_ns, span_ns * 0.37
    while width > 2_000:
        zooms.append(tab.evaluate(SETTLE, [middle - width / 2, middle + width / 2]))
        if len(zooms) % 3 == 0:
            for step in range(1, 4):
                begin = middle - width / 2 + step * width * 0.3
                pans.append(tab.evaluate(SETTLE, [begin, begin + width]))
        width /= 2
    single = tab.evaluate(
        "(() => { const last = [...document.querySelector('.timeline').timeline.tiles.values()].pop();"
        " const boxes = [...last.rows.values()][0][2]; return [...boxes.count].every(one => one === 1); })()"
    )
    draws = tab.evaluate("document.querySelector('.timeline').timeline.times")
    told = {"zoom_ms": zooms, "pan_ms": pans, "draw_ms": draws}
    summary = {
        f"{name}_{word}": round(of(values), 1)
        for name, values in told.items()
        for word, of in (("median", statistics.median), ("95", lambda some: sorted(some)[int(0.95 * (len(some) - 1))]))
    }
    return {**summary, "every_event_single": single}


if __name__ == "__main__":
    print(json.dumps(measure(int(float(sys.argv[1]))), indent=1))
