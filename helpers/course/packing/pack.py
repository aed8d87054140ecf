"""The students' zip written of the last commit."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
import zipfile
from pathlib import Path

from helpers.course.packing.choice import FOLDERS, Files, chosen, goes_along
from helpers.course.packing.leaks import leaks
from helpers.errors import WorkbookError
from helpers.finding import Finding, Status
from helpers.notebook import ROOT
from helpers.report import Report
from helpers.storage import write_file
from helpers.words import Scalar

INSIDE = "ascend-workbook"
#: The first moment that a zip can tell.
MOMENT = (1980, 1, 1, 0, 0, 0)


def pack(out: str | os.PathLike[str] = "student.zip", *, project: Path = ROOT, force: bool = False) -> Report:
    """Writes the zip. Raises WorkbookError where the project is no git checkout, where `out` is there already and not
    `force`, and where a line of a solution stands in a file that would go along."""
    target = Path(out)
    if target.exists() and not force:
        raise WorkbookError("packing.exists", path=str(target))
    every = committed(project)
    kept = chosen(every)
    found = leaks(every, kept)
    if found:
        raise WorkbookError("packing.leak", path=found[0][0], line=found[0][1][:120])
    write_file(target, zipped(kept))
    left = [name for name in every if not goes_along(name)]
    folded = sorted({folder if folder in FOLDERS else name for name in left for folder in name.split("/")[:1]})
    args: dict[str, Scalar] = {"path": str(target), "files": len(kept), "left_out": len(left)}
    whole = not _git(project, "status", "--porcelain", "--untracked-files=no").strip()
    status, key = (Status.OK, "CRS002.packed") if whole else (Status.NOTE, "CRS002.uncommitted")
    written = (Finding("CRS002", status, key, {**args}),)
    commit = _git(project, "rev-parse", "HEAD").decode().strip()
    return Report("course", "course_pack", written, facts={"commit": commit, "left_out_names": folded, **args})


def committed(project: Path) -> Files:
    """Path -> (mode, content) of the files of the last commit; links are left out."""
    with tarfile.open(fileobj=io.BytesIO(_git(project, "archive", "--format=tar", "HEAD"))) as archive:
        members = [each for each in archive.getmembers() if each.isfile()]
        opened = [(each, archive.extractfile(each)) for each in members]
        return {each.name: (each.mode, stream.read()) for each, stream in opened if stream is not None}


def _git(project: Path, *words: str) -> bytes:
    try:
        done = subprocess.run(["git", "-C", str(project), *words], capture_output=True, check=False, timeout=120)
    except OSError as error:
        raise WorkbookError("packing.git", path=str(project), error=str(error)) from error
    if done.returncode:
        said = (done.stderr.decode(errors="replace").strip().splitlines() or ["git"])[0]
        raise WorkbookError("packing.git", path=str(project), error=said)
    return done.stdout


def zipped(files: Files) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as packed:
        for name, (mode, data) in sorted(files.items()):
            about = zipfile.ZipInfo(f"{INSIDE}/{name}", MOMENT)
            about.create_system, about.external_attr = 3, (0o755 if mode & 0o100 else 0o644) << 16
            packed.writestr(about, data, zipfile.ZIP_DEFLATED, 9)
    return sink.getvalue()
