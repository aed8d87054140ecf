"""Where do two runs part? A comparison's operators as a barcode to click, and the answer held against the verdict.

The page shows errors alone, not what is allowed: who clicks is told what is true of that operator, and which name to
hand in. `judge_part` judges the name, in a notebook and without a reader alike."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cached_property

from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Scalar, Sentence, say
from ascend_workbook.precision.divergence import AGREES, PARTING
from ascend_workbook.precision.views.questions import read_outcome
from course.exercises.data import as_typed
from course.exercises.outcome import DONE, NOT_YET, PARTLY, Outcome
from course.lessons.pieces import Piece, make_frame
from course.pages import fill_template

TASK = "part"
#: So many operators are drawn: the steps before the first divergence and those just behind it.
MOST = 400
#: Errors from here to 1 have bars of growing height.
LEAST = 1e-8
NAMES = ("step", "rank", "operator", "module", "error_in", "error_out", "judgement", "mean_diff")


@dataclass(frozen=True)
class Bar:
    """One operator in the order of execution with the worst of its outputs."""

    step: int
    rank: int
    name: str
    module: str
    error_in: float
    error_out: float
    outcome: str
    #: Whether values were compared, and not statistics alone.
    read: bool = False

    @property
    def title(self) -> str:
        """Return its name and, where it is known, the module that it ran in."""
        return f"{self.name} ({self.module})" if self.module else self.name

    @property
    def height(self) -> int:
        """Return its height in percent: logarithmic, 2 where there is no error."""
        if self.error_out <= LEAST:
            return 2
        return 100 if self.error_out >= 1 else round(8 + 92 * (1 - math.log10(self.error_out) / math.log10(LEAST)))

    @cached_property
    def remark(self) -> Sentence:
        """Say what is true of it, without naming another."""
        args: dict[str, Scalar] = {"operator": self.name, "error_in": self.error_in, "error_out": self.error_out}
        if self.error_out == 0:
            return Sentence("course.part.equal" if self.read else "course.part.unseen", **args)
        if self.outcome in PARTING:
            return Sentence("course.part.parts", **args)
        if self.outcome == AGREES:
            return Sentence("course.part.rounding", **args)
        return Sentence("course.part.explained", **args)


def list_bars(report: Report) -> list[Bar]:
    """List a comparison's operators, each once, in their order; at most MOST from the start."""
    bars: dict[tuple[object, ...], Bar] = {}
    if report.table is None:
        return []
    known = {column.name for column in report.table.columns}  # an older report has no modules
    nothing: list[Scalar] = [None] * len(report.table.rows)
    columns = [report.table.column_values(name) if name in known else nothing for name in NAMES]
    for step, rank, name, module, error_in, error_out, judgement, plain in zip(*columns):
        errors = _read_number(error_in), _read_number(error_out)
        outcome = read_outcome(judgement)
        bar = Bar(int(str(step)), int(str(rank)), str(name), str(module or ""), *errors, outcome, plain is not None)
        before = bars.get((step, rank, name))
        if before is None or before.error_out < bar.error_out:
            bars[step, rank, name] = bar
    return list(bars.values())[:MOST]


def _read_number(value: Scalar) -> float:
    """Infinity and NaN stand in a table as words, an error that was not measured as nothing."""
    if not isinstance(value, (int, float, str)):
        return 0.0
    number = float(value)
    return math.inf if math.isnan(number) else number


def part_box(report: Report, lang: str | None = None) -> Piece:
    """Return the barcode of a comparison; without a reader, or in a notebook that is not trusted, a list of it."""
    bars = list_bars(report)
    rows = [{"bar": bar, "remark": bar.remark.text(lang)} for bar in bars]
    lines = [
        say("course.part.line", lang, step=bar.step, rank=bar.rank, operator=bar.title, error=bar.error_out)
        for bar in bars
    ]
    heading = say("course.part.question", lang)
    page = fill_template("part.html", rows=rows, heading=heading, lang=lang)
    return Piece(make_frame(page, heading, 330), fill_template("part_still.html", lines=lines, lang=lang), heading)


def judge_part(report: Report, answer: object, lang: str | None = None) -> Outcome:
    """Judge the name of the operator that parts the runs first: done where it is, partly where it parts them later.

    The name may be short where it is one operator's alone: `softmax.0.forward`."""
    name, first = as_typed(str(answer or "")).strip("`'\""), report.facts.get("first_divergence")
    bars = list_bars(report)
    chosen = [bar for bar in bars if bar.name == name] or [bar for bar in bars if _fits_end(bar.name, name)]
    if not name or len({bar.name for bar in chosen}) != 1:
        unknown = Sentence("course.part.unknown", given=name[:80]) if name else Sentence("course.part.none")
        return Outcome(TASK, NOT_YET, missing=(unknown,), tries=1)
    bar = next((bar for bar in chosen if bar.outcome in PARTING), chosen[0])
    if bar.name == first:
        return Outcome(TASK, DONE, right=(Sentence("course.part.found", operator=bar.name, step=bar.step),), tries=1)
    if bar.outcome in PARTING:
        return Outcome(TASK, PARTLY, missing=(Sentence("course.part.later", operator=bar.name),), tries=1)
    return Outcome(TASK, NOT_YET, missing=(bar.remark,), tries=1)


def _fits_end(name: str, end: str) -> bool:
    return bool(end) and re.search(rf"(^|[.]){re.escape(end.lower())}$", name.lower()) is not None
