"""`--root obs://…`: the run is made in a folder here, and each part of it is sent when it has ended.

Sending goes on beside the run, one part after the other. What cannot be sent makes the run red, not the stage.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ascend_workbook.findings.errors import WorkbookError, explain_os_error
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.storage import Address, ObsStorage, is_address, open_storage

if TYPE_CHECKING:
    from ascend_workbook.batch.campaign.ended import Ended

#: Where a run is made whose root is an address.
LOCAL = "runs"
MOST_NAMES = 5
PAGES = ("index.html", "report.json", "summary.json", "junit.xml", "acceptance.json", "shard.json")


def local_root(root: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """The folder that a run is made in."""
    return LOCAL if is_address(root) else root


class Mirror:
    """`root` is an address, or a folder: then nothing is sent. `folder` is the run's own, its name is kept."""

    def __init__(self, root: str | os.PathLike[str], folder: Path) -> None:
        self.folder = folder
        self.place = f"{str(root).rstrip('/')}/{folder.name}" if is_address(root) else ""
        self._work = ThreadPoolExecutor(1, thread_name_prefix="mirror") if self.place else None
        self._sent: list[Future[Any]] = []
        if self.place:  # before anything starts: whether it can be written to, and an earlier page is gone
            _send_pages(self.folder, self.place)
            storage = ObsStorage(Address.parse(self.place))
            for name in (name for name in PAGES if not (self.folder / name).is_file()):
                storage.delete_file(name)

    def send_part(self, name: str) -> None:
        """Send the folder of a stage or run that has ended, with its manifest, and the page."""
        if self._work is not None and (self.folder / name).is_dir():
            from ascend_workbook.storage.transfer.upload import send_files

            self._sent.append(self._work.submit(send_files, self.folder / name, f"{self.place}/{name}"))
            self.send_page()

    def send_parts(self, runs: Iterable[Ended]) -> Iterator[Ended]:
        """Send the folder of every run as it ends, and yield the run."""
        for ended in runs:
            self.send_part(ended.name)
            yield ended

    def send_page(self) -> None:
        """Send what stands at the top of the folder."""
        if self._work is not None:
            self._sent.append(self._work.submit(_send_pages, self.folder, self.place))

    def finish_sending(self, report: Report) -> Report:
        """Wait until all is sent, and add to the report what could not be sent, and where the rest lies."""
        if self._work is None:
            return report
        self.send_page()
        self._work.shutdown(wait=True)
        troubles = {str(cause): cause for cause in (future.exception() for future in self._sent) if cause is not None}
        where: dict[str, Scalar] = {"place": self.place}
        unsent = tuple(
            Finding("RUN402", Status.FIX, "RUN402.not_sent", {**where, "error": _describe_error(cause)}, weight=400)
            for cause in troubles.values()
        )
        moved = [future.result() for future in self._sent if future.exception() is None]
        kept_here = sorted({f"{part.path.name}/{name}" for part in moved if part is not None for name in part.skipped})
        left_here: dict[str, Scalar] = {"count": len(kept_here), "names": [*kept_here[:MOST_NAMES]]}
        notes = (Finding("RUN402", Status.GOOD, "RUN402.kept_here", left_here),) if kept_here else ()
        return _add_findings(report, self.place, unsent, notes)


def send_pages(report: Report, folder: Path, place: str) -> Report:
    """Send what stands at the top of the folder, and return the report. Raises WorkbookError, OSError."""
    _send_pages(folder, place)
    return _add_findings(report, place, ())


def _add_findings(report: Report, place: str, unsent: tuple[Finding, ...], notes: tuple[Finding, ...] = ()) -> Report:
    findings = (*(unsent or (Finding("RUN402", Status.GOOD, "RUN402.sent", {"place": place}),)), *notes)
    return replace(report, findings=(*report.findings, *findings), facts={**report.facts, "sent_to": place})


def _send_pages(folder: Path, place: str) -> None:
    storage = open_storage(place)
    for name in PAGES:
        if (folder / name).is_file():
            storage.write_bytes(name, (folder / name).read_bytes())


def _describe_error(cause: BaseException) -> Scalar:
    """Describe an error of the service or of a file; raise any other."""
    if isinstance(cause, WorkbookError):
        return Sentence(cause.key, **cause.arguments)
    if isinstance(cause, OSError):
        return explain_os_error(cause)
    raise cause
