"""The loss scale as a chart that grows while a training runs in a child process.

In a run without a reader (papermill, nbval), and where ipywidgets is not installed, nothing is drawn meanwhile: the
finished chart, scale_history, shows the same."""

from __future__ import annotations

import contextlib
import io
import os
import time
from pathlib import Path
from typing import Any

from ascend_workbook.findings.sentence import choose_language
from ascend_workbook.machine.launch import Progress
from ascend_workbook.precision.curves.readers.text import TextFeed
from ascend_workbook.precision.curves.series import LOSS_SCALE, Curve, rename_series
from ascend_workbook.precision.halves.history import draw_scale
from ascend_workbook.show.boxed import HEADLESS
from ascend_workbook.show.charts import draw_chart

#: Seconds between two drawings at least: one takes about a tenth of that.
EVERY_S = 1.0


class LiveScale:
    """Give it to `launch` as `on_progress`. `box` is the picture, None where there is none; `drawings` counts."""

    def __init__(self, lang: str | None = None) -> None:
        self.lang = choose_language(lang)
        self.box: Any = None
        if os.environ.get(HEADLESS) != "1":
            with contextlib.suppress(ImportError):
                import ipywidgets as widgets

                self.box = widgets.Image(format="png", layout=widgets.Layout(max_width="100%"))
        self.drawings = 0
        self._curve = Curve(Path("output.log"), "text")
        self._feed = TextFeed(self._curve, "output.log")
        self._drawn_at = -EVERY_S

    def __call__(self, progress: Progress) -> None:
        """Takes the new lines, and draws where a second has gone by."""
        self._feed.feed("".join(f"{line}\n" for line in progress.lines).encode())
        if self.box is not None and time.monotonic() - self._drawn_at >= EVERY_S:
            self._draw_chart()

    def finish(self) -> None:
        """Draws what came since."""
        if self.box is not None:
            self._draw_chart()

    def _draw_chart(self) -> None:
        view = Curve(self._curve.path, "text", series=dict(self._curve.series))
        rename_series(view)
        if LOSS_SCALE not in view.series:
            return
        stream = io.BytesIO()
        draw_chart(draw_scale(view), self.lang).savefig(stream, format="png", dpi=90, facecolor="white")
        self.box.value = stream.getvalue()
        self.drawings += 1
        self._drawn_at = time.monotonic()
