"""One attempt: what a comparison came to, and what its target was made of."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError, explain_os_error
from ascend_workbook.findings.finding import STATUS_OF_WORD, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.machine.settings import Settings
from ascend_workbook.machine.settings.record import check_content
from ascend_workbook.precision.baselines.bundle import hash_bytes
from ascend_workbook.precision.comparison import Comparison, Side
from ascend_workbook.precision.divergence import NOT_COMPARED
from ascend_workbook.storage import LocalStorage, refuse_unwritable

# The attempts of a run: `attempts/0001.json` and so on below its folder, one file each, none ever written over.

FOLDER = "attempts"
NAME = re.compile(r"(\d{4,8})\.json", re.ASCII)
MOST_BYTES = 8 << 20


def save_attempt(run: Path, attempt: Attempt) -> int:
    """Writes the attempt as the next one; its number, from 1. Two that are kept at once get a number each: a number
    is taken by making its file, and what stands in it comes whole or not at all."""
    storage = LocalStorage(run / FOLDER)
    refuse_unwritable(run / FOLDER / "0001.part")
    storage.root.mkdir(parents=True, exist_ok=True)
    number = max(list_numbers(run), default=0) + 1
    while True:
        try:
            (storage.root / _file_name(number)).touch(exist_ok=False)
            break
        except FileExistsError:
            number += 1
    storage.write_text(_file_name(number), attempt.to_json())
    return number


def list_numbers(run: Path) -> list[int]:
    """Return the numbers of the attempts kept, in order; empty where there is none."""
    folder = run / FOLDER
    matches = (NAME.fullmatch(path.name) for path in folder.iterdir()) if folder.is_dir() else ()
    return sorted(int(match[1]) for match in matches if match)


def load_attempts(run: Path) -> tuple[list[Attempt], list[WorkbookError]]:
    """Read all attempts that can be read, in order, and collect the errors of the others."""
    attempts: list[Attempt] = []
    troubles: list[WorkbookError] = []
    for number in list_numbers(run):
        path = run / FOLDER / _file_name(number)
        try:
            with path.open("rb") as stream:
                data = stream.read(MOST_BYTES + 1)
            if len(data) > MOST_BYTES:
                raise ValueError(f"larger than {MOST_BYTES >> 20} MiB")
            attempts.append(parse_attempt(data.decode("utf-8"), number))
        except OSError as cause:
            troubles.append(WorkbookError("attempts.unreadable", path=str(path), error=explain_os_error(cause)))
        except (ValueError, TypeError, KeyError, RecursionError) as cause:
            troubles.append(WorkbookError("attempts.unreadable", path=str(path), error=str(cause)))
    return attempts, troubles


def _file_name(number: int) -> str:
    return f"{number:04d}.json"


KIND = "ascend-workbook/attempt"
VERSION = 1
SCHEMA = f"{KIND}/{VERSION}"
#: Of a capture what makes two attempts comparable, beside their baseline.
SCOPE = ("steps", "dump_steps", "level", "task", "nproc")
#: Failures that leave a part of a side unseen: where it was, no divergence is known to be gone.
UNSEEN_RULES, UNSEEN_KEYS = ("ACC201", "ACC202"), ("ACC215.unreadable",)
LONGEST = 4096


@dataclass(frozen=True)
class Attempt:
    """`at` is UTC. `first` is the first divergence (operator, step, rank, row, error) or None; `judged` is False where
    no operator was compared, or not all could be read. `parting` counts operators out of tolerance of `compared`;
    `loss` the relative difference of the first and the worst step, None where no losses were compared.

    `baseline` identifies what was compared with, `scope` what was looked at. `settings` is a settings record without
    fingerprints, empty for a plain dump; `other` what else may change: the commit, the simulator's faults."""

    at: str
    status: str
    judged: bool
    first: dict[str, Any] | None
    parting: int
    compared: int
    loss: dict[str, float] | None
    baseline: str
    scope: dict[str, Any]
    settings: dict[str, Any] = field(default_factory=dict)
    other: dict[str, str] = field(default_factory=dict)
    number: int = 0

    @property
    def place(self) -> tuple[int, int]:
        """Of the first divergence in execution: its step, and its row in the comparison's table."""
        return (self.first["step"], self.first["row"]) if self.first else (1 << 60, 0)

    def to_json(self) -> str:
        content = asdict(self)
        del content["number"]
        return json.dumps({"schema": SCHEMA, **content}, indent=1, ensure_ascii=False) + "\n"


def attempt_of(report: Report, facts: Comparison) -> Attempt:
    """Make the attempt of a comparison's report and its facts; with curves where the report has compared them."""
    about = facts.target.about.about if facts.target.about else {}
    settings = asdict(Settings.of_capture(about, facts.target.about.sides)) if facts.target.about else {}
    settings.pop("sides", None)
    steps = [f"step {step.step} rank {step.rank}" for step in facts.steps]
    names = {"only": list(facts.selection.names), "sample": facts.selection.sample.share, "compared_steps": steps}
    failed = [finding for finding in report.findings if finding.status is Status.FIX]
    missed = any(finding.rule in UNSEEN_RULES or finding.key in UNSEEN_KEYS for finding in failed)
    curves: dict[str, Any] = report.facts.get("curves") or {}
    relative = {name: curves.get(f"{name}_relative") for name in ("first", "worst")}
    loss = {name: float(value) for name, value in relative.items() if value is not None and math.isfinite(value)}
    compared = sum(count for outcome, count in report.facts["outcomes"].items() if outcome != NOT_COMPARED)
    force = about.get("settings") or {}
    return Attempt(
        at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        status=report.status.json,
        judged=compared > 0 and not (facts.stopped or facts.bare or facts.start or missed),
        first=_first_divergence(report),
        parting=len(report.facts["parting"]),
        compared=compared,
        loss=None if relative["worst"] is None else loss,
        baseline=_identify_side(facts.baseline),
        scope={**{name: about.get(name) for name in SCOPE}, **names},
        settings=settings,
        other={"commit": str(about.get("commit", "")), **{k: str(v) for k, v in force.items()}},
    )


def parse_attempt(text: str, number: int) -> Attempt:
    """Parse a saved attempt; raises ValueError naming what is not of the schema."""
    content = json.loads(text)
    schema = content.pop("schema", None) if isinstance(content, dict) else None
    if schema != SCHEMA:
        raise ValueError(f"schema {str(schema)[:60]!r}, expected {SCHEMA!r}")
    kinds: dict[str, Any] = {**dict.fromkeys(("at", "status", "baseline"), str), "judged": bool}
    kinds |= {**dict.fromkeys(("parting", "compared"), int), **dict.fromkeys(("scope", "settings", "other"), dict)}
    kinds |= dict.fromkeys(("first", "loss"), (dict, type(None)))
    for name, kind in kinds.items():
        if not isinstance(content.get(name), kind):
            raise ValueError(f"{name}: missing, or of another type")
    if content["status"] not in STATUS_OF_WORD or len(content["at"]) > 40:
        raise ValueError("status or at: not as they are written")
    first = content["first"]
    if first is not None:
        if not all(isinstance(first.get(name), int) for name in ("step", "rank", "row")):
            raise ValueError("first: expected step, rank and row")
        operator = first.get("operator")
        if not isinstance(operator, str) or not operator.isprintable() or len(operator) > LONGEST:
            raise ValueError("first.operator: expected a name")
    if content["settings"]:
        check_content({**content["settings"], "sides": {}})
    content["status"] = STATUS_OF_WORD[content["status"]].json
    return Attempt(**{name: content[name] for name in kinds}, number=number)


def settings_of(attempt: Attempt) -> Settings | None:
    """Return the settings of an attempt; None for a plain dump, which says nothing of its run."""
    return Settings(**attempt.settings) if attempt.settings else None


def _first_divergence(report: Report) -> dict[str, Any] | None:
    name, row = report.facts["first_divergence"], report.facts["row"]
    if name is None or report.table is None:
        return None
    cells: Mapping[str, Any] = {}
    if row is not None:
        at = report.table.column_values("order").index(row)
        cells = {column.name: value for column, value in zip(report.table.columns, report.table.rows[at])}
    error = cells.get("error_out") if isinstance(cells.get("error_out"), (int, float)) else None
    return {"operator": name, **{at: cells.get(at, 0) for at in ("step", "rank")}, "row": row or 0, "error": error}


def _identify_side(side: Side) -> str:
    """Identify a side: the same for a copy of the same capture in another folder; of a plain dump its path."""
    if side.about is None:
        return str(side.folder)
    about = {name: value for name, value in side.about.about.items() if name not in ("root", "commit")}
    return hash_bytes(json.dumps({"about": about, "files": side.about.files}, sort_keys=True).encode())[:16]
