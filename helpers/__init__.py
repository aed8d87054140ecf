"""From an NVIDIA GPU script to an Ascend NPU in four stages. The verbs below are what notebooks call.

Nothing heavy is imported until a verb is used: `import helpers` needs neither torch nor torch_npu.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

#: verb -> the module that holds it
_VERBS = {
    "check": "helpers.environment",
    "compute_check": "helpers.environment",
    "environment_check": "helpers.environment",
    "launch_facts": "helpers.environment",
    "save_settings": "helpers.environment",
    "set_up": "helpers.environment",
    "compare_settings": "helpers.environment",
    "scan": "helpers.migration.scan",
    "rewrite": "helpers.migration.rewrite",
    "assess": "helpers.migration.assess",
    "dry_run": "helpers.migration.dry_run",
    "operators": "helpers.migration.operators",
    "capture": "helpers.precision.capture",
    "baseline": "helpers.precision.baselines.verb",
    "align": "helpers.precision.align",
    "bisect": "helpers.precision.bisect",
    "compare": "helpers.precision.compare",
    "layers": "helpers.precision.views.layers",
    "tolerances": "helpers.precision.views.factors",
    "attempts": "helpers.precision.attempts.verb",
    "curves": "helpers.precision.curves",
    "verify": "helpers.precision.verify",
    "advise": "helpers.precision.advice",
    "profile": "helpers.profiling",
    "recording": "helpers.profiling",
    "benchmark": "helpers.profiling",
    "analyse": "helpers.profiling",
    "explain": "helpers.diagnosis",
    "run": "helpers.batch",
    "accept": "helpers.batch",
    "selftest": "helpers.selftest",
}

__version__ = "0.1.0"
__all__ = ["__version__", *_VERBS]


def __getattr__(name: str) -> Any:
    if name not in _VERBS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_VERBS[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
