"""plan.yaml: strict, for a word that is not known would silently change what runs.

    name: night
    workers: 2
    stages: [environment, migration]          # for all runs; default: all four
    parameters: {precision.steps: 4}          # for all runs
    matrix:                                   # every combination is a run
      script: [train_a.py, train_b.py]
      device: [cpu, auto]
      steps: [3, 10]                          # any parameter of a notebook, STAGE.NAME for one stage only
    runs:                                     # and these
      - {name: long, script: train_a.py, parameters: {steps: 100}, tags: [weekly]}
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from helpers.batch.plan.matrix import combinations, named
from helpers.batch.plan.model import Item, Plan
from helpers.batch.workbook import STAGES
from helpers.errors import WorkbookError, reason

TOP = ("name", "workers", "cards", "stages", "parameters", "matrix", "runs", "lang")
OF_RUN = ("name", "script", "device", "stages", "parameters", "tags", "lang", "timeout_s", "retries", "require",
          "memory_mb", "cards")  # fmt: skip


def read(path: Path, lang: str) -> Plan:
    """The plan in a file. Raises WorkbookError that names the file and the place of what is wrong."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as cause:
        raise WorkbookError("plan.unreadable", path=str(path), error=reason(cause)) from cause
    except (yaml.YAMLError, UnicodeDecodeError) as cause:
        raise WorkbookError("plan.unreadable", path=str(path), error=str(cause)) from cause
    if not isinstance(content, dict):
        raise WorkbookError("plan.shape", path=str(path), place="", found=type(content).__name__, wanted="name: value")
    _known(path, "", content, TOP)
    shared = {"lang": lang, **{name: content[name] for name in ("stages", "lang") if name in content}}
    wanted = [*({"matrix": one} for one in combinations(content.get("matrix") or {})), *(content.get("runs") or [])]
    items = [_item(path, number, shared, content.get("parameters") or {}, one) for number, one in enumerate(wanted)]
    if not items:
        raise WorkbookError("plan.empty", path=str(path))
    return Plan(str(content.get("name") or path.stem), tuple(named(items)), int(content.get("workers") or 1),
                tuple(content.get("cards") or ()))  # fmt: skip


def _item(path: Path, number: int, shared: dict[str, Any], parameters: dict[str, Any], given: dict[str, Any]) -> Item:
    if "matrix" in given:
        axes = dict(given["matrix"])
        given = {name: axes.pop(name) for name in OF_RUN if name in axes}
        given["parameters"] = axes
    _known(path, f"runs[{number}]", given, OF_RUN)
    given = {**shared, **given}
    told = {**parameters, **{name: given[name] for name in ("script", "device") if name in given},
            **(given.get("parameters") or {})}  # fmt: skip
    stages = given.get("stages") or STAGES
    rest = {name: given[name] for name in ("timeout_s", "retries", "require", "memory_mb", "cards") if name in given}
    return Item(
        str(given.get("name") or ""),
        tuple([stages] if isinstance(stages, str) else stages),
        {name: str(value) for name, value in told.items()},
        str(given["lang"]),
        tags=tuple(given.get("tags") or ()),
        **rest,
    )


def _known(path: Path, place: str, content: dict[str, Any], names: tuple[str, ...]) -> None:
    for name in content.keys() - set(names):
        raise WorkbookError("plan.unknown", path=str(path), place=place, name=str(name), known=list(names))
