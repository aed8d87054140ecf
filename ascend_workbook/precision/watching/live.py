"""A watched run shown while it goes on: loss, gradient norm and alarms in one picture that is drawn anew."""

from __future__ import annotations

import io
import time
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import say
from ascend_workbook.precision.watching.reading import FILE, read_watched
from ascend_workbook.precision.watching.verb import report_run
from ascend_workbook.show.charts import draw_chart, save_svg


def follow_watched(
    place: str | Path,
    *,
    lang: str | None = None,
    every_s: float = 2.0,
    idle_s: float = 60.0,
    timeout_s: float = 600.0,
) -> Report:
    """Show a watched run's picture in a notebook, drawn anew every `every_s` seconds while its file grows.

    `place` is the folder of `watch` or its `watch.jsonl`. It ends with the run, after `idle_s` without anything new,
    after `timeout_s` (0: looks once), or at a stop of the cell. The last picture stays, also where nobody looks on, and
    the report is returned. Raises WorkbookError where there is no watched run by then."""
    path = Path(place)
    path = path / FILE if path.is_dir() or not path.suffix else path
    began = fresh = time.monotonic()
    size, picture = -1, _Picture(lang)
    try:
        while True:
            now = time.monotonic()
            grown = path.stat().st_size if path.is_file() else 0
            if grown != size:
                size, fresh = grown, now
                if _show_now(path, picture):
                    break
            if now - fresh >= idle_s or now - began >= timeout_s:
                break
            time.sleep(every_s)
    except KeyboardInterrupt:
        pass  # the user has seen enough; the run goes on
    return report_run(path.parent if path.name == FILE else path, (), None, tier="")


def _show_now(path: Path, picture: _Picture) -> bool:
    """Draw what is there and return whether the run has ended; what is being written may not be readable yet."""
    try:
        watched = read_watched(path)
        if watched.records:
            picture.draw(report_run(path, (), None, tier=""))
    except WorkbookError:
        return False
    return bool(watched.end)


class _Picture:
    """One output of a cell, replaced in place."""

    def __init__(self, lang: str | None) -> None:
        self.lang = lang
        self._handle: Any = None

    def draw(self, report: Report) -> None:
        from IPython.display import display

        stream = io.BytesIO()
        save_svg(draw_chart(report, self.lang), stream)
        alarms = len(report.facts["alarms"])
        text = say("watch.live", self.lang, steps=report.facts["steps"], alarms=alarms)
        bundle = {"image/svg+xml": stream.getvalue().decode("utf-8"), "text/plain": text}
        if self._handle is None:
            self._handle = display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)
