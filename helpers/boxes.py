"""The boxes that notebooks show, from where they are built: `from helpers.boxes import findings_box`.

Nothing is imported until a box is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_BOXES = {
    "explain_box": "ascend_workbook.diagnose.box",
    "form_box": "ascend_workbook.show.form",
    "findings_box": "ascend_workbook.migration.views.findings",
    "tolerance_box": "ascend_workbook.precision.views.factors",
    "replay_box": "ascend_workbook.precision.views.replaying",
    "LiveScale": "ascend_workbook.precision.views.live_scale",
    "timeline_view": "ascend_workbook.show.timeline_page",
}
__all__ = [*_BOXES]


def __getattr__(name: str) -> Any:
    if name not in _BOXES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_BOXES[name]), name)
