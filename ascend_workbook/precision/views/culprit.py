"""The operator that parts the runs, as a page shows it first: its line, its tensors' errors, both sides' histograms."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Place
from ascend_workbook.precision.capturing.manifest import NAME, hash_file
from ascend_workbook.precision.comparison import Comparison, Side
from ascend_workbook.precision.record import TensorRecord
from ascend_workbook.precision.tensors import agreement
from ascend_workbook.precision.tensors.agreement import TensorAgreement
from ascend_workbook.precision.tensors.histogram import count_values
from ascend_workbook.precision.tensors.measuring import Job, Sample
from ascend_workbook.precision.views.questions import infinity_as_word
from ascend_workbook.redaction.exits import redact_in_place

#: Tensors that are told; lines about the culprit's; the largest script that is read for them, in bytes.
MOST, AROUND, LARGEST = 12, 2, 4 << 20
#: The ends of lines as Python counts them: str.splitlines also splits at form feeds.
LINE_END = re.compile(r"\r\n|\r|\n")
#: Why a tensor has no histogram: values that were not saved, what cannot be held against each other, no finite number.
UNSAVED, UNPAIRED, UNREADABLE, NOTHING = "unsaved", "unpaired", "unreadable", "nothing"


def describe_culprit(facts: Comparison) -> dict[str, Any] | None:
    """Describe the first operator that parts the runs: `operator`, `named` (who is to blame), `module`, `place`,
    `source` (the lines about it, where the script is still the captured one) and `tensors`, inputs before outputs. None
    where no operator parts them."""
    if facts.first is None:
        return None
    step, judged = facts.first
    pair = judged.agreement.pair
    described: dict[str, Any] = {"operator": judged.name, "named": list(facts.named)}
    described |= {"step": step.step, "rank": step.rank}
    if pair.module is not None:
        described["module"] = pair.module.path
    place = pair.target.place or pair.baseline.place
    if place is not None:
        described["place"] = str(place)
        source = _read_source(place, facts.target if pair.target.place else facts.baseline)
        described |= {"source": source} if source else {}
    target, baseline = ({t.slot: t for t in (*side.inputs, *side.outputs)} for side in (pair.target, pair.baseline))
    slots = (*judged.agreement.inputs, *judged.agreement.outputs)
    chosen = slots if len(slots) <= MOST else (*judged.agreement.outputs, *judged.agreement.inputs)[:MOST]
    described["tensors"] = [
        _describe_tensor(slot, target.get(slot.slot), baseline.get(slot.slot), facts.selection.sample)
        for slot in chosen
    ]
    described |= {"left_out": len(slots) - len(chosen)} if len(slots) > len(chosen) else {}
    return described


def _describe_tensor(
    slot: TensorAgreement, target: TensorRecord | None, baseline: TensorRecord | None, sample: Sample
) -> dict[str, Any]:
    described: dict[str, Any] = {"slot": slot.slot, "dtype": slot.dtype, "shape": list(slot.shape)}
    described["error"] = infinity_as_word(slot.error)
    described |= {"problem": slot.problem} if slot.problem else {}
    sides = {"target": target, "baseline": baseline}
    figures = {name: dict(_tell_figures(record)) for name, record in sides.items() if record is not None}
    described |= {"figures": figures} if all(len(each) for each in figures.values()) and figures else {}
    if target is None or baseline is None or target.shape != baseline.shape:
        return {**described, "why": UNPAIRED}
    if target.file is None or baseline.file is None:
        return {**described, "why": UNSAVED}
    if slot.problem == agreement.UNREADABLE:
        return {**described, "why": UNREADABLE}
    try:
        counted = count_values(Job(target.file, baseline.file, target.shape, baseline.shape), sample)
    except WorkbookError:
        return {**described, "why": UNREADABLE}
    return {**described, "why": NOTHING} if counted is None else {**described, "histogram": asdict(counted)}


def _tell_figures(record: TensorRecord) -> Iterator[tuple[str, object]]:
    for name in ("minimum", "maximum", "mean", "norm"):
        value = getattr(record, name)
        if value is not None:
            yield name, infinity_as_word(value)


def _read_source(place: Place, side: Side) -> dict[str, Any] | None:
    """Read the lines about a place; None where the script is not here, or not as it was when the capture was made. A
    dump may come from anybody: only Python files of the captured script's own folder are read."""
    if side.about is None or side.about.root is None or not place.line:
        return None
    path = side.about.root / place.path
    try:
        inside = path.suffix == ".py" and path.resolve().is_relative_to(side.about.root.resolve())
        if not inside or not path.is_file() or path.stat().st_size > LARGEST:
            return None
        if not _is_unchanged(path, side.folder, side.about.about):
            return None
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    lines = LINE_END.split(redact_in_place(text))
    begin = max(1, place.line - AROUND)
    if place.line > len(lines):
        return None
    return {"first": begin, "line": place.line, "lines": lines[begin - 1 : place.line + AROUND]}


def _is_unchanged(path: Path, folder: Path, about: Mapping[str, Any]) -> bool:
    """Return whether a file is what ran: the script by its checksum, another by not being newer than the capture."""
    if path == Path(str(about.get("root", ""))) / str(about.get("script", "")) and about.get("script_sha256"):
        return hash_file(path) == str(about["script_sha256"])
    return path.stat().st_mtime <= (folder / NAME).stat().st_mtime
