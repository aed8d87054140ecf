"""One reader for every profile: a file or folder in, a Trace out."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from helpers.errors import WorkbookError
from helpers.profiling.readers import ascend, database, kineto, tables
from helpers.profiling.readers.choice import ALL
from helpers.profiling.readers.cutting import chosen, cut
from helpers.profiling.readers.loading import Loaded
from helpers.profiling.readers.ranks import RANK, RankProfiles, by_rank
from helpers.profiling.trace import Trace

SCRIPTS = (".py", ".ipynb", ".sh")
TRACES = ("*.json", "*.json.gz")
DATA = "data"  # where `profile` puts them, in the folder it is given
TRACE_NAME = "trace"  # torch's own handlers and ours call them *.pt.trace.json; other JSON lies beside them


def read(path: str | os.PathLike[str], steps: str = ALL) -> Trace:
    """The profile at `path`: a Chrome trace of torch.profiler (.json, .json.gz), an `*_ascend_pt` folder, or a
    folder that holds exactly one of these. `steps`: which steps, `auto` (of a large trace some, see choice), `all`, or
    numbers such as `40-60`.

    Raises WorkbookError where there is none, where there are several, or where the file is broken.
    """
    found = locate(Path(path))
    return _folder(found, steps) if found.is_dir() else chosen(found, steps, _of_file)


def _of_file(loaded: Loaded) -> Trace:
    return ascend.read_timeline(loaded) if loaded.is_list else kineto.read(loaded)


def _folder(folder: Path, steps: str) -> Trace:
    """The richest that the folder holds: its timeline, its database, its table of kernels."""
    output, exported = ascend.output_of(folder), database.find(folder)
    timeline = output is not None and (output / ascend.TIMELINE).is_file()
    return ascend.read_folder(folder, steps) if timeline or exported is None else cut(database.read(exported), steps)


def trace_file(path: Path) -> Path | None:
    """The file with the timeline of the one profile at the path, None where there is none."""
    try:
        found = locate(path)
    except WorkbookError:
        return None  # reading it says what is wrong
    output = ascend.output_of(found) if found.is_dir() else None
    file = output / ascend.TIMELINE if output else found
    return file if file.is_file() else None


def told_steps(folder: Path) -> dict[int, dict[str, int]]:
    """What the profiler's own table says of each step, in nanoseconds by column; empty where there is none."""
    for output in (folder / ascend.OUTPUT, folder):
        if (output / tables.STEPS).is_file():
            return tables.step_times(output / tables.STEPS)
        if (output / database.ANALYSIS).is_file():
            return database.step_times(output / database.ANALYSIS)
    return {}


def locate(path: Path) -> Path:
    """The one profile at or below the path."""
    if not path.exists():
        raise WorkbookError("profiling.no_such_path", path=str(path))
    if path.is_file() and path.suffix in SCRIPTS:
        raise WorkbookError("profiling.a_script", path=str(path), quoted=shlex.quote(str(path)))
    if path.is_file() or path.name.endswith(ascend.FOLDER) or ascend.output_of(path) or database.find(path):
        return path
    found = _below(path)
    if not found:
        raise WorkbookError("profiling.no_profile", path=str(path))
    if len(found) > 1:
        names = [str(one.relative_to(path)) for one in found[:8]]
        raise WorkbookError("profiling.many_profiles", path=str(path), count=len(found), names=names)
    return found[0]


def ranks_at(path: Path) -> RankProfiles | None:
    """The profiles of a folder that holds some of several ranks, else None."""
    if not path.is_dir() or path.name.endswith(ascend.FOLDER):
        return None
    found = by_rank(_below(path))
    return found if len(found.profiles) > 1 else None


def _below(path: Path) -> list[Path]:
    folders = [one for one in sorted(path.glob(f"**/*{ascend.FOLDER}")) if one.is_dir()]
    return folders or _traces(path, "") or _traces(path, f"{DATA}/") or _traces(path, "*/")


def _traces(path: Path, below: str) -> list[Path]:
    """Files called traces, else those named after a rank."""
    found = sorted(file for like in TRACES for file in path.glob(below + like))
    return [one for one in found if TRACE_NAME in one.name] or [one for one in found if RANK.search(one.name)]
