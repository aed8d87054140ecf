"""The verbs as commands, by subject: a module has the `VERBS` that stand behind its name below.

A verb imports its module alone, so that it starts soon. What its help shows as examples stands in examples.txt.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

MODULES = {
    "environment": ("check", "setup", "launch-facts"),
    "migration": ("scan", "rewrite", "assess"),
    "dry_run": ("dry-run", "operators", "migrate"),
    "precision": ("advise", "align", "attempts", "baseline", "capture", "compare", "verify", "watch"),
    "curves": ("curves",),
    "corpus": ("inspect-data",),
    "profiling": ("analyse", "profile"),
    "timeline": ("timeline",),
    "rehearse": ("rehearse",),
    "benchmark": ("benchmark",),
    "strategy": ("plan",),
    "calibration": ("calibrate",),
    "inference": ("export", "compare-om", "quantise", "serving"),
    "batch": ("run", "accept"),
    "page": ("page",),
    "explain": ("explain",),
    "selftest": ("selftest",),
    "modelarts": ("modelarts",),
    "simulator": ("simulator",),
    "storage": ("storage",),
}


@cache
def load_examples() -> dict[str, tuple[str, ...]]:
    """Return the lines of examples.txt by verb."""
    sections = Path(__file__).with_name("examples.txt").read_text(encoding="utf-8").strip().split("\n\n")
    return {lines[0].strip("[]"): tuple(lines[1:]) for lines in map(str.splitlines, sections)}
