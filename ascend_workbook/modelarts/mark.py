"""The lead's mark: a lock that ends with the process, and when it ended. An earlier job's mark is none.

Names of jobs, hosts and cards may be the same from one job to the next; what lives or ended in this process's own time
is not. Work that left its folder locked by nobody is over: its data are removed, its results put aside.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError

MARK, LOCK = "lead.json", "lead.lock"
POLL_S = 0.2
#: Another process may look at the lock just now, or a rank of this job may be clearing the folder.
PATIENCE_S = 2.0
CLEARING_S = 120.0
#: What all processes of a job have in common, as far as it is set.
COMMON = ("MA_VJ_NAME", "VC_WORKER_HOSTS", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID")


@dataclass(frozen=True)
class Mark:
    """In `folder`; `job` is the same in all processes of a job."""

    folder: Path
    job: str

    @classmethod
    def for_job(cls, folder: Path, environ: Mapping[str, str]) -> Mark:
        job_variables = json.dumps([environ.get(name, "") for name in COMMON])
        return cls(folder, hashlib.sha256(job_variables.encode("utf-8", "surrogateescape")).hexdigest())

    @contextmanager
    def hold_folder(self, *, shared: bool = False) -> Iterator[list[str]]:
        """Hold the folder for the time of the work; `shared` with the job's other ranks. Yields what an earlier job had
        left there: no longer in its place. Raises WorkbookError `modelarts.taken` where another job works there."""
        handle = os.open(self.folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        try:
            yield self._take_folder(handle, shared)
            self._write_mark(time.time())
        finally:
            os.close(handle)

    def wait_for_lead(self, limit_s: float) -> bool:
        """Wait for a lead of this job that works, or has ended well since this process was started."""
        end = time.monotonic() + limit_s
        while not self._is_contemporary("ended", alive=self._is_held()):
            if time.monotonic() >= end:
                return False
            time.sleep(POLL_S)
        return True

    def _take_folder(self, handle: int, shared: bool) -> list[str]:
        alone = _try_lock(handle, fcntl.LOCK_EX, 0 if shared else PATIENCE_S)
        joined = not alone and shared and _try_lock(handle, fcntl.LOCK_SH, CLEARING_S)
        if not alone and not (joined and self._read_mark()["job"] == self.job):
            raise WorkbookError("modelarts.taken", path=str(self.folder))
        left_behind: list[str] = []
        if alone and not (shared and self._is_contemporary("begun")):
            left_behind = self._clear_folder()
            self._write_mark()
        if shared:
            fcntl.flock(handle, fcntl.LOCK_SH)
        return left_behind

    def _clear_folder(self) -> list[str]:
        """Remove data of an earlier job, and move its results aside. Its data would be taken for this job's; results
        that were not taken away are somebody's, so they stay."""
        data, out = self.folder / "data", self.folder / "out"
        left_behind = [path.name for path in (data, out) if path.exists()]
        if data.exists():
            shutil.rmtree(data)
        if out.exists():
            out.rename(tempfile.mkdtemp(prefix="out-", dir=self.folder))
        return left_behind

    def _is_held(self) -> bool:
        """Return whether a lead holds the lock."""
        if not (self.folder / LOCK).is_file():
            return False
        handle = os.open(self.folder / LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            return not _try_lock(handle, fcntl.LOCK_SH, 0)
        finally:
            os.close(handle)

    def _is_contemporary(self, event: str, *, alive: bool = False) -> bool:
        record = self._read_mark()
        return record["job"] == self.job and (alive or float(record[event]) >= process_start_time())

    def _read_mark(self) -> dict[str, str]:
        """Read `job`, and when it `begun` and `ended`, in seconds of the clock; 0 where it has not."""
        path = self.folder / MARK
        nothing = {"job": "", "begun": "0", "ended": "0"}
        return {**nothing, **json.loads(path.read_text(encoding="utf-8"))} if path.is_file() else nothing

    def _write_mark(self, ended: float = 0.0) -> None:
        begun_at = self._read_mark()["begun"] if ended else str(time.time())
        aside = self.folder / f".{MARK}.{os.getpid()}.part"
        aside.write_text(json.dumps({"job": self.job, "begun": begun_at, "ended": str(ended)}), encoding="utf-8")
        aside.replace(self.folder / MARK)


def _try_lock(handle: int, kind: int, limit_s: float) -> bool:
    end = time.monotonic() + limit_s
    while True:
        try:
            fcntl.flock(handle, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                return False
            time.sleep(POLL_S / 4)
        else:
            return True


def process_start_time() -> float:
    """Return when this process was started, in seconds of the clock: the end of that whole tick of the kernel's."""
    ticks = int(Path("/proc/self/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[19])
    return time.time() - (time.clock_gettime(time.CLOCK_BOOTTIME) - (ticks + 1) / os.sysconf("SC_CLK_TCK"))
