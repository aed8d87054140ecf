"""What a run's reports hold that an item of the checklist may be ticked from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from helpers import report as reports
from helpers.batch.plan.model import Targets
from helpers.batch.workbook import STAGES
from helpers.errors import WorkbookError
from helpers.finding import Finding, Place, Status
from helpers.report import Report
from helpers.rules import CannotCheck
from helpers.words import Scalar

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

    def report(self, *verbs: str) -> Found:
        """The report of one of the verbs; of several the one of the first verb, on the best device, the newest.

        Raises CannotCheck where there is none, or where none ran on an NPU."""
        for verb in verbs:
            fitting = [found for found in self.found if found.report.verb == verb]
            if fitting:
                return max(fitting, key=_rank)
        raise CannotCheck("accept.absent", what=[{"say": f"name.{verb}"} for verb in verbs[:1]])

    def on_npu(self, *verbs: str) -> Found:
        """The same of what must have run on an NPU, real or simulated."""
        found = self.report(*verbs)
        if not found.report.tier:
            raise CannotCheck("accept.tier_unknown", page=found.page)
        if not found.report.tier.startswith("npu"):
            raise CannotCheck("accept.no_npu", tier=found.report.tier)
        return found

    def on_hardware(self, *verbs: str) -> Found:
        """The same of what tells something on a real NPU only: time."""
        found = self.on_npu(*verbs)
        if found.report.simulated:
            raise CannotCheck("accept.no_device_time")
        return found


def gather(folder: Path, targets: Targets) -> Evidence:
    """Reads the stages' reports. Raises WorkbookError where the folder has none."""
    found: list[Found] = []
    unread: list[str] = []
    for path, whole in _files(folder):
        page = path.with_suffix(".html")
        shown = (page if page.is_file() else path).relative_to(folder).as_posix()
        try:
            report = reports.load(path) if whole else None
        except WorkbookError:
            report = None
        if report is None:
            unread.append(path.relative_to(folder).as_posix())
            continue
        found += [Found(part, shown) for part in _parts(report)]
    if not found:
        raise WorkbookError(NO_REPORTS, path=str(folder), stages=list(STAGES))
    return Evidence(folder, tuple(found), targets, tuple(unread))


def _files(folder: Path) -> Iterator[tuple[Path, bool]]:
    """Each with whether it is to be read: not beyond the bounds."""
    for stage in STAGES:
        paths = sorted((folder / stage).glob("*.json"), key=lambda path: (path.name != "report.json", path.name))
        wanted = [path for path in paths if path.name not in OTHERS]
        yield from ((path, at < MOST and path.stat().st_size <= LARGEST_BYTES) for at, path in enumerate(wanted))


def _parts(report: Report) -> Iterator[Report]:
    """The report and its parts."""
    yield report
    for part in report.parts:
        yield from _parts(part)


def _rank(found: Found) -> tuple[int, str]:
    order = {"npu": 2, "npu-simulated": 1}
    return order.get(found.report.tier, 0), found.report.created


def judged(code: str, found: Found, met: bool, said: Scalar) -> Finding:
    """An item that was looked at: OK or FAIL, with what was seen, where, when, and on what."""
    args: dict[str, Scalar] = {"said": said, "date": found.date, "simulated": found.report.simulated}
    return Finding(code, Status.OK if met else Status.FAIL, "accept.evidence", args, Place(found.page))


def by_findings(
    code: str, found: Found, rules: tuple[str, ...], *, beside: tuple[str, ...] = (), good: Status = Status.NOTE
) -> Finding:
    """An item that the report's own findings of all `rules` answer, and those of `beside` where it has any: met where
    the worst is no worse than `good`.

    Raises CannotCheck where nothing failed and it has none of one of `rules`, or one could not look.
    """
    told = [one for one in found.report.findings if one.rule in (*rules, *beside)]
    absent = [rule for rule in rules if not any(one.rule == rule for one in told)]
    worst = max(told, key=lambda one: (one.status, one.weight), default=None)
    if worst is None or (absent and worst.status is not Status.FAIL):
        raise CannotCheck("accept.not_in_report", rules=absent, page=found.page)
    said: Scalar = {"say": worst.key, "args": worst.args}
    if worst.status is Status.SKIPPED or (worst.status is Status.NOTE and good is Status.OK):
        raise CannotCheck("accept.could_not_look", said=said)
    return judged(code, found, worst.status <= good, said)
