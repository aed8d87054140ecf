"""The students' zip written of the last commit."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
import zipfile
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.machine.project import ROOT
from ascend_workbook.storage import write_file
from course.packing.choice import FOLDERS, Files, choose_files, goes_along
from course.packing.leaks import find_leaks

INSIDE = "ascend-workbook"
#: The first moment that a zip can tell.
MOMENT = (1980, 1, 1, 0, 0, 0)


def pack_zip(out: str | os.PathLike[str] = "student.zip", *, project: Path = ROOT, force: bool = False) -> Report:
    """Write the students' zip. Raises WorkbookError where the project is no git checkout, where `out` is there already
    and not `force`, and where a line of a solution would leak. Raises WorkbookError where the project is no git
    checkout, where `out` is there already and not `force`, and where a line of a solution stands in a file that would
    go along."""
    target = Path(out)
    if target.exists() and not force:
        raise WorkbookError("packing.exists", path=str(target))
    every = read_committed(project)
    packed = choose_files(every)
    leaked = find_leaks(every, packed)
    if leaked:
        raise WorkbookError("packing.leak", path=leaked[0][0], line=leaked[0][1][:120])
    write_file(target, make_zip(packed))
    left = [name for name in every if not goes_along(name)]
    folded = sorted({folder if folder in FOLDERS else name for name in left for folder in name.split("/")[:1]})
    args: dict[str, Scalar] = {"path": str(target), "files": len(packed), "left_out": len(left)}
    whole = not _run_git(project, "status", "--porcelain", "--untracked-files=no").strip()
    status, key = (Status.OK, "CRS002.packed") if whole else (Status.NOTE, "CRS002.uncommitted")
    written = (Finding("CRS002", status, key, {**args}),)
    commit = _run_git(project, "rev-parse", "HEAD").decode().strip()
    return Report("course", "course_pack", written, facts={"commit": commit, "left_out_names": folded, **args})


def read_committed(project: Path) -> Files:
    """Return path -> (mode, content) of the files of the last commit; links are left out."""
    with tarfile.open(fileobj=io.BytesIO(_run_git(project, "archive", "--format=tar", "HEAD"))) as archive:
        members = [member for member in archive.getmembers() if member.isfile()]
        opened = [(member, archive.extractfile(member)) for member in members]
        return {member.name: (member.mode, stream.read()) for member, stream in opened if stream is not None}


def _run_git(project: Path, *words: str) -> bytes:
    try:
        done = subprocess.run(["git", "-C", str(project), *words], capture_output=True, check=False, timeout=120)
    except OSError as error:
        raise WorkbookError("packing.git", path=str(project), error=str(error)) from error
    if done.returncode:
        first_line = (done.stderr.decode(errors="replace").strip().splitlines() or ["git"])[0]
        raise WorkbookError("packing.git", path=str(project), error=first_line)
    return done.stdout


def make_zip(files: Files) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as packed:
        for name, (mode, data) in sorted(files.items()):
            about = zipfile.ZipInfo(f"{INSIDE}/{name}", MOMENT)
            about.create_system, about.external_attr = 3, (0o755 if mode & 0o100 else 0o644) << 16
            packed.writestr(about, data, zipfile.ZIP_DEFLATED, 9)
    return sink.getvalue()
