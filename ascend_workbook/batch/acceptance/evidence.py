"""What a run's reports hold that an item of the checklist may be ticked from, and the targets it is held against."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from ascend_workbook.batch.plan.model import MetricTarget, Targets
from ascend_workbook.batch.stages import STAGES
from ascend_workbook.findings import report as reports
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.rules import CannotCheck
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.storage import open_storage

#: Files of a stage's folder that are looked into, and how large one may be.
MOST, LARGEST_BYTES = 40, 256 << 20
#: The error of a folder without reports.
NO_REPORTS = "accept.no_reports"
#: Files of a stage that are no reports of ours.
OTHERS = ("outcome.json", "settings.json", "basis.json")


@dataclass(frozen=True)
class Found:
    """A report, and the page that shows it, from the run's folder."""

    report: Report
    page: str

    @property
    def date(self) -> str:
        return self.report.created[:10]


@dataclass(frozen=True)
class Evidence:
    """All reports of a run with their parts, and what is aimed at. `unread` are files that were not read: they
    could not be, or are too many or too large."""

    folder: Path
    found: tuple[Found, ...]
    targets: Targets = Targets()
    unread: tuple[str, ...] = ()

    def find_report(self, *verbs: str) -> Found:
        """Return the report of one of the verbs. Of several it is the one of the first verb, on the best device, the
        newest. Raises CannotCheck where there is none, or where none ran on an NPU."""
        for verb in verbs:
            fitting = [evidence for evidence in self.found if evidence.report.verb == verb]
            if fitting:
                tiers = {"npu": 2, "npu-simulated": 1}
                return max(fitting, key=lambda known: (tiers.get(known.report.tier, 0), known.report.created))
        raise CannotCheck("accept.absent", what=[Sentence(f"name.{verb}") for verb in verbs[:1]])

    def find_npu_report(self, *verbs: str) -> Found:
        """Return the report of one of the verbs, which must come from an NPU, real or simulated."""
        evidence = self.find_report(*verbs)
        if not evidence.report.tier:
            raise CannotCheck("accept.tier_unknown", page=evidence.page)
        if not evidence.report.tier.startswith("npu"):
            raise CannotCheck("accept.no_npu", tier=evidence.report.tier)
        return evidence

    def find_hardware_report(self, *verbs: str) -> Found:
        """Return the report of one of the verbs, which must come from a real NPU, as timings do."""
        evidence = self.find_npu_report(*verbs)
        if evidence.report.simulated:
            raise CannotCheck("accept.no_device_time")
        return evidence


def gather_evidence(folder: Path, targets: Targets) -> Evidence:
    """Read the reports of the stages. Raises WorkbookError where the folder has none."""
    reports_found: list[Found] = []
    unread: list[str] = []
    for path, whole in _find_report_files(folder):
        shown = path.relative_to(folder).as_posix()
        report = None
        with suppress(WorkbookError):
            report = reports.load_report(path) if whole else None
        if report is None:
            unread.append(path.relative_to(folder).as_posix())
            continue
        reports_found += [Found(part, shown) for part in _walk_parts(report)]
    if not reports_found:
        raise WorkbookError(NO_REPORTS, path=str(folder), stages=list(STAGES))
    return Evidence(folder, tuple(reports_found), targets, tuple(unread))


def _find_report_files(folder: Path) -> Iterator[tuple[Path, bool]]:
    """Yield each report's path, and whether the file is to be read."""
    for stage in STAGES:
        paths = sorted((folder / stage).glob("*.json"), key=lambda path: (path.name != "report.json", path.name))
        report_paths = [path for path in paths if path.name not in OTHERS]
        yield from ((path, at < MOST and path.stat().st_size <= LARGEST_BYTES) for at, path in enumerate(report_paths))


def _walk_parts(report: Report) -> Iterator[Report]:
    """The report and its parts."""
    yield report
    for part in report.parts:
        yield from _walk_parts(part)


def make_judgement(code: str, evidence: Found, met: bool, sentence: Scalar) -> Finding:
    """Make the finding of an item that was looked at: Good or Fix, with what was seen, where, when, and on what."""
    args: dict[str, Scalar] = {"said": sentence, "date": evidence.date, "simulated": evidence.report.simulated}
    return Finding(code, Status.GOOD if met else Status.FIX, "accept.evidence", args, Place(evidence.page))


def judge_by_findings(
    code: str, evidence: Found, rules: tuple[str, ...], *, beside: tuple[str, ...] = (), good: Status = Status.NOTE
) -> Finding:
    """Judge an item by the report's own findings of all `rules`, and of those `beside` (rules or keys) where it has
    any. It is met where the worst is no worse than `good`. Raises CannotCheck where nothing failed and it has none of
    one of `rules`, or one could not look."""
    findings = [find for find in evidence.report.findings if {find.rule, find.key} & {*rules, *beside}]
    absent = [rule for rule in rules if not any(finding.rule == rule for finding in findings)]
    worst = max(findings, key=lambda finding: (finding.status, finding.weight), default=None)
    if worst is None or (absent and worst.status is not Status.FIX):
        raise CannotCheck("accept.not_in_report", rules=absent, page=evidence.page)
    sentence: Scalar = Sentence(worst.key, **worst.args)
    if worst.status is Status.NOT_LOOKED or (worst.status is Status.NOTE and good is Status.GOOD):
        raise CannotCheck("accept.could_not_look", said=sentence)
    return make_judgement(code, evidence, worst.status <= good, sentence)


FORM = re.compile(r"\s*([^=<>\s][^=<>]*?)\s*=\s*(\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*(%?)\s*")
THROUGHPUT = "throughput"
FILE = "targets.json"


def parse_targets(texts: Iterable[str]) -> Targets:
    """Parse targets as the command line gives them. A metric's target is how far it may be from the baseline's: a share
    with `%`, else as it is; throughput's is the least share of the baseline's, above 0 and told once. Raises
    WorkbookError for any other form."""
    metrics: list[MetricTarget] = []
    least: float | None = None
    for text in texts:
        match = FORM.fullmatch(text)
        if match is None or not math.isfinite(float(match[2])):
            raise WorkbookError("accept.target", text=text)
        value = float(match[2]) / (100 if match[3] else 1)
        if match[1] == THROUGHPUT and value and least is None:
            least = value
        elif match[1] == THROUGHPUT:  # nothing would miss an aim of 0, and of two one would be forgotten
            raise WorkbookError("accept.target", text=text)
        else:
            metrics.append(MetricTarget(match[1], value, bool(match[3])))
    return Targets(tuple(metrics), least)


def save_targets(folder: Path, targets: Targets) -> None:
    """Keep the targets of a plan in the folder of one of its runs. The file goes where the plan aims at nothing."""
    if targets == Targets():
        (folder / FILE).unlink(missing_ok=True)
    else:
        open_storage(str(folder)).write_text(FILE, json.dumps(asdict(targets), indent=1))


def load_targets(folder: Path) -> Targets:
    """Read the targets kept in a folder, if any. Raises WorkbookError for a file of another form."""
    path = folder / FILE
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return Targets(tuple(MetricTarget(**metric) for metric in content["metrics"]), content["throughput_at_least"])
    except FileNotFoundError:
        return Targets()
    except (OSError, ValueError, KeyError, TypeError) as cause:
        raise WorkbookError("accept.summary", path=str(path), error=str(cause)) from cause
