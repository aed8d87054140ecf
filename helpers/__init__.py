"""From an NVIDIA GPU script to an Ascend NPU in four stages. The verbs below are what notebooks call.

Nothing heavy is imported until a verb is used: `import helpers` needs neither torch nor torch_npu.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ascend_workbook import __version__

#: verb -> the module that holds it
_VERBS = {
    "check": "ascend_workbook.environment",
    "compute_check": "ascend_workbook.environment",
    "environment_check": "ascend_workbook.environment",
    "launch_facts": "ascend_workbook.environment",
    "save_settings": "ascend_workbook.environment",
    "set_up": "ascend_workbook.environment",
    "compare_settings": "ascend_workbook.environment",
    "scan": "ascend_workbook.migration.scan",
    "rewrite": "ascend_workbook.migration.rewrite",
    "assess": "ascend_workbook.migration.assess",
    "dry_run": "ascend_workbook.migration.dry_run",
    "operators": "ascend_workbook.migration.operators",
    "migrate": "ascend_workbook.migration.loop",
    "capture": "ascend_workbook.precision.capture",
    "baseline": "ascend_workbook.precision.baselines.verb",
    "align": "ascend_workbook.precision.align",
    "bisect": "ascend_workbook.precision.bisect",
    "compare": "ascend_workbook.precision.compare",
    "layers": "ascend_workbook.precision.views.layers",
    "tolerances": "ascend_workbook.precision.views.factors",
    "attempts": "ascend_workbook.precision.attempts.verb",
    "curves": "ascend_workbook.precision.curves",
    "verify": "ascend_workbook.precision.verify",
    "advise": "ascend_workbook.precision.advice",
    "inspect_data": "ascend_workbook.precision.corpus",
    "watch": "ascend_workbook.precision.watching",
    "watch_training": "ascend_workbook.precision.watching",
    "profile": "ascend_workbook.profiling",
    "recording": "ascend_workbook.profiling",
    "benchmark": "ascend_workbook.profiling",
    "analyse": "ascend_workbook.profiling",
    "show_timeline": "ascend_workbook.profiling.timeline.verb",
    "plan": "ascend_workbook.planning.strategy.verb",
    "rehearse": "ascend_workbook.planning.rehearsal",
    "calibrate": "ascend_workbook.profiling.calibration",
    "export": "ascend_workbook.inference.export",
    "compare_om": "ascend_workbook.inference.compare_om",
    "quantise": "ascend_workbook.inference.quantise",
    "serving": "ascend_workbook.inference.serving",
    "explain": "ascend_workbook.diagnose",
    "run": "ascend_workbook.batch",
    "accept": "ascend_workbook.batch",
    "draw_page": "ascend_workbook.page.verb",
    "selftest": "ascend_workbook.selftest",
}

__all__ = ["__version__", *_VERBS]


def __getattr__(name: str) -> Any:
    if name not in _VERBS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_VERBS[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
