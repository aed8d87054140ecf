"""`--root obs://…`: the run is made in a folder here, and each part of it is sent when it has ended.

Sending goes on beside the run, one part after the other. What cannot be sent makes the run red, not the stage.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from helpers.errors import WorkbookError, reason
from helpers.finding import Finding, Status
from helpers.report import Report
from helpers.storage import is_address, open_storage
from helpers.words import Scalar

if TYPE_CHECKING:
    from helpers.batch.campaign.ended import Ended

#: Where a run is made whose root is an address.
LOCAL = "runs"
PAGES = ("index.html", "report.json", "summary.json", "junit.xml", "acceptance.html", "acceptance.json",
         "shard.json")  # fmt: skip


def local_root(root: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """The folder that a run is made in."""
    return LOCAL if is_address(root) else root


class Mirror:
    """`root` is an address, or a folder: then nothing is sent. `folder` is the run's own, its name is kept."""

    def __init__(self, root: str | os.PathLike[str], folder: Path) -> None:
        self.folder = folder
        self.place = f"{str(root).rstrip('/')}/{folder.name}" if is_address(root) else ""
        self._work = ThreadPoolExecutor(1, thread_name_prefix="mirror") if self.place else None
        self._sent: list[Future[None]] = []
        if self.place:
            self._page()  # before anything starts: whether it can be written to, and an earlier page is gone

    def part(self, name: str) -> None:
        """A stage or a run has ended: its folder, with its manifest, and the page."""
        if self._work is not None and (self.folder / name).is_dir():
            self._sent.append(self._work.submit(self._part, name))
            self.page()

    def parts(self, runs: Iterable[Ended]) -> Iterator[Ended]:
        """The same of every run as it ends."""
        for one in runs:
            self.part(one.name)
            yield one

    def page(self) -> None:
        """What stands at the top."""
        if self._work is not None:
            self._sent.append(self._work.submit(self._page))

    def close(self, report: Report) -> Report:
        """Waits for all; the report, with what could not be sent, and where the rest lies."""
        if self._work is None:
            return report
        self.page()
        self._work.shutdown(wait=True)
        troubles = {str(cause): cause for cause in (one.exception() for one in self._sent) if cause is not None}
        done = Finding("RUN402", Status.OK, "RUN402.sent", {"place": self.place})
        said = tuple(Finding("RUN402", Status.FAIL, "RUN402.not_sent", {"place": self.place, "error": _said(cause)},
                             weight=400) for cause in troubles.values()) or (done,)  # fmt: skip
        return replace(report, findings=(*report.findings, *said), facts={**report.facts, "sent_to": self.place})

    def _part(self, name: str) -> None:
        from helpers.storage.transfer.upload import send

        send(self.folder / name, f"{self.place}/{name}")

    def _page(self) -> None:
        _send_pages(self.folder, self.place)


def send_pages(report: Report, folder: Path, place: str) -> Report:
    """The report, once what stands at the top of the folder is at the address too. Raises WorkbookError, OSError."""
    _send_pages(folder, place)
    done = Finding("RUN402", Status.OK, "RUN402.sent", {"place": place})
    return replace(report, findings=(*report.findings, done), facts={**report.facts, "sent_to": place})


def _send_pages(folder: Path, place: str) -> None:
    storage = open_storage(place)
    for name in PAGES:
        if (folder / name).is_file():
            storage.write_bytes(name, (folder / name).read_bytes())


def _said(cause: BaseException) -> Scalar:
    """Raises what is no answer of the service and no trouble with a file."""
    if isinstance(cause, WorkbookError):
        return {"say": cause.key, "args": cause.arguments}
    if isinstance(cause, OSError):
        return reason(cause)
    raise cause
