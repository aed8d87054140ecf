"""One run as named series over steps; each value knows the line it came from."""

from __future__ import annotations

import contextlib
import math
import os
import re
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_workbook.findings.sentence import Scalar

# What loggers call the same number. A log's own names are kept; these say which of them is the loss.

LOSS, LR, GRAD_NORM, LOSS_SCALE = "loss", "lr", "grad_norm", "loss_scale"
# ruff: noqa: SIM905 - a column of names reads better without quotes
#: The name we use -> what loggers write, the first that a log has is taken: our own and the Trainer's, Megatron-LM's
#: text and TensorBoard tags, Lightning's and mmengine's, and what examples print.
KNOWN = {
    LOSS: """
loss lm_loss train/loss train/lm_loss loss/train train_loss training_loss train_loss_step train/loss_step loss_step
total_loss train/total_loss loss_train mean_loss avg_loss running_loss ce_loss nll_loss mlm_loss
lm-loss-training/lm_loss train_loss_epoch train/loss_epoch
""".split(),
    LR: """
lr learning_rate learn_rate learning-rate train/learning_rate train/lr base_lr lr-adam lr-adamw lr-sgd lr/pg0
train/learning-rate
""".split(),
    GRAD_NORM: """
grad_norm grad-norm train/grad_norm gnorm gradient_norm total_norm global_grad_norm grad_norm_total
train/global_grad_norm
""".split(),
    LOSS_SCALE: "loss_scale loss-scale train/loss_scale grad_scale amp_scale scale".split(),
}
#: How the series of one parameter's gradient norm is named, of a watched run.
PARAMETER = "gradient/"
SKIPPED_STEPS = ("number_of_skipped_iterations", "skipped_iterations")
STEPS = """
step global_step iteration iter _step steps trainer/global_step train/global_step iteration_number update num_updates
""".split()
#: Times, rates and sizes are no numbers of the training.
_ASIDE = re.compile(
    r"(?:.*[/_ -])?(?:time|data_time|wall_time|timestamp|runtime|elapsed.*|eta|memory|mem|mfu|throughput.*|speed"
    r"|samples_per_second|steps_per_second|consumed_.*|skipped_samples|batch_size|num_zeros)(?:_?\(?(?:ms|s)\)?)?"
    r"|(?:it|epochs?|batch|rank|total_flos|v_num|version|pid|max_steps|num_train_epochs)"
)


@lru_cache(maxsize=4096)
def normalise_name(raw: str) -> str:
    """A logged name as we key it: lower case, `_` for spaces; "" for a step, a time or a size."""
    name = re.sub(r"\s+", "_", raw[:120].strip().strip("'\"").lower())
    name = name.encode("utf-8", "replace").decode("utf-8")  # JSON may hold half a character, which no file can
    return "" if not name or name in STEPS or _ASIDE.fullmatch(name) else name


#: checkpoint-500 (Trainer), iter_0000500 (Megatron-LM, mmengine: iter_500.pth), global_step500 (DeepSpeed),
#: epoch=0-step=500.ckpt (Lightning), step_500.pt, ckpt_500.pt
NAME = re.compile(r"(?:checkpoint[-_]|ckpt[-_]|iter[-_]|global_?step[-_]?|step[=_-])0*(\d{1,15})(?![\d])", re.I)
MOST = 10_000


def find_checkpoints(curve: Curve, folder: Path | None = None) -> list[Checkpoint]:
    """Find the checkpoints in order of steps: told by the log, and found in `folder`, or in the log's own folder."""
    place = folder or (curve.path if curve.path.is_dir() else curve.path.parent)
    by_step = {checkpoint.step: checkpoint for checkpoint in curve.checkpoints}
    with contextlib.suppress(OSError):
        for entry, _ in zip(os.scandir(place), range(MOST)):
            if match := NAME.search(entry.name):
                by_step[int(match[1])] = Checkpoint(int(match[1]), str(place / entry.name))
    return [by_step[step] for step in sorted(by_step)]


def last_before(known: Iterable[Checkpoint], step: int) -> Checkpoint | None:
    """The last state that has not seen the batch of this step."""
    earlier = [checkpoint for checkpoint in known if checkpoint.step < step]
    return max(earlier, key=lambda checkpoint: checkpoint.step, default=None)


#: Names one log may bring, and values in all: an endless or hostile file must not take the memory.
MOST_SERIES, MOST_VALUES = 300, 8_000_000
#: Written numbers looked at to learn with how many digits a log is printed.
SAMPLED = 200
#: Steps beyond this are no steps: they would not fit a float64 exactly.
MOST_STEPS = 1 << 53


def to_scalar(value: float | None) -> Scalar:
    """JSON has no infinity: it is kept as the word."""
    return None if value is None else float(value) if math.isfinite(value) else str(float(value))


@dataclass
class Series:
    """Values in the order they were read. `lines` count from 1 (records of a binary file too). `files`: from which
    place on values come from which of Curve.files. `decimals` and `significant` are the most digits seen in print; -1
    where nothing was printed."""

    name: str
    steps: array[int] = field(default_factory=lambda: array("q"))
    values: array[float] = field(default_factory=lambda: array("d"))
    lines: array[int] = field(default_factory=lambda: array("q"))
    files: list[tuple[int, int]] = field(default_factory=list)
    decimals: int = -1
    significant: int = -1

    def last_of_each(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(steps in ascending order, place of each in the arrays): of a repeated step the value read last."""
        steps = np.array(self.steps, dtype=np.int64)
        unique, first_from_behind = np.unique(steps[::-1], return_index=True)
        return unique, len(steps) - 1 - first_from_behind

    def learn_digits(self, text: str) -> None:
        """Takes one printed number into account."""
        mantissa, _, exponent = text.lower().partition("e")
        digits = mantissa.partition(".")[2]
        if exponent:
            self.significant = max(self.significant, len(digits) + 1)
        elif "n" not in mantissa:  # nan, inf
            self.decimals = max(self.decimals, len(digits))

    def resolution(self, value: float) -> float:
        """Half a unit of the last printed digit at this value; 0 where numbers were not printed."""
        if self.significant > 0 and value and math.isfinite(value):
            return float(0.5 * 10.0 ** (math.floor(math.log10(abs(value))) - self.significant + 1))
        return float(0.5 * 10.0**-self.decimals) if self.significant < 0 <= self.decimals else 0.0


@dataclass(frozen=True)
class Checkpoint:
    """State saved after `step`; `where` is the file, or the line of the log that tells of it."""

    step: int
    where: str


@dataclass
class Curve:
    """What one run logged. `status` is the run log's own word, "" where the format has none.

    `told` are sentences (key, arguments) on what was not read; `ordinal` says that lines had no step and were counted.
    `unread` is the first line that gave nothing, one with a digit before others."""

    path: Path
    kind: str
    files: list[str] = field(default_factory=list)
    series: dict[str, Series] = field(default_factory=dict)
    status: str = ""
    meta: Mapping[str, Any] = field(default_factory=dict)
    checkpoints: list[Checkpoint] = field(default_factory=list)
    skipped: int = 0
    told: list[tuple[str, dict[str, Scalar]]] = field(default_factory=list)
    ordinal: bool = False
    values: int = 0
    unread: tuple[int, str] | None = None
    given: str = ""

    @property
    def display_name(self) -> str:
        """`given`, the name that its reader knows it by, where that is not the path."""
        return self.given or str(self.path)

    def add_value(self, name: str, step: int, value: float, line: int, text: str = "") -> None:
        """Keeps one value; past the limits it is left out, and that is told once."""
        series = self.series.get(name)
        if series is None:
            if len(self.series) >= MOST_SERIES:
                return self.add_note("ACC257.many_names", path=str(self.path), limit=MOST_SERIES)
            series = self.series[name] = Series(name)
        if not -MOST_STEPS < step < MOST_STEPS:
            return self.add_note("ACC257.no_step", path=str(self.path), line=line)
        if self.values >= MOST_VALUES:
            return self.add_note("ACC257.many_values", path=str(self.path), limit=MOST_VALUES, line=line)
        self.values += 1
        if text and len(series.values) < SAMPLED:
            series.learn_digits(text)
        if not series.files or series.files[-1][1] != len(self.files) - 1:
            series.files.append((len(series.values), len(self.files) - 1))
        series.steps.append(step)
        series.values.append(value)
        series.lines.append(line)

    def not_understood(self, line: int, text: str) -> None:
        """Remembers the line for the error that tells of a log without numbers."""
        odd = self.unread is None or not any(map(str.isdigit, self.unread[1])) and any(map(str.isdigit, text[:120]))
        if odd and text.strip():
            self.unread = line, text.strip()[:120]

    def add_note(self, key: str, **args: Scalar) -> None:
        """One sentence on what was left out; a sentence of the same key and file is told once."""
        if not any(known == key and known_args.get("path") == args.get("path") for known, known_args in self.told):
            self.told.append((key, args))

    def place_of_value(self, series: Series, at: int) -> tuple[str, int]:
        """File and line of the value at this place of the arrays."""
        begun = [file for start, file in series.files if start <= at]
        return self.files[begun[-1]] if begun and self.files else self.display_name, series.lines[at]


#: Whose numbers are not the training's
OTHERS = ("val", "valid", "validation", "eval", "evaluation", "test")
#: Ultralytics logs its loss in parts alone
PARTS = ("box_loss", "seg_loss", "pose_loss", "kobj_loss", "obj_loss", "cls_loss", "dfl_loss")


def _find_nested(curve: Curve, known: Iterable[str]) -> str | None:
    """Return the one series that is named so below something: `metrics/loss`."""
    below = [name for name in curve.series if "/" in name and name.rpartition("/")[2] in known]
    below = [name for name in below if name.partition("/")[0] not in OTHERS]
    return below[0] if len(below) == 1 else None


def _sum_parts(curve: Curve) -> None:
    """Give the sum of a loss's parts as the loss, and say so."""
    for prefix in ("train/", ""):
        parts = [curve.series[prefix + name] for name in PARTS if prefix + name in curve.series]
        if len(parts) > 1 and all(part.steps == parts[0].steps for part in parts):
            total = np.sum([np.asarray(part.values) for part in parts], axis=0)
            curve.series[LOSS] = replace(parts[0], name=LOSS, values=array("d", total.tolist()))
            names = [part.name for part in parts]
            return curve.add_note("ACC257.sum", path=curve.display_name, names=", ".join(names))
    return None


def rename_series(curve: Curve, loss: str = "") -> None:
    """Gives loss, learning rate, gradient norm and loss scale our names; `loss` is the log's own name for it."""
    for ours, known in KNOWN.items():
        wanted = (normalise_name(loss),) if ours == LOSS and loss else known
        logged_name = next((name for name in wanted if name in curve.series), None)
        if logged_name is None and wanted is known:
            logged_name = _find_nested(curve, known)
        if logged_name and logged_name != ours:
            if ours in curve.series:
                curve.series[f"{ours}*"] = curve.series.pop(ours)
            curve.series[ours] = curve.series.pop(logged_name)
    if LOSS not in curve.series and not loss:
        _sum_parts(curve)
