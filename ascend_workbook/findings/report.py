"""One question, one table, one chart, one verdict. What every stage ends in; text, HTML and JSON come from it.

The JSON form is versioned (SCHEMA_VERSION) and described in report.schema.json beside this file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.registry import find_renderer
from ascend_workbook.findings.sentence import Scalar, Sentence, restore_sentence, say, title

# --fail-on: classes of findings that make a verdict Fix, and so the exit code 1, wherever one of them occurs.


def parse_fail_on(fail_on: Iterable[str], classes: tuple[str, ...]) -> tuple[str, ...]:
    """Parse the classes of --fail-on, each once; one text may name several between commas.

    Raises WorkbookError for a name that is none of `classes`.
    """
    texts = [fail_on] if isinstance(fail_on, str) else fail_on
    names = tuple(dict.fromkeys(name.strip() for text in texts for name in text.split(",") if name.strip()))
    unknown = [name for name in names if name not in classes]
    if unknown:
        raise WorkbookError("gate.no_class", name=unknown[0], classes=list(classes))
    return names


SCHEMA_VERSION = 2
READABLE = (1, SCHEMA_VERSION)
TIERS = ("npu", "npu-simulated", "cuda", "cpu")
CHART_KINDS = ("bars", "stack", "lines", "strip", "errors", "stacks", "heat", "lanes", "flame")


@dataclass(frozen=True)
class Column:
    """A table column: `name` keys its heading in the catalogue, `unit` is shown in each cell.

    `digits` is how many significant digits of a float a reader sees; JSON keeps them all. `wrap` is how many columns
    of a terminal a cell takes before it goes on in the next line (0: as many as it needs). A `detail` stands on the
    page, where readers sort and filter the table, and in a terminal under its row where details are asked for.
    """

    name: str
    unit: str = ""
    digits: int = 4
    wrap: int = 0
    detail: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of plain JSON values, in the order of `columns`."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Scalar, ...], ...]

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise ValueError(f"table row {number} has {len(row)} cells for {len(self.columns)} columns")

    def column_values(self, name: str) -> list[Scalar]:
        """Return one column, top to bottom."""
        at = [column.name for column in self.columns].index(name)
        return [row[at] for row in self.rows]

    def split_details(self) -> tuple[Table, Table]:
        """Return the table without its details, and the details alone."""
        parts = []
        for detail in (False, True):
            at = [number for number, column in enumerate(self.columns) if column.detail is detail]
            rows = tuple(tuple(row[number] for number in at) for row in self.rows)
            parts.append(Table(tuple(self.columns[number] for number in at), rows))
        return parts[0], parts[1]

    def unit_of(self, name: str) -> str:
        return next(column.unit for column in self.columns if column.name == name)


@dataclass(frozen=True)
class Chart:
    """How to draw the table: columns by name. `mark` is the x value to point out, `log` a logarithmic y axis.

    Of lines, `below` are columns drawn in a second panel under the first, `marks` further x values to point out.
    bars: a bar per row, side by side for several y columns. stack: all rows in one bar. stacks: a bar per row, stacked
    of the y columns. lines: a line per y column; where `limit` is one, the others are parts of it, on one another.
    strip: a coloured cell per row. heat: a cell per value of column `by` and of x, the darker the more of y.
    lanes: facts["timeline"], a row a lane. flame: facts["flame"], a row a depth.
    errors: a point per row on a logarithmic axis, a series for each value of column `by`, beside what column `limit`
    allows.
    """

    kind: str
    x: str
    y: tuple[str, ...]
    unit: str = ""
    mark: Scalar = None
    log: bool = False
    below: tuple[str, ...] = ()
    marks: tuple[float, ...] = ()
    by: str = ""
    limit: str = ""

    def __post_init__(self) -> None:
        if self.kind not in CHART_KINDS:
            raise ValueError(f"chart kind {self.kind!r}: expected one of {', '.join(CHART_KINDS)}")


@dataclass(frozen=True)
class Listing:
    """A text shown whole under the table, such as a diff."""

    name: str
    text: str
    language: str = "text"


@dataclass(frozen=True)
class Report:
    """The result of one verb. `stage` and `verb` name it; `tier` says what it ran on; `facts` is free JSON.

    `command` has the words that make this report again, none where they are not known; `blocked_by` is the stage whose
    error stopped this one. `answers`: the rules whose findings answer the verb's question. Where one of them does, what
    other rules could not look at is listed but makes no Not looked of the whole, and no other finding below Look is
    told in its stead; of several the first."""

    stage: str
    verb: str
    findings: tuple[Finding, ...] = ()
    table: Table | None = None
    chart: Chart | None = None
    listing: Listing | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    tier: str = ""
    parts: tuple[Report, ...] = ()
    answers: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    blocked_by: str = ""
    created: str = field(default_factory=lambda: datetime.now(timezone.utc).isoformat(timespec="seconds"))

    def __post_init__(self) -> None:
        if self.tier and self.tier not in TIERS:
            raise ValueError(f"tier {self.tier!r}: expected one of {', '.join(TIERS)}")

    @property
    def simulated(self) -> bool:
        return self.tier == "npu-simulated" or any(part.simulated for part in self.parts)

    @property
    def estimated(self) -> bool:
        """Return whether times in it were estimated from shapes, not measured."""
        return bool(self.facts.get("estimated")) or any(part.estimated for part in self.parts)

    @property
    def on_purpose(self) -> list[str]:
        """Return the faults that the simulated NPU injected in the runs behind this report and its parts."""
        own_faults = (self.facts.get("simulator") or {}).get("faults", [])
        return list(dict.fromkeys([*own_faults, *(fault for part in self.parts for fault in part.on_purpose)]))

    @property
    def dtypes_unknown(self) -> list[str]:
        """Return the operators that the simulated NPU ran though no source tells which data types an NPU takes."""
        own_operators = (self.facts.get("simulator") or {}).get("dtypes_unknown", [])
        return sorted({*own_operators, *(name for part in self.parts for name in part.dtypes_unknown)})

    @property
    def ascend_numerics(self) -> bool:
        """Return whether the simulated NPU rounded as an NPU's matrix unit does."""
        is_ascend = (self.facts.get("simulator") or {}).get("numerics") == "ascend"
        return is_ascend or any(part.ascend_numerics for part in self.parts)

    def circumstances(self, lang: str | None = None) -> list[str]:
        """Return what a reader must know beside the verdict: simulated, numbers, faults, unknown types."""
        origin = "rehearsal" if self.facts.get("shapes_only") else "estimated" if self.estimated else "simulated"
        sentences = [say(f"report.{origin}", lang)] if self.simulated else []
        if self.ascend_numerics:
            sentences.append(say("report.ascend_numerics", lang))
        if unknown := self.dtypes_unknown:
            sentences.append(say("report.dtypes_unknown", lang, count=len(unknown), operators=unknown))
        return sentences + [say("report.fault", lang, fault=fault) for fault in self.on_purpose]

    @property
    def status(self) -> Status:
        """Return the status of the worst finding. A report that found nothing to say has not looked."""
        return max((finding.status for finding in self._judged_findings), default=Status.NOT_LOOKED)

    @property
    def headline(self) -> Finding | None:
        """Return the heaviest of the worst findings."""
        return max(self._judged_findings, key=self._rank_finding, default=None)

    @property
    def cause(self) -> dict[str, Any] | None:
        """Return what made it Fix, as Finding.cause does; None where it is not Fix. A headline that quotes another
        finding, of the report or of a part, is not the cause: that one is. A run has its stage's in facts["cause"]."""
        if self.status is not Status.FIX or not self.headline:
            return None
        if self.facts.get("cause"):
            return dict(self.facts["cause"])
        headline = self.headline
        keys = {headline.key, *(value.key for value in headline.args.values() if isinstance(value, Sentence))}
        for part in self.parts:
            if part.cause and any(finding.key in keys for finding in part.findings if finding.status is Status.FIX):
                return part.cause
        quoted = (finding for finding in self.findings if finding.key in keys and finding.status is Status.FIX)
        return next((finding for finding in quoted if finding is not headline), headline).cause

    @property
    def _judged_findings(self) -> tuple[Finding, ...]:
        """Return the findings that make the status: once the question is answered, none of what was not looked at."""
        looked = tuple(finding for finding in self.findings if finding.status is not Status.NOT_LOOKED)
        return looked if any(finding.rule in self.answers for finding in looked) else self.findings

    def _rank_finding(self, finding: Finding) -> tuple[float, ...]:
        """Return the rank of a finding; what comes first in the headline has the highest."""
        answer = self.answers[::-1].index(finding.rule) + 1 if finding.rule in self.answers else 0
        wrong = finding.status if finding.status > Status.NOT_LOOKED else Status.GOOD
        return (wrong, answer, finding.status, finding.weight) if self.answers else (finding.status, finding.weight)

    def title(self, lang: str | None = None) -> str:
        """Return the verb's words; of a report on one rank (facts["rank"]) with that rank."""
        name = title(self.verb, lang)
        return say("report.of_rank", lang, rank=self.facts["rank"], title=name) if "rank" in self.facts else name

    def verdict(self, lang: str | None = None) -> str:
        """Return the verdict in one sentence."""
        return self.headline.message(lang) if self.headline else say("report.not_looked", lang)

    def or_raise(self) -> Report:
        """Return the report, or raise where the verdict is Fix: a notebook's last line, so that a batch turns red."""
        if self.status is Status.FIX:
            raise WorkbookError("report.failed", stage=self.stage, verb=self.verb, verdict=self.verdict())
        return self

    def figure(self, lang: str | None = None) -> Any:
        """Draw the chart as a matplotlib Figure, or return None where the report has no chart."""
        return find_renderer("figure")(self, lang) if self.chart and self.table and self.table.rows else None

    def text(self, lang: str | None = None, *, details: bool = False) -> str:
        """Render the report as a terminal shows it. With `details` every row of the table, its details under it."""
        return str(find_renderer("text")(self, lang, details=details))

    def __str__(self) -> str:
        return self.text()

    def html(self, lang: str | None = None, *, page: bool = True) -> str:
        """Render a whole page that opens offline (charts inside), or with `page=False` the part a notebook shows."""
        return str(find_renderer("page" if page else "fragment")(self, lang))

    def junit(self, lang: str | None = None, *, seconds: float = 0.0) -> str:
        """Render JUnit XML for CI servers: a failure in it exactly where the status is Fix."""
        return str(find_renderer("junit")(self, lang, seconds=seconds))

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON keeps it; derived values are included so that other tools need no words of ours."""
        data = asdict(replace(self, findings=(), parts=()))  # these bring their own form
        data |= {"schema_version": SCHEMA_VERSION, "simulated": self.simulated}
        data["findings"] = [finding.to_dict() for finding in self.findings]
        data["parts"] = [part.to_dict() for part in self.parts]
        data["status"], data["cause"] = self.status.json, self.cause
        data["verdict"] = {lang: self.verdict(lang) for lang in ("en", "zh")}
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Report:
        version = data["schema_version"]
        if version not in READABLE:
            raise WorkbookError("report.version", found=version, expected=SCHEMA_VERSION)
        table, chart, listing = data["table"], data["chart"], data["listing"]
        return cls(
            stage=data["stage"],
            verb=data["verb"],
            findings=tuple(Finding.from_dict(finding) for finding in data["findings"]),
            table=table
            and Table(
                tuple(Column(**c) for c in table["columns"]),
                tuple(tuple(map(restore_sentence, row)) for row in table["rows"]),
            ),
            chart=chart and Chart(**{**chart, **{at: tuple(chart.get(at, ())) for at in ("y", "below", "marks")}}),
            listing=listing and Listing(**listing),
            facts=data["facts"],
            tier=data["tier"],
            parts=tuple(cls.from_dict(part) for part in data["parts"]),
            answers=tuple(data.get("answers", ())),
            command=tuple(data.get("command", ())),
            blocked_by=data.get("blocked_by", ""),
            created=data["created"],
        )

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=1, default=_plain_path)

    @classmethod
    def from_json(cls, text: str) -> Report:
        return cls.from_dict(json.loads(text))

    def save(self, folder: str | os.PathLike[str], *, name: str = "report") -> Path:
        """Write `<name>.json` into the folder, at once or not at all, and return its path."""
        return Path(find_renderer("files")(self, folder, name=name))

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        return dict(find_renderer("bundle")(self))


def join_reports(
    stage: str, verb: str, reports: list[Report], *, tier: str = "", answers: tuple[str, ...] = ()
) -> Report:
    """Join reports as one: a row and the headline of each, themselves as parts. `answers` as in Report."""
    columns = (Column("question"), Column("status"), Column("verdict"))
    rows: list[tuple[Scalar, ...]] = []
    findings: list[Finding] = []
    for report in reports:
        headline = report.headline or Finding(report.verb, Status.NOT_LOOKED, "report.not_looked")
        findings.append(headline)
        rows.append((Sentence(f"name.{report.verb}"), report.status.json, Sentence(headline.key, **headline.args)))
    return Report(
        stage, verb, tuple(findings), Table(columns, tuple(rows)), tier=tier, parts=tuple(reports), answers=answers
    )


def load_report(path: str | os.PathLike[str]) -> Report:
    """Load a saved report; a file that is missing, cut short or of another schema is one clear error."""
    try:
        return Report.from_json(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as cause:
        raise WorkbookError("report.unreadable", path=os.fspath(path), error=str(cause)) from cause


def _plain_path(value: object) -> object:
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"{type(value).__name__} does not belong in a report")
