"""Records. JSON: our gpulog.json, the Trainer's trainer_state.json, any list or dict of records; a record a line. CSV
and TSV: a heading, then a row a step; Lightning's metrics.csv leaves cells empty, TensorBoard's export too."""

from __future__ import annotations

import contextlib
import csv
import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.machine.launch import RunLog
from ascend_workbook.precision.curves.readers.feed import Feed, LineFeed
from ascend_workbook.precision.curves.readers.text import translate_line
from ascend_workbook.precision.curves.series import PARAMETER, STEPS, Checkpoint, Curve, normalise_name


def parse_number(value: object) -> float | None:
    """A number, or a string that holds one ("nan" too: JSON has none); None for anything else."""
    if isinstance(value, (int, float, str)) and not isinstance(value, bool):
        with contextlib.suppress(ValueError, OverflowError):
            return float(value)
    return None


def step_in(record: Mapping[str, object]) -> int | None:
    """The step that a record names, whatever its key is called; else its epoch."""
    lower = {translate_line(str(key)).strip().lower(): value for key, value in record.items()}
    for name in (*STEPS, "epoch"):
        value = parse_number(lower.get(name))
        if value is not None and math.isfinite(value) and (name != "epoch" or value == int(value)):
            return int(value)
    return None


def numbers_in(record: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, float]]:
    """(name, number) of a record, one level of nesting joined by `/`; mmengine nests nothing, others `train: {loss}`.
    A list of one number, as several parameter groups with one rate, counts as that number."""
    for key, value in record.items():
        if isinstance(value, Mapping) and not prefix:
            yield from numbers_in(value, f"{key}/")
            continue
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        name, parsed_value = normalise_name(prefix + translate_line(str(key)).strip()), parse_number(value)
        if name and parsed_value is not None:
            yield name, parsed_value


#: A JSON document is read whole; a larger one is no log of numbers.
LARGEST = 256 << 20
#: Where known writers keep their records: the Trainer's, then what people call them.
KEYS = ("log_history", "steps", "history", "records", "metrics", "logs", "log", "data", "train")


class JsonFeed(Feed):
    """A whole document: it is read at its end, since half of one says nothing."""

    def __init__(self, curve: Curve, path: str) -> None:
        super().__init__(curve, path)
        self._data = bytearray()
        self._done = False

    def feed(self, data: bytes) -> None:
        self._data += data
        if len(self._data) > LARGEST:
            raise WorkbookError("curves.too_large", path=self.path, limit_mib=LARGEST >> 20)

    def end(self) -> None:
        if self._done:
            return
        try:
            content = json.loads(bytes(self._data).decode("utf-8-sig", errors="replace"))
        except json.JSONDecodeError as error:
            raise WorkbookError("curves.json_cut", path=self.path, line=error.lineno, error=error.msg) from error
        except (RecursionError, ValueError) as error:  # nested too deep; an integer of thousands of digits
            raise WorkbookError("curves.json_cut", path=self.path, line=1, error=type(error).__name__) from error
        self._data, self._done = bytearray(), True
        if isinstance(content, dict) and str(content.get("schema", "")).startswith("ascend-workbook/"):
            _read_gpulog(self.curve)
        elif not _read_document(self.curve, content, self.path):
            raise WorkbookError("curves.no_records", path=self.path)


#: How the schema of a watched run begins, and the numbers of its steps.
WATCHED = "ascend-workbook/watch/"
OF_STEP = ("loss", "lr", "grad_norm", "loss_scale")


class JsonLinesFeed(LineFeed):
    """A record a line, as mmengine's scalars.json and many loggers write. A line cut short is told."""

    def __init__(self, curve: Curve, path: str) -> None:
        super().__init__(curve, path)
        self._watched: list[str] = []

    def read_line(self, text: str, last: bool) -> None:
        if not text.strip():
            return
        try:
            record = json.loads(text)
        except (ValueError, RecursionError):
            return self.curve.add_note("ACC257.cut" if last else "ACC257.line", path=self.path, line=self.number)
        if isinstance(record, dict) and not self._is_of_watch(record):
            _read_record(self.curve, record, self.number)

    def _is_of_watch(self, record: Mapping[str, object]) -> bool:
        """Take the lines of `watch.jsonl` that are no step: the head names the parameters, the end says how it ended;
        a step's gradient norms become a series for each parameter."""
        if str(record.get("schema", "")).startswith(WATCHED):
            names = record.get("parameters")
            self._watched = list(map(str, names)) if isinstance(names, list) else []
            self.curve.kind, self.curve.status = "watch", "running"
            return True
        if self.curve.kind != "watch":
            return False
        end = record.get("end")
        if isinstance(end, Mapping):
            self.curve.status, self.curve.skipped = str(end.get("status", "")), int(end.get("skipped", 0))
        norms, step = record.get("gradients"), step_in(record)
        if isinstance(norms, list) and step is not None:
            for name, norm in zip(self._watched, norms):
                value = parse_number(norm)
                if value is not None:
                    self.curve.add_value(f"{PARAMETER}{name}", step, value, self.number)
            for name, value in numbers_in({key: record.get(key) for key in OF_STEP if record.get(key) is not None}):
                self.curve.add_value(name, step, value, self.number)
        return True


def _read_gpulog(curve: Curve) -> None:
    """Ours, checked by its own reader. A line of the file holds all of it: the step stands in for the line."""
    log = RunLog.load_log(curve.path)
    curve.status, curve.meta, curve.skipped, curve.kind = log.status, log.meta, log.skipped_steps, "gpulog"
    for step in log.steps:
        for name, value in (("loss", step.loss), ("lr", step.lr), ("grad_norm", step.grad_norm)):
            if value is not None:
                curve.add_value(name, step.step, value, 0)


def _read_document(curve: Curve, content: object, path: str) -> bool:
    records = _find_records(content)
    if records is not None:
        for at, record in enumerate(records, 1):
            _read_record(curve, record, at)
    elif isinstance(content, Mapping):  # {"step": [...], "loss": [...]}; without steps they are counted from 1
        lists = {str(key): value for key, value in content.items() if isinstance(value, list)}
        for at in range(max(map(len, lists.values()), default=0)):
            _read_record(curve, {key: column[at] for key, column in lists.items() if at < len(column)}, at + 1)
    if isinstance(content, Mapping) and isinstance(content.get("log_history"), list):
        curve.kind = "trainer_state"
        saved = parse_number(content.get("global_step"))
        if saved is not None and f"checkpoint-{int(saved)}" in path:
            curve.checkpoints.append(Checkpoint(int(saved), str(curve.path.parent)))
    return bool(curve.series)


def _find_records(content: object) -> list[Mapping[str, object]] | None:
    """The list of records in a document; of a dict under the key of a known writer, else under the only such key."""
    if isinstance(content, list):
        return [record for record in content if isinstance(record, dict)] or None
    if not isinstance(content, dict):
        return None
    for key in (*KEYS, *content):
        inner = content.get(key)
        if isinstance(inner, list) and any(isinstance(record, dict) for record in inner):
            return [record for record in inner if isinstance(record, dict)]
    return [
        {"step": int(key), **value}
        for key, value in content.items()
        if key.isdecimal() and len(key) < 16 and isinstance(value, dict)
    ] or None


def _read_record(curve: Curve, record: Mapping[str, object], line: int) -> None:
    step = step_in(record)
    for name, value in numbers_in(record):
        curve.ordinal |= step is None
        curve.add_value(name, line if step is None else step, value, line)


def _without_run(heads: list[str]) -> list[str]:
    """Return W&B's headings, `run - train/loss` with `__MIN` and `__MAX` beside it, by the metric; of several runs as
    they are."""
    bare = [head.partition(" - ")[2] or head for head in heads]
    bare = ["" if head.endswith(("__MIN", "__MAX")) else head for head in bare]
    names = [head for head in bare if head]
    return bare if bare != heads and len({*names}) == len(names) else heads


DECIMAL = re.compile(r"[-+]?\d{0,20}([.,])\d{1,20}(?:[eE][-+]?\d{1,4})?")


class TableFeed(LineFeed):
    """The separator is the one of tab, comma and semicolon that the heading holds most of. Only where it is a semicolon
    a comma is a decimal point; a file that has both `0,5` and `0.5` is told, and the row left out."""

    def __init__(self, curve: Curve, path: str) -> None:
        super().__init__(curve, path)
        self._separator = ","
        self._names: list[str] = []
        self._step = -1
        self._marks: set[str] = set()

    def read_line(self, text: str, last: bool) -> None:
        if not text.strip():
            return
        if not self._names:
            return self._read_heading(text.lstrip("\ufeff"))
        cells = self._read_cells(text)
        if len(cells) != len(self._names):
            return self.curve.add_note("ACC257.cut" if last else "ACC257.line", path=self.path, line=self.number)
        step = parse_number(cells[self._step]) if self._step >= 0 else float(self.number - 1)
        if step is None or not abs(step) < 1e15:  # a NaN too
            return self.curve.add_note("ACC257.no_step", path=self.path, line=self.number)
        before = self.curve.values
        for name, cell in zip(self._names, cells):
            value = parse_number(cell) if name and cell else None
            if value is not None:
                self.curve.add_value(name, int(step), value, self.number, cell.strip())
        if self.curve.values == before:
            self.curve.not_understood(self.number, text)

    def _read_cells(self, text: str) -> list[str]:
        cells = next(csv.reader([text], delimiter=self._separator)) if '"' in text else text.split(self._separator)
        if self._separator != ";" or not self._names:
            return cells
        self._marks |= {match[1] for cell in cells if (match := DECIMAL.fullmatch(cell.strip()))}
        if len(self._marks) > 1:
            return []
        return [cell.replace(",", ".") if DECIMAL.fullmatch(cell.strip()) else cell for cell in cells]

    def _read_heading(self, text: str) -> None:
        self._separator = max("\t,;", key=text.count)
        heads = _without_run([translate_line(head).strip() for head in self._read_cells(text)])
        if all(parse_number(head) is not None for head in heads):
            raise WorkbookError("curves.no_heading", path=self.path)
        lower = [head.lower() for head in heads]
        known = [name for name in (*STEPS, "epoch") if name in lower]
        self._step = lower.index(known[0]) if known else -1
        self.curve.ordinal = not known
        self._names = [normalise_name(head) for head in heads]
        if [name for name in self._names if name] == ["value"]:  # TensorBoard's export of one tag
            stem = Path(self.path).stem.lower()
            ours = "loss" if "loss" in stem or "tag-" not in stem else stem.rpartition("tag-")[2]
            self._names = [ours if name == "value" else name for name in self._names]
